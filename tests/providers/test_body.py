"""Messages put back into the client's bytes."""

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redline.providers.api import Body, BodyStart
from redline.providers.openai_chat.api import OpenAIChatApi
from tests.effort import tries
from tests.transport.spelled import spelled_bodies

PATH = "/v1/chat/completions"
NEW = b'{"role":"user","content":"new"}'


def loaded(raw: bytes):
    return json.loads(raw.decode("utf-8-sig"))


@given(spelled_bodies())
@tries(200, deadline=None)
def test_what_is_not_changed_stays(body):
    """The messages are the client's very bytes, and put back they give the client's very body."""
    read = OpenAIChatApi().read(body.raw, PATH)
    assert read.messages == body.messages
    assert read.splice(list(enumerate(read.messages))) is body.raw


@given(spelled_bodies(), st.data())
@tries(200, deadline=None)
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


WRITTEN = [
    b'{"role":"user","content":"a"}',
    b'{"role":"assistant","content":"]"}',
    b'{ "role": "user", "content": "\\u00e9" }',
    NEW,
]
TAILS = (
    b"]}",
    b'], "model": "m"}',
    b' ,"note":1]}',
    b",]}",
    b'],"messages":[{"role":"user","content":"b"}]}',
    b'],"mess\\u0061ges":[]}',
    b"]",
    b'],"prompt_cache_key":"s","tools":[{"cache_control":1}]}',
)


@given(
    st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=4),
    st.lists(st.sampled_from(WRITTEN), max_size=3),
    st.sampled_from((b",", b", ", b" ,\n")),
    st.sampled_from((b",", b", ", b" ", b"")),
    st.tuples(st.sampled_from(TAILS), st.sampled_from(TAILS)),
    st.sampled_from(
        (b'{"messages":[', b'{"model":"m","messages": [', b'{"messages":[1],"messages":[', b'{"x":{"messages":["cache_control')
    ),
)
@tries(500, deadline=None)
def test_a_body_that_is_read_on_is_the_body_that_is_read_whole(before, more, between, then, tails, head):
    """Whatever comes after the common beginning: another list under the same key, no JSON at all."""
    api, first = OpenAIChatApi(), head + between.join(before)
    start = BodyStart.of(api.read(first + tails[0], PATH))
    raw = first + b"".join(then + one for one in more) + tails[1]
    if start is None or not raw.startswith(start.beginning):
        return
    whole, read_on = api.read(raw, PATH), api.read(raw, PATH, start)
    assert replace(read_on, start=None) == whole
    if not whole.untouchable:
        pieces = [(place, NEW if place == 0 else one) for place, one in enumerate(whole.messages)]
        assert read_on.splice(pieces) == whole.splice(pieces)
        again = BodyStart.of(read_on)
        assert again is None or api.read(raw, PATH, again).messages == whole.messages


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
