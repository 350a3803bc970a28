"""The record of a conversation: what was said, shown, struck and undone. It only grows."""
