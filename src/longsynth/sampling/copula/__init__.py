"""The parts of `copula-score`: marginals, latent Gaussian channels, lag blocks, effects."""
