"""Errors, files, processes and text: what every part needs, and what knows nothing of patients."""
