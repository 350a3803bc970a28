"""Claude Code, Anthropic's command-line agent: its session files, their repair, and its start through the proxy."""
