"""Files to patients and back, one adapter a format."""
