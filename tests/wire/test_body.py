"""Messages put back into the client's bytes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.wire.body import Body
from redline.wire.openai_chat import OpenAIChatApi
from tests.wire.spelled import spelled_bodies

PATH = "/v1/chat/completions"
NEW = b'{"role":"user","content":"new"}'


def loaded(raw: bytes):
    return json.loads(raw.decode("utf-8-sig"))


@given(spelled_bodies())
@settings(max_examples=5 * settings.default.max_examples, deadline=None)
def test_what_is_not_changed_stays(body):
    """The messages are the client's very bytes, and put back they give the client's very body."""
    read = OpenAIChatApi().read(body.raw, PATH)
    assert read.messages == body.messages
    assert read.splice(list(enumerate(read.messages))) is body.raw


@given(spelled_bodies(), st.data())
@settings(max_examples=5 * settings.default.max_examples, deadline=None)
def test_only_what_changed_is_changed(body, data):
    """Replaced, dropped and new messages are the only difference, and the bytes around them are the client's."""
    pieces = []
    for place, message in enumerate(body.messages):
        match data.draw(st.sampled_from(("keep", "keep", "replace", "drop", "insert"))):
            case "keep":
                pieces.append((place, message))
            case "replace":
                pieces.append((place, NEW))
            case "insert":
                pieces += [(None, NEW), (place, message)]
    raw = body.raw
    result = Body(raw, "openai_chat", body.messages).splice(pieces)
    assert loaded(result) == {**loaded(raw), "messages": [loaded(payload) for _, payload in pieces]}

    kept = list(enumerate(body.messages))
    same_start = next((at for at, piece in enumerate(kept) if pieces[at : at + 1] != [piece]), len(kept))
    has_next = same_start < len(kept) and same_start < max(len(pieces), 1)
    assert result.startswith(raw[: body.spans[same_start][0] if has_next else body.spans[same_start - 1][1]])
    backwards, kept_backwards = pieces[::-1], kept[::-1]
    same_end = next((at for at, piece in enumerate(kept_backwards) if backwards[at : at + 1] != [piece]), len(kept))
    assert result.endswith(raw[body.spans[-same_end][0] if same_end else body.spans[-1][1] :])


@given(spelled_bodies(), st.data())
@settings(deadline=None)
def test_a_message_replaced_leaves_all_else(body, data):
    """One message exchanged for another: every other byte is the client's, spaces between messages too."""
    place = data.draw(st.integers(0, len(body.messages) - 1))
    pieces = [(at, NEW if at == place else message) for at, message in enumerate(body.messages)]
    start, end = body.spans[place]
    assert Body(body.raw, "openai_chat", body.messages).splice(pieces) == body.raw[:start] + NEW + body.raw[end:]


def test_bytes_that_are_no_text_stay():
    """What is not UTF-8 is said to be so, and even then spliced byte for byte."""
    raw = b'{"note":"\xff","messages":[{"role":"user","content":"\xfe"} , {"role":"user","content":"b"}]}'
    body = OpenAIChatApi().read(raw, PATH)
    assert not body.is_utf8
    assert body.splice([(0, body.messages[0]), (1, NEW)]) == raw.replace(body.messages[1], NEW)


@given(st.binary(max_size=20), st.integers(0, 7))
def test_what_is_text(noise, place):
    """Whatever the pieces in which it is looked at."""
    raw = b"a" * (2**15 - place) + "é–😀".encode() + noise
    try:
        is_text = bool(raw.decode())
    except UnicodeDecodeError:
        is_text = False
    assert Body(raw, "anthropic").is_utf8 == is_text


def test_a_list_that_begins_alike_is_not_taken_for_it():
    """Many lists that begin as the messages do are no messages; the last key of the name counts."""
    decoys = "".join(f'"d{number}":[{{"role":"user"}},{number}],' for number in range(30))
    raw = f'{{{decoys}"messages":[{{"role":"user"}},{{"role":"b"}}],"messages":[{{"role":"user"}}, {{"role":"a"}}]}}'.encode()
    body = OpenAIChatApi().read(raw, PATH)
    assert body.splice([(0, body.messages[0]), (1, NEW)]) == raw.replace(b'{"role":"a"}', NEW)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_all_messages_may_go(count):
    """A list of other messages, or of none, is a list."""
    raw = b'{"messages" : [ {"role":"user","content":"a"} ] , "x":1}'
    body = OpenAIChatApi().read(raw, PATH)
    assert loaded(body.splice([(None, NEW)] * count)) == {"messages": [json.loads(NEW)] * count, "x": 1}
