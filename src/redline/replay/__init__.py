"""Recorded sessions under policies and prices: what each would have cost, and what was at risk.

Read in this order: `history` (the past of a session: its records, requests and strikes), `sizes` (how large messages and
requests were), `under_policy` (what a policy would have struck: the engine over the records; `clearing` is what a provider
strikes itself), `course` (what each request then sends and costs), `risk` and `strict` (what was struck and then used, by two
measures), `kinds` and `places` (by the kind of tool, and where), `replayed` (all of this of one session), `own_prices` (what
its model costs), `comparison` (policies and prices side by side), `advice`.
Where many sessions are replayed: `engines`, `ray_engine`.
"""
