"""Comparisons of real with synthetic patients, each prepared once and weighed many times."""
