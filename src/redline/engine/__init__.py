"""From recorded messages to a request: facts, marks, a schedule that applies marks, laws that check the result.

To follow a message, read in this order: `engine` (records and requests), `state` (what the records add up to), `project` (one
request from top to bottom, and its strikes tried against the laws), `derived_state` (what grows with the conversation:
`repaired`, `marks`, the ledger), `sent` (what goes out, strikes carried out), `request` (what the caller gets).
"""
