"""What a release folder is, and how anyone checks one."""
