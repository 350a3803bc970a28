import pytest

from redline.agents.mending import Fix, excerpt
from redline.providers import FORMATS


@pytest.mark.parametrize(
    ("fix", "words"),
    [
        (Fix("remove", "it was torn", 3), "- line 3: it was torn"),
        (Fix("change", "renamed", None, 4), "~ message 4: renamed"),
        (Fix("add", "answered", 3, 2), "+ after line 3, message 2: answered"),
        (Fix("move", "late", 9, text="hi"), '^ line 9: late "hi"'),
    ],
)
def test_a_fix_says_what_happens_where_and_why(fix, words):
    """In one line that a reader can find in the file."""
    assert str(fix) == words


def test_a_session_cannot_play_on_the_terminal():
    """Escape sequences in what was said are not shown."""
    assert excerpt("a\x1b[31mb\nc\ud800") == "a[31mb c"
    assert str(Fix("remove", "the call of \x1b[2J", 1)) == "- line 1: the call of [2J"


def test_long_words_are_cut():
    """An excerpt is short, and says that it is one."""
    assert (len(excerpt("word " * 100)), excerpt("word " * 100)[-1]) == (60, "…")


def test_the_call_that_a_message_ends_on_is_named():
    """A crash leaves the last call open; a message of results names the first."""
    chat = FORMATS["anthropic"]
    calls = [{"type": "tool_use", "id": name, "name": name.upper(), "input": {}} for name in ("a", "b")]
    asked = Fix.for_message("remove", "", chat.read({"role": "assistant", "content": calls}), line=1)
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("a", "b")]
    answered = Fix.for_message("remove", "", chat.read({"role": "user", "content": results}), line=2)
    assert [(fix.tool, fix.call_id) for fix in (asked, answered)] == [("B", "b"), (None, "a")]
