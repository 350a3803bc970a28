"""Proof: sessions that were left untouched beside those that were edited, by bill, behaviour and outcome."""
