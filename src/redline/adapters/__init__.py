"""Redline inside agent frameworks: one file for each, which is imported by name and is the only one to import its framework."""
