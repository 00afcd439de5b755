"""Dossier: a release, or a release beside its audit, as one page for people who decide."""
