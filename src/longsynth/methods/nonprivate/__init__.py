"""Baselines that promise nothing: for patients that nobody has to protect."""
