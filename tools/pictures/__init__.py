"""Pictures of the documentation, drawn from public and simulated things.

PYTHONPATH=tools .venv/bin/python -m pictures
"""
