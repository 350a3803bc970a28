"""Recorded sessions under policies and prices: what each would have cost, and what was at risk."""
