"""Messages know their words, calls and results, and have an identity that follows their content."""

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from redline.values import payloads
from redline.values.messages import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, identity
from tests.values.test_payloads import json_objects, json_values, patient, random_sources, spell_bytes

_RESULT = ToolResult("a", (Text("one"), Media("image/png", "AAAA"), Text("two"), Opaque("odd")))
_HOSTED_CALL = ToolCall("h", "web_search", is_hosted=True)
_HOSTED_RESULT = ToolResult("h", (Text("found"),), is_hosted=True)


def _message(native: Any, format_name: str = "anthropic") -> Message:
    return Message("user", (), native, format_name)


def _spoken(*parts: Any) -> Message:
    return Message("assistant", parts, {}, "anthropic")


# --- identity


@patient
@given(json_objects, random_sources)
def test_identity_does_not_depend_on_the_spelling(native: dict[str, Any], random: Random) -> None:
    """An object, its bytes however spaced and escaped, and its keys in another order are one message."""
    raw = spell_bytes(native, random)
    shuffled = list(native.items())
    random.shuffle(shuffled)
    spelled = _message(raw)
    assert identity(_message(dict(shuffled))) == identity(_message(native))
    assert identity(spelled) == identity(_message(_decoded(spelled)))


@patient
@given(json_objects, json_objects)
def test_identity_changes_with_the_content(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Different content, different identity."""
    assume(one != other)
    assert identity(_message(one)) != identity(_message(other))


@patient
@given(json_objects, json_values)
def test_identity_sees_unknown_fields(native: dict[str, Any], value: Any) -> None:
    """A field that Redline does not know is content too."""
    assert identity(_message({**native, "a field nobody knows": value})) != identity(_message(native))


def test_identity_depends_on_the_format() -> None:
    """The same payload means different things in different formats."""
    native = {"role": "user", "content": "hi"}
    assert identity(_message(native, "anthropic")) != identity(_message(native, "openai_chat"))


def test_identity_takes_bytes_inside_an_object() -> None:
    """The Python SDKs hold pictures and signatures as bytes."""
    assert identity(_message({"data": b"\xff"})) != identity(_message({"data": b"\xfe"}))


def _decoded(message: Message) -> Any:
    return payloads.decode(message.native)


# --- a call's arguments


@pytest.mark.parametrize(
    ("given_input", "arguments"),
    [
        ({"path": "a.py"}, {"path": "a.py"}),
        ('{"path": "a.py"}', {"path": "a.py"}),
        ("*** Begin Patch", {"input": "*** Begin Patch"}),
        ("[1]", {"input": "[1]"}),
        ("", {}),
        ([1], {"input": [1]}),
        (None, {}),
        ("[" * 100_000, {"input": "[" * 100_000}),
    ],
    ids=["object", "JSON text", "free text", "JSON list", "empty", "list", "none", "nested too deeply"],
)
def test_arguments_are_always_an_object(given_input: Any, arguments: dict[str, Any]) -> None:
    """However the provider gave the input, rules find named arguments."""
    assert ToolCall("1", "read", given_input).arguments == arguments


@patient
@given(st.text(st.characters(exclude_characters='"\\')))
def test_arguments_keep_every_letter(path: str) -> None:
    """Lone surrogates and control characters inside JSON text arrive as they were."""
    assert ToolCall("1", "read", f'{{"path": "{path}"}}').arguments == {"path": path}


# --- what a message holds


def test_text_is_words_only() -> None:
    """Reasoning, calls and results are not what was said."""
    message = _spoken(Reasoning("hm"), Text("one"), ToolCall("1", "read"), _RESULT, Text("two"))
    assert message.text == "one\ntwo"


def test_the_text_of_a_result_is_its_words() -> None:
    """Media and unknown blocks are left out."""
    assert _RESULT.text == "one\ntwo"


def test_hosted_calls_and_results_are_not_the_clients() -> None:
    """What the provider runs itself needs no answer."""
    call = ToolCall("1", "read")
    message = _spoken(_HOSTED_CALL, _HOSTED_RESULT, call, _RESULT)
    assert message.calls == (call,)
    assert message.results == (_RESULT,)


def test_walk_goes_into_results() -> None:
    """Each part, and what lies inside a result right after it."""
    message = _spoken(Text("a"), _RESULT, Text("b"))
    assert list(message.walk()) == [Text("a"), _RESULT, *_RESULT.parts, Text("b")]
