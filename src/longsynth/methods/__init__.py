"""Generators, one file each: what is released, how patients contribute, what the model is."""

DEFAULT = "copula-score"  # where nobody says which
