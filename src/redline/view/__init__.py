"""Which messages are visible, in which order: views, and the operations that change a view."""
