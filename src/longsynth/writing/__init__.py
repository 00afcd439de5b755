"""The formats in which synthetic patients leave."""
