import msgspec
from hypothesis import given
from hypothesis import strategies as st

from redline.log.codec import decode_record
from redline.log.log import Header
from redline.log.records import (
    MessageAdded,
    Originated,
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
    st.builds(StrikesApplied, strikes=st.tuples(strikes)),
    st.builds(PinSet, index=st.integers(0, 9)),
    st.builds(UsageReported, input_tokens=st.integers(0, 99)),
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


def test_origin_is_recorded_without_its_password():
    """In a record and in a header, in those that are made and those that are read (R64)."""
    address, shown = "postgresql://me:s3cret@host/db#chat", "postgresql://me:***@host/db#chat"
    assert Originated(address).origin == shown
    assert Header(conversation="x", origin=address).origin == shown
    assert decode_record(b'{"type":"origin","origin":"%b"}' % address.encode()) == Originated(shown)
