"""The trusted core: everything the privacy promise is computed with. Start with README.md."""
