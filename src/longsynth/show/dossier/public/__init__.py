"""The public edition, section by section. Everything comes from a release."""
