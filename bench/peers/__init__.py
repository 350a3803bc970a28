"""Other libraries beside Redline, each in an environment of its own, in one process with it and on the same input."""
