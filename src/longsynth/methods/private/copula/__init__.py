"""copula-score: what it releases, how the releases are read, and the generator they make."""
