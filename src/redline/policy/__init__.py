"""The settings of a conversation: Policy, the presets, redline.toml and the settings of commands."""
