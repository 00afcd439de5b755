"""The lab: one harness for studies, searches and evidence pages. It is not part of the wheel."""
