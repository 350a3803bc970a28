"""Which messages are visible, in which order, and what makes them legal to send."""
