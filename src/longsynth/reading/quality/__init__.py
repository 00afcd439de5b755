"""What a look at a cohort finds before it is fitted, and which line to change."""
