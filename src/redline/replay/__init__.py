"""Recorded sessions under policies and prices: what each would have cost, and what was at risk.

Read in this order: `session` (the requests that an agent made), `marks` (what may go, and from which request on), `course`
(what each request then sends and costs; `cache` models the prompt cache), `policies` (what is struck when; `clearing` is what
others do), `risk` (what was struck and then used), `comparison` (policies and prices side by side), `advice`.
"""
