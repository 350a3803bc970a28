import datetime

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redline.errors import ValidationError
from redline.record import codec
from redline.record.backends.memory import MemoryLog
from redline.record.codec import accept, check_record
from redline.record.log import ROOT
from redline.record.opening import open_log
from redline.record.records import (
    Checkpoint,
    ForkedFrom,
    HeadMoved,
    MessageAdded,
    PinSet,
    RolledBack,
    Strike,
    StrikesApplied,
    UsageReported,
    ViewChanged,
)
from tests.record.logs import KINDS, new_address, records

NAN, NOW = float("nan"), datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def nested(depth):
    """An object in an object in an object."""
    value = {}
    for _ in range(depth):
        value = {"a": value}
    return value


def strike(**changes):
    return Strike(**{"number": 0, "rule": "r", "index": 0, "at": ("content", 0), "replacement": None, "because": "old"}
                  | {"tokens_before": 9, "tokens_after": 1} | changes)  # fmt: skip


WRONG = [
    (MessageAdded(b"{}", NOW), r"timestamp_ms of a message must be milliseconds since 1970, a number, not datetime"),
    (MessageAdded(b"{}", "noon"), r"timestamp_ms .* not str"),
    (MessageAdded(b"{}", True), r"timestamp_ms .* not bool"),
    (MessageAdded(b"{}", NAN), r"timestamp_ms .* is not a number"),
    (MessageAdded(b"{}", float("inf")), r"timestamp_ms .* too far from 1970"),
    (MessageAdded(b"{}", 10**400), r"timestamp_ms .* too far from 1970"),
    (MessageAdded("{}"), r"MessageAdded\.payload must be bytes, not str"),
    (MessageAdded({"role": "user"}), r"MessageAdded\.payload must be bytes, not dict"),
    (StrikesApplied((strike(because=None),)), r"StrikesApplied\.strikes\[0\]\.because must be str, not NoneType"),
    (StrikesApplied((strike(), strike(tokens_after=1.5))), r"strikes\[1\]\.tokens_after must be int, not 1\.5"),
    (StrikesApplied((), now=NOW), r"StrikesApplied\.now must be float \| null, not datetime"),
    (StrikesApplied((), now=True), r"StrikesApplied\.now must be float \| null, not bool"),
    (StrikesApplied((), now=NAN), r"StrikesApplied\.now must be what JSON can hold, not nan"),
    (StrikesApplied((), now=10**400), r"StrikesApplied record cannot be written: Number out of range"),
    (StrikesApplied((strike(because="\ud83d"),), now=NAN), r"StrikesApplied\.now must be what JSON can hold, not nan"),
    (StrikesApplied((strike(replacement={"a": [NAN]}),)), r"replacement\['a'\]\[0\] must be what JSON can hold, not nan"),
    (StrikesApplied((strike(replacement=nested(600)),)), "cannot be written: maximum recursion depth"),
    (StrikesApplied((strike(replacement=nested(100_000)),)), "cannot be written: maximum recursion depth"),
    (StrikesApplied((strike(replacement={"n": 10**5000}),)), "StrikesApplied record cannot be written: Exceeds the limit"),
    (StrikesApplied((strike(replacement={"n": object()}),)), "StrikesApplied record cannot be written: .*object"),
    (StrikesApplied((strike(because="\ud83d", replacement=nested(600)),)), "cannot be written: maximum recursion depth"),
    (HeadMoved((strike(rule=None),)), r"HeadMoved\.strikes\[0\]\.rule must be str, not NoneType"),
    (UsageReported("12"), r"UsageReported\.input_tokens must be int, not str"),
    (PinSet(0, 1), r"PinSet\.is_pinned must be bool, not int"),
    (RolledBack(None), r"RolledBack\.batch must be int, not NoneType"),
    (ForkedFrom(None), r"ForkedFrom\.origin must be str, not NoneType"),
    (ViewChanged(((0, "1"),)), r"ViewChanged\.indices\[0\]\[1\] must be int, not str"),
    (ViewChanged((), ("text",)), r"ViewChanged record cannot be written: its payloads must be bytes, not str"),
    (Checkpoint("m", "known", {}), r"Checkpoint record cannot be written"),
    (Checkpoint("m", b"{}", {"a": NAN}), r"Checkpoint\.votes\['a'\]|Checkpoint record cannot be written"),
    ({"type": "message"}, "A log takes records, not dict"),
    (None, "A log takes records, not NoneType"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "problem"), WRONG, ids=range(len(WRONG)))
def test_wrong_value_is_refused_with_its_name(record, problem):
    """A value of the wrong type is refused, with the field, what belongs there and what was given (R51)."""
    with pytest.raises(ValidationError, match=problem):
        accept([record])
    with pytest.raises(ValidationError, match=problem):
        check_record(record)


@given(records())
def test_right_record_is_encoded(record):
    """Any record whose fields have their types is accepted, and comes back."""
    (body,) = accept([record])
    check_record(record)
    assert codec.decode_record(body) == record


def test_lists_for_tuples_are_accepted():
    """A list is what a tuple is read from."""
    (body,) = accept([StrikesApplied([strike(at=["content", 0], replacement={"a": (1, 2)})], now=5)])
    assert codec.decode_record(body) == StrikesApplied((strike(replacement={"a": [1, 2]}),), now=5.0)


# --- all logs

anything = st.sampled_from(
    [
        *(None, True, -1, 1.5, NAN, float("inf"), 10**400, 10**5000, 2**70, "noon", "\ud83d", b"{}", b"\xff", NOW, object()),
        *((), {}, {"a": NAN}, {1: {2}}, [[]], nested(300), nested(600), nested(2000)),
    ]
)


@st.composite
def altered_records(draw):
    """Any record, one field of which holds something else; or a strike in it."""
    record = draw(records())
    if getattr(record, "strikes", ()) and draw(st.booleans()):
        inner = record.strikes[0]
        changed = msgspec.structs.replace(inner, **{draw(st.sampled_from(inner.__struct_fields__)): draw(anything)})
        return msgspec.structs.replace(record, strikes=(changed, *record.strikes[1:]))
    return msgspec.structs.replace(record, **{draw(st.sampled_from(record.__struct_fields__)): draw(anything)})


@pytest.mark.parametrize("kind", ["memory", *KINDS])
def test_what_a_log_accepts_it_reads_again(kind, tmp_path, request):
    """For every type of record with any field altered: it is read again, or it is refused and nothing is written (R2, R51)."""
    address = None if kind == "memory" else new_address(kind, tmp_path, request)
    log = MemoryLog() if address is None else open_log(address, durability="os")
    accepted = []

    @settings(suppress_health_check=list(HealthCheck))
    @given(st.lists(altered_records() | records(), min_size=1, max_size=3))
    def try_to_append(batch):
        try:
            log.append(batch, parent=len(accepted) - 1)
        except ValidationError:
            return
        accepted.extend(batch)

    try_to_append()
    read = list((open_log(address) if address else log).read())
    assert [stored.number for stored in read] == list(range(len(accepted)))
    assert [accept([stored.record]) for stored in read] == [accept([record]) for record in accepted]
    assert accepted
    assert log.append([MessageAdded(b"{}")], parent=ROOT) == len(accepted)


# --- the caller's hook


def after(record, redact):
    """A record as it is read once the hook has seen it."""
    (body,) = accept([record], redact)
    return codec.decode_record(body)


@given(records())
def test_hook_that_changes_nothing_changes_no_byte(record):
    """What is written is what would be written without a hook."""
    assert accept([record], bytes) == accept([record])


def test_time_of_a_message_stays():
    """Only the payload passes the hook."""
    assert after(MessageAdded(b"a", 1.5), bytes.upper) == MessageAdded(b"A", 1.5)


def test_strike_that_is_no_record_any_more_is_refused():
    """A hook that breaks the JSON of a record is told so, and nothing is written."""
    strikes = StrikesApplied((strike(replacement="secret"),))
    with pytest.raises(
        ValidationError, match=r"made a StrikesApplied record unreadable .* inside JSON strings only. Nothing was written"
    ):
        accept([strikes], lambda content: content.replace(b'"secret"', b"gone"))


def test_strike_with_invalid_text_passes_the_hook_readable():
    """The hook sees text, not a wrapping of it."""
    strikes = StrikesApplied((strike(replacement="\ud83d secret"),))
    changed = after(strikes, lambda content: content.replace(b"secret", b"gone"))
    assert changed.strikes[0].replacement == "\ud83d gone"


@pytest.mark.parametrize("record", [MessageAdded(b"{}"), PinSet(0)])
def test_hook_must_give_bytes(record):
    """Text instead of bytes is refused before anything is written."""
    with pytest.raises(ValidationError, match=r"must give bytes, not str. Nothing was written"):
        accept([record], bytes.decode)


@pytest.mark.parametrize("answer", [b"[redacted]", b'{"role":"user","content":', b"7", b""])
def test_message_that_is_none_any_more_is_refused(answer):
    """A hook that breaks a message is told so: stored, it could never be read as a message again (R51)."""
    for record in (MessageAdded(b'{"role":"user"}'), ViewChanged((), (b'{"role":"user"}',))):
        with pytest.raises(ValidationError, match=r"made a message unreadable .* Nothing was written"):
            accept([record], lambda _: answer)
