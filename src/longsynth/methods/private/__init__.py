"""Methods whose every release is charged."""
