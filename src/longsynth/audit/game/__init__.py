"""Attacks on the promise itself: an auditor plays against the real fit and tries to win."""
