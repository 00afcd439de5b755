"""Where sums run, never what they are. An engine draws no noise and keeps no ledger."""
