"""Folds at the source: an agent's hook gives each tool's output to Redline before the model is sent it; no proxy is involved.

`answering` is what the agent starts and waits for, so it imports little; `claude_code` knows the shapes of Claude Code;
`settings_text` puts an item into a settings file and takes exactly that out again.
"""
