"""The dossier: a release, with or without its audit, as one page for people who decide."""
