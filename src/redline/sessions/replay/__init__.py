"""Recorded sessions under policies and prices: what each would have cost, and what was at risk.

Read in this order: `history` (the past of a session: its records, requests and strikes), `under_policy` (how large messages
and requests were; the strikes of a policy: the engine over the records, or the provider's clearing), `risk` (what was struck
and then used, by two measures), `simulated_run` (a session with certain strikes: sizes, costs, risks), `paid` (reported
costs), `comparison` (policies and prices side by side), `advice`. Many sessions are replayed in `engines`.
"""
