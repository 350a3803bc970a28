"""Recorded sessions under policies and prices: what each would have cost, and what was at risk.

Read in this order: `session` (the requests that an agent made), `marks` (what may go, and from which request on), `course`
(what each request then sends and costs; `cache` models the prompt cache), `policies` (what is struck when; `clearing` is what
others do), `risk` and `strict` (what was struck and then used, by two measures), `kinds` and `places` (by the kind of tool, and
where), `comparison` (policies and prices side by side), `advice`. For one session under any policy: `what_if`, whose marks
`scheduled` applies; `reuse` says how likely a result is used again.
Where many sessions are replayed: `engines`, `ray_engine`.
"""
