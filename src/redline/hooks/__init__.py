"""Folds at the source: an agent's hook gives each tool's output to Redline before the model is sent it, with no proxy.

A file here holds all that is known of one agent: its events and answers, where its hook is installed, how one run has it.
`answering` is what the agents start and wait for, so it imports little, and of the agents only one.
"""

HOOKED_AGENTS = {
    "claude-code": "redline.hooks.claude_code",
    "copilot": "redline.hooks.copilot_cli",
    "opencode": "redline.hooks.opencode",
    "pi": "redline.hooks.pi",
}
"""The module of each agent, by the name that `redline hook install` takes; `hooked_agent` says what it must hold."""
