"""Fuzzing: changed inputs into everything that takes input from others, and the properties that must hold whatever comes."""
