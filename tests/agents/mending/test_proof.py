import json

import pytest

from redline.agents.claude_code.reader import ClaudeCode
from redline.agents.menders import prove
from redline.agents.plain import Plain
from redline.errors import ExecutionError
from redline.providers import FORMATS
from tests.agents.mending.sessions import claude_line, result, text, use, write

ANTHROPIC = FORMATS["anthropic"]
ASKED = [
    claude_line("1", None),
    claude_line("2", "1", "assistant", use("a", "b")),
    claude_line("3", "2", content=result("a")),
    claude_line("4", "3", content=result("b")),
]


def message(role, content):
    return ANTHROPIC.read({"role": role, "content": content})


PROMISED = [message("user", "hi"), message("assistant", use("a", "b")), message("user", result("b", "a"))]


def test_what_says_what_was_promised_is_proven(tmp_path):
    """However many records a message is written in, and in whatever order its results are; twice is not what was promised."""
    path = write(tmp_path, ASKED)
    prove(path, ClaudeCode(), [PROMISED])
    with pytest.raises(ExecutionError, match="it holds 1 conversations, not 2"):
        prove(path, ClaudeCode(), [PROMISED, PROMISED])


def test_what_a_provider_would_refuse_is_not(tmp_path):
    """An open call, say; the error names the place and the rule."""
    with pytest.raises(ExecutionError, match="the call 'b' of Bash has no result"):
        prove(write(tmp_path, ASKED[:3]), ClaudeCode(), [PROMISED])


def test_what_says_something_else_is_not(tmp_path):
    """Legal is not enough: nothing may be lost or come in unseen."""
    for records in (ASKED[:1], [*ASKED, claude_line("5", "4", "assistant", text("more"))]):
        with pytest.raises(ExecutionError, match="does not say what it should"):
            prove(write(tmp_path, records), ClaudeCode(), [PROMISED])


def test_no_conversation_may_be_missing(tmp_path):
    """Nor may one be left where nothing was to be left; a file that is empty holds none."""
    with pytest.raises(ExecutionError, match="holds 0 conversations, not 1"):
        prove(write(tmp_path, b""), ClaudeCode(), [PROMISED])
    with pytest.raises(ExecutionError, match="holds 1 conversations, not 0"):
        prove(write(tmp_path, ASKED), ClaudeCode(), [[]])
    prove(write(tmp_path, b"\n"), ClaudeCode(), [[]])


def test_a_plain_list_is_proven_in_the_format_it_had(tmp_path):
    """Without its calls a list may look like one of another provider."""
    chat = FORMATS["openai_chat"].read({"role": "assistant", "content": "done"})
    prove(write(tmp_path, json.dumps([chat.native]).encode(), "x.json"), Plain(), [[chat]])
    anthropic = message("assistant", "done")
    with pytest.raises(ExecutionError, match="the assistant speaks first"):
        prove(write(tmp_path, json.dumps([anthropic.native]).encode(), "x.json"), Plain(), [[anthropic]])
