"""From files to patients. Everything here is on the private side."""
