"""Half an emoji in a session, as a cut in the middle of a character leaves it, does not stop a command."""

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("command", [["export", "--to", "anthropic"], ["check", "--json"], ["inspect", "--json"], ["inspect"]])
def test_half_an_emoji_is_printed_escaped(tmp_path, command):
    """The text is carried as its escape, and the exit code is that of any other file (R61)."""
    call = {"id": "c", "type": "function", "function": {"name": "r\ud83d", "arguments": "{}"}}
    messages = [{"role": "user", "content": "a \ud83d b"}, {"role": "assistant", "content": None, "tool_calls": [call]}]
    path = tmp_path / "session.json"
    path.write_text(json.dumps(messages), encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "redline", *command, str(path)], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1)
    assert b"\\ud83d" in done.stdout or "--json" not in command
