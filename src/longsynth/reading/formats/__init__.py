"""Readers: one adapter a format, from a hospital's tables to a cohort folder."""
