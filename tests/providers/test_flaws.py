import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import FORMATS
from redline.providers.flaws import KNOWN_FIELDS, STORED_FIELDS, Flaw, corrected, fields_in, null_fields_in, stored_fields_in
from redline.testing import conversations, json_values
from tests.effort import tries
from tests.repair.damage import spoiled


@pytest.mark.parametrize("format", FORMATS)
@tries(15)
@given(data=st.data())
def test_legal_messages_have_no_flaw(format, data):
    """What the format itself composes is taken."""
    assert [flaw for payload in data.draw(conversations(format)) for flaw in FORMATS[format].flaws(payload)] == []


@pytest.mark.parametrize("format", FORMATS)
@tries(30)
@given(data=st.data())
def test_correcting_leaves_no_flaw(format, data):
    """Whatever a message holds, its flaws are all gone after one correction, from bytes as from objects."""
    find_flaws = FORMATS[format].flaws
    for payload in data.draw(spoiled(format)):
        flaws = find_flaws(payload)
        after = corrected(payload, flaws)
        assert find_flaws(after) == []
        assert (after is payload) == (not flaws)
        assert json.loads(corrected(json.dumps(payload).encode(), flaws)) == json.loads(json.dumps(after))


def test_corrected_puts_and_removes():
    """What has a replacement is exchanged, the rest goes; bytes keep every other byte."""
    flaws = [Flaw("call_inputs", ("a", 0), "text", {}), Flaw(KNOWN_FIELDS, ("b",), "unknown")]
    assert corrected({"a": ["x", 1], "b": 2, "c": 3}, flaws) == {"a": [{}, 1], "c": 3}
    assert corrected(b'{"a": ["x", 1.0],  "b": 2, "c": 3}', flaws) == b'{"a": [{}, 1.0],  "c": 3}'


def test_many_flaws_in_bytes_are_corrected_as_in_objects():
    """Where so many bytes change, the message is written anew."""
    message = {"role": "user", "content": ["word"] * 150, "odd": 1}
    flaws = FORMATS["anthropic"].flaws(message)
    after = corrected(json.dumps(message).encode(), flaws)
    assert (
        json.loads(after) == corrected(message, flaws) == {"role": "user", "content": [{"type": "text", "text": "word"}] * 150}
    )


def test_fields_are_found_by_name():
    """Refused ones, stored ones in a list's objects, and those that are null."""
    assert [flaw.path for flaw in fields_in({"a": 1, "b": 2}, {"b", "c"}, ("x",))] == [("x", "b")]
    assert [flaw.path for flaw in stored_fields_in([{"timestamp": 1}, 7], ("content",))] == [("content", 0, "timestamp")]
    assert [flaw.path for flaw in null_fields_in({"a": None, "b": 1}, ("a", "b", "c"))] == [("a",)]


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "ai_sdk"])
@tries(25)
@given(data=st.data())
def test_stored_fields_are_not_sent(format, data):
    """Whatever is stored beside a message is cut out, from bytes too; a message without any is the very same object (R7)."""
    writer = FORMATS[format]
    payload = data.draw(st.sampled_from(data.draw(conversations(format))))
    assert writer.sendable(payload) is payload
    extra = {data.draw(st.sampled_from(sorted(STORED_FIELDS))): data.draw(json_values())}
    assert writer.sendable({**extra, **payload}) == payload
    line = json.dumps(payload).encode()
    assert writer.sendable(line) is line
    assert json.loads(writer.sendable(json.dumps({**payload, **extra}).encode())) == json.loads(line)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_details", "x_vendor", "provider_options"])
def test_fields_of_compatible_servers_are_sent(field):
    """A server that speaks Chat Completions may want them back (R7)."""
    payload = {"role": "assistant", "content": "ok", field: "hm"}
    assert FORMATS["openai_chat"].sendable(payload) is payload
