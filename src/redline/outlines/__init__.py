"""Outlines: from the record alone, without a model, what an agent needs to go on after its history is compacted."""
