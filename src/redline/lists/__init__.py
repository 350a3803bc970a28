"""Functions on plain lists of messages: each returns new values and never touches its input."""
