"""Placeholders of every rule, in both languages, for tools of all kinds: short, in one line, and of what they stand for."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.rules import (
    Faded,
    FailedInputs,
    HistoricalReads,
    MaskedResults,
    OldImages,
    RepeatedCalls,
    StaleTerminal,
    SupersededReads,
)
from redline.testing import Turn
from redline.tokens import Estimate
from redline.values.messages import Media, Text, ToolCall
from redline.values.words import EN, ZH, Placeholders
from tests.rules.folding import PIXEL, marks_of, native, read, step

MOST_TOKENS = 30
"""By Redline's estimate, a path that must be whole aside."""
COUNTER = Estimate()
LONG = "Tool output, line after line. " * 400
PATH = "/home/dev/projects/shop/src/components/checkout/CheckoutForm.test.tsx"

TOOLS: dict[str, tuple[str, dict[str, Any], str, str, str]] = {
    "a test": ("Bash", {"command": "make test"}, "Bash make test", "run it again", "可再次运行"),
    "a push": ("Bash", {"command": "git push"}, "Bash git push", "repeating it may change things", "重做可能有副作用"),
    "a read": ("Read", {"file_path": "/p/a.py"}, "Read /p/a.py", "if it exists, read it again", "若存在可再次读取"),
    "a long read": ("Read", {"file_path": PATH}, "Form.test.tsx", "if it exists, read it again", "若存在可再次读取"),
    "a read by a command": (
        "Bash",
        {"command": "cat a.py"},
        "Bash cat a.py",
        "if it exists, read it again",
        "若存在可再次读取",
    ),
    "an edit": (
        "Edit",
        {"file_path": "/p/b.py", "old_string": "a", "new_string": "b"},
        "Edit /p/b.py",
        "read it",
        "可再次读取",
    ),
    "a search": ("Grep", {"pattern": "def total", "path": "src"}, "Grep def total", "search again", "可再次搜索"),
    "a page": ("WebFetch", {"url": "https://a.org/b"}, "WebFetch https://a.org/b", "call it again", "可再次调用"),
    "a web search": ("WebSearch", {"query": "how to"}, "WebSearch how to", "search again", "可再次搜索"),
    "a sub-agent": ("Task", {"prompt": "find it"}, "Task find it", "repeating it may change things", "重做可能有副作用"),
    "typing": ("write_stdin", {"session_id": 5, "chars": "y"}, "write_stdin", "repeating it may", "重做可能有副作用"),
    "an unknown look": ("mcp__gh__get_issue", {"id": "a-7"}, "get_issue a-7", "call it again", "可再次调用"),
    "an unknown tool": ("mcp__gh__create_issue", {"title": "Bug"}, "Bug", "repeating it may", "重做可能有副作用"),
}
RULES = {
    "stale_terminal": lambda words: StaleTerminal(0, 0, words=words),
    "historical_reads": lambda words: HistoricalReads(0, shell_reads=True, words=words),
    "superseded_reads": lambda words: SupersededReads(until_read_again=False, words=words),
    "repeated_calls": lambda words: RepeatedCalls(1, words=words),
    "masked_results": lambda words: MaskedResults(0, words=words),
    "old_images": lambda words: OldImages(0, words=words),
    "faded": lambda words: Faded(0, words=words),
    "faded with recall": lambda words: Faded(0, recall_tool="recall", words=words),
}
"""Each marks what it can as soon as it can."""
OF_THE_DOCUMENTS = {ZH.stale_terminal, ZH.historical_read}
"""To the letter, and without a field."""


def placeholders(rule: str, words: Placeholders, tool: str, arguments: dict[str, Any], text: str = LONG) -> list[str]:
    """What a rule puts in the place of the one result, with a picture beside it for the rule that takes those."""
    parts = (Text(text), Media("image/png", PIXEL)) if rule == "old_images" else (Text(text),)
    turns = step(0, tool, arguments, parts)
    changes = [turn for path in arguments.values() for turn in step(1, "Write", {"file_path": path, "content": "x"}, "Done.")]
    idle: list[Turn] = [turn for number in range(2, 42) for turn in (("assistant", (Text("ok"),)), ("user", (Text("go on"),)))]
    again = step(1, tool, arguments, text) if rule == "repeated_calls" else []
    after = changes if rule == "superseded_reads" else idle if rule.startswith("faded") else again
    marks = marks_of(RULES[rule](words), read(native([("user", (Text("go"),)), *turns, *after])))
    return [str(mark.replacement) for mark in marks if mark.index == 2]


@pytest.mark.parametrize("words", [EN, ZH], ids=["EN", "ZH"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", TOOLS)
def test_a_placeholder_says_what_it_was_and_how_to_have_it_back(words: Placeholders, rule: str, kind: str):
    """Tool and subject, and the way back, which is never claimed where it may do harm; at most 30 tokens, in one line."""
    tool, arguments, what, *ways = TOOLS[kind]
    found = placeholders(rule, words, tool, arguments)
    assert found or rule in ("stale_terminal", "historical_reads", "superseded_reads", "repeated_calls")
    for text in set(found) - OF_THE_DOCUMENTS:
        assert what in text
        assert len(text.splitlines()) == 1
        assert COUNTER.count(text) <= MOST_TOKENS
        if rule == "faded with recall":
            assert 'recall(reference="#2.0")' in text
        elif rule not in ("historical_reads", "repeated_calls"):
            assert ways[words is ZH] in text


@pytest.mark.parametrize("words", [EN, ZH], ids=["EN", "ZH"])
@given(
    tool=st.text(st.characters(codec="utf-8"), min_size=1, max_size=80),
    subject=st.text(st.characters(codec="utf-8"), max_size=200),
    size=st.integers(400, 3_000_000),
)
def test_whatever_a_tool_is_called_a_placeholder_is_short(words: Placeholders, tool: str, subject: str, size: int):
    """Names of any script, emoji and control characters: one line, and at most two tokens more where each character is one."""
    for rule in ("repeated_calls", "masked_results", "old_images", "faded with recall"):
        for text in placeholders(rule, words, tool, {"value": subject}, "x" * size):
            assert COUNTER.count(text) <= MOST_TOKENS + 2, text
            assert len(text.splitlines()) == 1


@pytest.mark.parametrize("words", [EN, ZH], ids=["EN", "ZH"])
def test_a_saved_output_is_named_whole(words: Placeholders):
    """Beyond the 30 tokens comes the path; what a program of its own saved is not all of its output."""
    saved = f"Output too large. Full output saved to: /tmp/tool-results/{'a' * 60}.txt\n{LONG}"
    (text,) = placeholders("masked_results", words, "Bash", {"command": "make test"}, saved)
    path = f"/tmp/tool-results/{'a' * 60}.txt"
    assert words.saved_in.replace("{file}", path) in text
    assert COUNTER.count(text) <= MOST_TOKENS + COUNTER.count(path)
    (text,) = placeholders("masked_results", words, "Bash", {"command": "make test"}, f"Model saved to ./model.bin\n{LONG}")
    assert words.run_again in text


@pytest.mark.parametrize("words", [EN, ZH], ids=["EN", "ZH"])
def test_in_the_place_of_an_input_words_are_short(words: Placeholders):
    """The call that they stand in names tool and subject."""
    turns = step(0, "Bash", {"command": "x" * 500}, "Error: no", is_error=True)
    marks = marks_of(
        FailedInputs(0, words=words), read(native([*turns, ("assistant", (Text("ok"),)), *step(1, "LS", {}, "a")]))
    )
    assert [mark.replacement for mark in marks] == [{"note": words.failed_input}]
    for text in (words.failed_input, words.faded_input):
        assert COUNTER.count(text) <= MOST_TOKENS
        assert ToolCall("t", "Bash", {"note": text}).arguments == {"note": text}
