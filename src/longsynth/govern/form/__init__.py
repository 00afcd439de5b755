"""The governance form: what a study may do, fixed before anyone touches its data."""
