"""From what is recorded to what is sent: facts, marks, a schedule that applies them, laws that check the result.

To follow a message, read in this order: `engine` (records and requests), `state` (what the records add up to), `project` (one
request from top to bottom), `workings` (what grows with the conversation: `repaired`, `marks`, the ledger), `draft` (strikes
against laws), `sent` and `strike` (what goes out), `request` (what the caller gets).
"""
