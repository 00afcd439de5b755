"""A release: its folder, its statement, and the checks that anyone can run on it."""
