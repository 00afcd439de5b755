"""The Spark engine: patients are added up where they lie. It adds no noise and keeps no ledger."""
