"""Histories for rules: a few words for a conversation, a rule folded over it, and the laws that every rule obeys."""

import math
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from redline.engine.sent import struck_message as strike
from redline.providers import FORMATS
from redline.rules.facts import Facts, Seen
from redline.rules.results import size_chars
from redline.rules.rule import Fold, Mark, Rule
from redline.testing import Turn, conversation
from redline.values.messages import Media, Message, Part, Reasoning, Role, Text, ToolCall, ToolResult

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="


def step(
    number: int, tool: str, arguments: dict[str, Any], answer: str | Sequence[Part], *, is_error: bool = False
) -> list[Turn]:
    """A call and its result."""
    call = ToolCall(f"call_{number}", tool, arguments)
    parts = (Text(answer),) if isinstance(answer, str) else tuple(answer)
    return [("assistant", (call,)), ("tool", (ToolResult(call.id, parts, tool, is_error),))]  # type: ignore[arg-type]


def steps(*asked: tuple[str, dict[str, Any], str]) -> list[Turn]:
    """Calls and results, one after the other, after the user's first words."""
    turns: list[Turn] = [("user", (Text("go"),))]
    return turns + [turn for number, one in enumerate(asked) for turn in step(number, *one)]


def native(turns: Sequence[Turn], format_name: str = "anthropic", *, every_ms: int = 1000) -> list[Any]:
    """The turns as messages of a format, each with its time: 1 s after the one before."""
    stamped = []
    for number, payload in enumerate(conversation(format_name, turns)):
        stamped.append({**payload, "timestamp": (number + 1) * every_ms})
    return stamped


def read(payloads: Sequence[Any], format_name: str = "anthropic") -> list[Message]:
    return [FORMATS[format_name].read(payload) for payload in payloads]


def seen_in(messages: Sequence[Message]) -> list[Seen]:
    facts = Facts()
    return [seen for index, message in enumerate(messages) for seen in facts.add(index, message)]


def folded(rule: Rule, messages: Sequence[Message]) -> Fold:
    """The fold of a rule that has seen the messages, and so far has marked nothing."""
    fold = rule.fold()
    assert [mark for seen in seen_in(messages) for mark in fold.see(seen)] == []
    return fold


def marks_of(rule: Rule, messages: Sequence[Message], *, now: float = math.inf) -> list[Mark]:
    fold = rule.fold()
    marks = [mark for seen in seen_in(messages) for mark in fold.see(seen)]
    return [*marks, *fold.due(now)]


def marked(rule: Rule, turns: Sequence[Turn], format_name: str = "anthropic", *, now: float = math.inf) -> list[int]:
    """The positions of the messages that a rule marks."""
    return sorted(mark.index for mark in marks_of(rule, read(native(turns, format_name), format_name), now=now))


def applied(messages: Sequence[Message], marks: Sequence[Mark]) -> list[Message]:
    after = []
    for index, message in enumerate(messages):
        own = [mark for mark in marks if mark.index == index]
        struck = strike(message, own, FORMATS[message.format]) if own else message
        if struck is not None:
            after.append(struck)
    return after


def check_laws(rule: Rule, messages: Sequence[Message]) -> list[Mark]:
    """What holds for every rule and every history."""
    marks = marks_of(rule, messages)
    assert len({(mark.index, mark.at) for mark in marks}) == len(marks), "a part is marked once"
    results = {(seen.index, seen.part.at): seen for seen in seen_in(messages) if seen.result is not None}
    for mark in marks:
        assert mark.rule == rule.name
        assert mark.because
        assert mark.at in {part.at for part in messages[mark.index].walk()}
        if (mark.index, mark.at) in results:
            seen = results[mark.index, mark.at]
            assert not seen.is_error, "errors are kept"
            assert isinstance(mark.replacement, str)
            assert len(mark.replacement) < size_chars(seen.part), "nothing grows"  # type: ignore[arg-type]
    after = applied(messages, marks)
    assert marks_of(rule, after) == [], "doing it twice changes nothing more"
    return marks


# --- histories nobody wrote

_words = st.text("ab \n{}é中", min_size=1, max_size=30)
_long = st.builds(lambda text, times: text * times, _words, st.integers(1, 40))
_paths = st.sampled_from(["a.py", "./a.py", "/p/a.py", "b.py", "src/c.py"])
_asked: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.tuples(st.just("Read"), _paths.map(lambda path: {"file_path": path})),
    st.tuples(st.just("Edit"), _paths.map(lambda path: {"file_path": path, "old_string": "a" * 300})),
    st.tuples(st.just("Bash"), st.sampled_from(["ls", "cat a.py", "make"]).map(lambda command: {"command": command})),
    st.tuples(st.just("BashOutput"), st.just({"bash_id": "1"})),
    st.tuples(st.just("recall"), st.just({"reference": "x"})),
    st.tuples(st.just("mystery"), st.dictionaries(st.sampled_from("xy"), st.integers(0, 2), max_size=2)),
)
_outcomes = st.one_of(
    _long,
    st.builds(
        lambda text, code: f'{{"stdout":"{text}","stderr":"","exitCode":{code}}}',
        st.text("ab ", max_size=80),
        st.integers(0, 1),
    ),
)


@st.composite
def _turns(draw: st.DrawFn) -> list[Turn]:
    said: list[Turn] = [("user", (Text("go"), *draw(_pictures)))]
    for number in range(draw(st.integers(0, 14))):
        asked = draw(st.lists(_asked, max_size=2))
        calls = [ToolCall(f"c{number}_{place}", name, arguments) for place, (name, arguments) in enumerate(asked)]
        thoughts = draw(st.lists(_words.map(Reasoning), max_size=1))
        role: Role = "assistant"
        said.append((role, (*thoughts, Text("so"), *calls)))
        results = [
            ToolResult(call.id, (Text(draw(_outcomes)), *draw(_pictures)), call.name, draw(st.integers(0, 4)) == 0)
            for call in calls
        ]
        said.append(("tool", tuple(results)) if results else ("user", (Text("and?"),)))
    return said


_pictures = st.lists(st.just(Media("image/png", PIXEL)), max_size=1)


@st.composite
def histories(draw: st.DrawFn, format_name: str | None = None) -> list[Message]:
    """Legal histories of a format, or of any, with reads, edits, failures, pictures, thoughts, and times in any order."""
    format_name = format_name or draw(st.sampled_from(sorted(FORMATS)))
    payloads = conversation(format_name, draw(_turns()))
    times = st.none() | st.integers(0, 20)
    stamped = [payload if (time := draw(times)) is None else {**payload, "timestamp": time} for payload in payloads]
    return read(stamped, format_name)
