"""Results as words, tables and charts. Nothing here computes a number that counts as evidence."""
