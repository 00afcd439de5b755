"""One command a file, for those with more to say than a line. Libraries load when needed."""
