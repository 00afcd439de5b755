"""The command line. Commands are thin, and load libraries when they need them."""
