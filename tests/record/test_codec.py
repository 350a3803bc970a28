import json
import zlib

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import LogError, ValidationError
from redline.record import codec
from redline.record.log import Header, Stored
from redline.record.records import (
    MIGRATIONS,
    VERSION,
    MessageAdded,
    PinSet,
    Record,
    Strike,
    StrikesApplied,
    UsageReported,
    ViewChanged,
)
from tests.record.logs import payloads, records


def sealed(content: str) -> bytes:
    """A line with a checksum that is right, whatever is in it."""
    line = content.encode() + b"\n"
    return b'{"crc":"%08x",' % zlib.crc32(line) + line


@given(st.lists(records(), max_size=4), st.integers(0, 99), st.integers(-1, 99))
def test_lines_give_back_what_was_written(batch, first, parent):
    """Every field of every type of record survives, in numbered lines that each are one line of valid JSON."""
    lines = codec.sealed_lines([codec.encode_record(record) for record in batch], first=first, parent=parent)
    assert [codec.decode(line) for line in lines] == [
        codec.Line(Stored(first + turn, parent if turn == 0 else first + turn - 1, record), len(batch) - 1 - turn)
        for turn, record in enumerate(batch)
    ]
    for line in lines:
        assert line.index(b"\n") == len(line) - 1
        json.loads(line.decode())


@given(payloads)
def test_payload_is_kept_byte_for_byte(payload):
    """Whatever a payload is made of, the very bytes come back."""
    record = MessageAdded(payload)
    assert codec.decode_record(codec.encode_record(record)) == record


@pytest.mark.parametrize("payload", [b'{"b": 1E2 ,"a":1,"a":"\xe4\xbd\xa0"}', b"{}", b'{"a":' + b"[" * 400 + b"]" * 400 + b"}"])
def test_object_stands_in_the_line_as_it_is(payload):
    """A payload that a line can carry is there for people to read."""
    assert codec.encode_record(MessageAdded(payload)) == b'{"type":"message","payload":' + payload + b"}"
    assert payload in codec.encode_record(ViewChanged((), (payload,), ((3, payload),)))


@pytest.mark.parametrize(
    "payload",
    [
        b'{"a":\n1}',
        b'{"a":\r1}',
        b' {"a":1}',
        b'{"a":"\xff"}',
        b'{"a":"\\ud83d"}',
        b'{"a":NaN}',
        b"[1]",
        b'{"a":' + b"[" * 900 + b"]" * 900 + b"}",
    ],
)
def test_payload_that_a_line_cannot_carry_is_wrapped_up(payload):
    """Line breaks, spaces around it, invalid text or JSON, and nesting that no parser follows go into base64."""
    body = msgspec.json.decode(codec.encode_record(MessageAdded(payload)))
    assert isinstance(body["payload"], str)


def test_text_that_is_not_unicode_survives_in_any_record():
    """A strike that quotes half a surrogate pair is stored and read like any other."""
    record = StrikesApplied((Strike(0, "r", 0, ("content", 0), {"text": "\ud83d", "n": 2**70}, "\udcff", 9, 1),))
    line = codec.sealed_lines([codec.encode_record(record)], first=0, parent=-1)[0]
    assert codec.decode(line).stored.record == record


@given(records(), st.data())
def test_any_changed_byte_is_noticed(record, data):
    """A line is not taken for intact if a byte of it is another one, is missing, or is too many."""
    line = codec.sealed_lines([codec.encode_record(record)], first=3, parent=1)[0]
    place = data.draw(st.integers(0, len(line) - 1))
    changed = bytearray(line)
    changed[place] ^= data.draw(st.integers(1, 255))
    for damaged in (bytes(changed), line[:place] + line[place + 1 :], line[:place] + b"0" + line[place:], line[:place]):
        if damaged != line:
            assert not codec.is_intact(damaged)
            assert codec.decode(damaged) is None
            assert codec.peek(damaged) is None


def test_head_is_read_without_the_record():
    """Number, parent and what follows in the same append are known without reading the record, in any version."""
    first, second = codec.sealed_lines([codec.encode_record(PinSet(1)), codec.encode_record(PinSet(2))], first=5, parent=2)
    assert codec.peek(first) == codec.Head(VERSION, 5, 2, more=1)
    assert codec.peek(second) == codec.Head(VERSION, 6, 5)
    assert codec.peek(sealed('"version":9,"number":7,"parent":6,"record":{"type":"from the future"}}')).number == 7


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('"version":99,"number":0,"parent":-1,"record":{"type":"pin","index":0}}', "newer Redline"),
        ('"version":99,"number":0,"parent":-1,"record":{"type":"new"}}', "newer Redline"),
        ('"version":-3,"number":0,"parent":-1,"record":{"type":"pin","index":0}}', "there never was such a version"),
        ('"version":1,"number":0,"parent":-1,"record":{"type":"unheard of"}}', "intact but no record that this Redline knows"),
        ('"version":1,"number":0,"parent":-1}', "intact but no record that this Redline knows"),
        ('"something":"else"}', "intact but no record that this Redline knows"),
        ('"version":1,"number":0,"parent":-1,"record":"eyJ0eXBlIjoieCJ9"}', "intact but no record that this Redline knows"),
    ],
)
def test_intact_line_that_is_no_known_record_is_an_error(content, problem):
    """What was written on purpose is never taken for damage."""
    with pytest.raises(LogError, match=problem):
        codec.decode(sealed(content))


def test_line_without_a_number_is_an_error():
    """A sealed line that is no record is not passed over."""
    with pytest.raises(LogError, match="intact but no record of a Redline log"):
        codec.peek(sealed('"something":"else"}'))


def test_older_record_is_migrated_with_its_payload_untouched(monkeypatch):
    """A record of an older version passes through its migration; a payload in it stays byte for byte."""
    monkeypatch.setitem(MIGRATIONS, 0, lambda fields: {"type": fields["kind"], "payload": fields["native"]})
    line = sealed('"version":0,"number":4,"parent":3,"more":1,"record":{"kind":"message","native":{"b": 1E2, "a":1,"a":2}}}')
    assert codec.decode(line) == codec.Line(Stored(4, 3, MessageAdded(b'{"b": 1E2, "a":1,"a":2}')), 1)


def test_older_record_that_is_wrapped_up_is_migrated(monkeypatch):
    """Invalid text in a record of an older version does not keep it from being migrated."""
    old = msgspec.json.encode(json.dumps({"kind": "strikes", "strikes": [["\ud83d"]]}).encode()).decode()

    def step(fields):
        (said,) = json.loads(bytes(fields["strikes"]))[0]
        strike = Strike(0, said, 0, (), None, "", 0, 0)
        return {"type": msgspec.Raw(b'"strikes"'), "strikes": msgspec.Raw(json.dumps([msgspec.to_builtins(strike)]).encode())}

    monkeypatch.setitem(MIGRATIONS, 0, step)
    line = sealed(f'"version":0,"number":0,"parent":-1,"record":{old}}}')
    assert codec.decode(line).stored.record.strikes[0].rule == "\ud83d"


def test_header_comes_back():
    """A header is a sealed line too; anything else is none."""
    header = Header(conversation="你好", origin="a.jsonl", message_format="gemini")
    line = codec.encode_header(header)
    assert codec.decode_header(line) == header
    assert codec.decode_header(line[:-1]) is None
    assert codec.decode_header(b"{}") is None
    assert codec.decode_header(codec.sealed_lines([codec.encode_record(UsageReported(1))], first=0, parent=-1)[0]) is None


def test_header_of_a_newer_version_is_an_error():
    """It is not mistaken for damage."""
    with pytest.raises(LogError, match="newer Redline"):
        codec.decode_header(codec.encode_header(Header(conversation="c", version=7)))


def test_header_must_be_text():
    """A name that cannot be written is refused when it is written."""
    with pytest.raises(ValidationError, match="The header of a log must be valid Unicode"):
        codec.encode_header(Header(conversation="\ud800"))


def test_every_type_of_record_can_be_written():
    """The strategy used here makes all of them, so that a new one cannot be forgotten."""
    assert all(hasattr(kind, "__struct_fields__") for kind in Record.__args__)
