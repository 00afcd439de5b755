"""Results to words, tables and plots. Computes nothing that a reader would quote as evidence."""
