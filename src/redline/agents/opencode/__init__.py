"""opencode: its session exports and its database, the repair of exports, and its start through the proxy."""
