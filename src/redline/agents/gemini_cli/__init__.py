"""Gemini CLI, Google's command-line agent: its session files, their repair, and its start through the proxy."""
