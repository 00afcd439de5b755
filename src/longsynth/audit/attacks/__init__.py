"""Attacks by someone who holds the synthetic patients and some records of real ones."""
