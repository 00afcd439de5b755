"""Attacks on the guarantee itself: an auditor plays against the real fit and tries to win."""
