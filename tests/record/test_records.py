import msgspec
from hypothesis import given
from hypothesis import strategies as st

from redline.providers.usage import Usage
from redline.record.codec import decode, decode_record, encode_record, sealed_lines
from redline.record.log import Header
from redline.record.records import (
    ForkedFrom,
    MessageAdded,
    PinSet,
    Record,
    RolledBack,
    Strike,
    StrikesApplied,
    UsageReported,
    ViewChanged,
)

strikes = st.builds(
    Strike,
    number=st.integers(0, 9),
    rule=st.just("r"),
    index=st.integers(0, 9),
    at=st.just(("content", 0)),
    replacement=st.none() | st.text(max_size=4) | st.dictionaries(st.text(max_size=2), st.integers(0, 9), max_size=1),
    because=st.text(max_size=4),
    tokens_before=st.integers(0, 99),
    tokens_after=st.integers(0, 9),
)
records = st.one_of(
    st.builds(MessageAdded, payload=st.binary(max_size=9), timestamp_ms=st.none() | st.floats(0, 1e13)),
    st.builds(ViewChanged, indices=st.just(((0, 3),)), appended=st.tuples(st.binary(max_size=5)), boundary=st.none()),
    st.builds(RolledBack, batch=st.integers(0, 9)),
    st.builds(StrikesApplied, strikes=st.tuples(strikes), tokens_after=st.integers(0, 10**7)),
    st.builds(PinSet, index=st.integers(0, 9)),
    st.builds(UsageReported, input_tokens=st.integers(0, 99), cache_write_1h_tokens=st.integers(0, 9)),
)


@given(records)
def test_every_record_survives_being_written(record):
    """A record decoded from its JSON is the same record of the same type."""
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


def test_saving_of_a_strike():
    """What a strike saves is what was there less what is there now."""
    assert Strike(0, "r", 0, ("content",), "x", "why", 100, 7).tokens_saved == 93


def test_requests_recorded_before_destinations_were_are_read():
    """What an older log does not say has its default."""
    old = b'{"type":"strikes","strikes":[],"now":5.0,"visible":2}'
    assert msgspec.json.decode(old, type=Record) == StrikesApplied((), 5.0, 2)


@given(st.integers(0, 10**7), st.integers(1, 9))
def test_tokens_after_the_first_strike_survive_a_line(tokens_after, number):
    """Written to a line of a log and read from it."""
    record = StrikesApplied((), tokens_after=tokens_after)
    [line] = sealed_lines([encode_record(record)], first=number, parent=number - 1)
    assert decode(line).stored.record == record


def test_logs_without_tokens_after_the_first_strike_are_read():
    """What an older log does not say is 0: in a dry run everything then counts as cached that was read."""
    strike = Strike(0, "r", 1, ("content", 0), "x", "why", 100, 7)
    old = msgspec.json.encode(StrikesApplied((strike,), 5.0, 2))
    assert old.count(b"tokens_after") == 1  # that of the strike
    assert msgspec.json.decode(old, type=Record).tokens_after == 0


def test_usage_without_one_hour_cache_writes_is_written_as_before():
    """Byte for byte, zeros included; what an older log does not say is none."""
    old = b'{"type":"usage","input_tokens":10,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":3}'
    assert encode_record(UsageReported(10, 0, 0, 3)) == old
    assert decode_record(old) == UsageReported(10, 0, 0, 3)
    assert encode_record(UsageReported(10, 0, 0, 3, 2)) == old[:-1] + b',"cache_write_1h_tokens":2}'


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_usage_is_recorded_and_read_again(fresh, output, read, written, written_1h):
    """What the provider reported comes back as it was."""
    usage = Usage(fresh, output, read, written, written_1h)
    record = UsageReported.of(usage)
    assert decode_record(encode_record(record)).usage == usage
    assert record.input_tokens == fresh + read + written


def test_usage_with_less_input_than_was_cached_has_no_fresh_tokens():
    """Other programs write records, too: no count is below zero."""
    assert UsageReported(10, 0, 8, 5).usage == Usage(0, 0, 8, 5)


def test_origin_is_recorded_without_its_password():
    """In a record and in a header, in those that are made and those that are read (R64)."""
    address, shown = "postgresql://me:s3cret@host/db#chat", "postgresql://me:***@host/db#chat"
    assert ForkedFrom(address).origin == shown
    assert Header(conversation="x", origin=address).origin == shown
    assert decode_record(b'{"type":"origin","origin":"%b"}' % address.encode()) == ForkedFrom(shown)
