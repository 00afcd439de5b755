"""Errors, files, processes and text: what every part needs. Nothing here knows about patients."""
