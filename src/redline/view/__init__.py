"""Which messages are visible, in which order, and the operations that change it."""
