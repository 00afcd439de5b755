"""From a patient's record to rows of bounded numbers."""
