"""The public facts of a cohort, fixed before any patient is read."""
