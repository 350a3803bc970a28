import pytest

from redline.errors import ValidationError
from redline.log.records import MessageAdded, PinSet, Strike, StrikesApplied, ViewChanged
from redline.log.redaction import redacted


def test_without_a_hook_records_are_the_same():
    """Nothing is copied when nothing is asked for."""
    records = [MessageAdded(b"{}")]
    assert redacted(records, None) is records


def test_time_of_a_message_stays():
    """Only the payload passes the hook."""
    assert redacted([MessageAdded(b"a", 1.5)], bytes.upper) == [MessageAdded(b"A", 1.5)]


def test_strike_that_is_no_record_any_more_is_refused():
    """A hook that breaks the JSON of a record is told so, and nothing is written."""
    strikes = StrikesApplied((Strike(0, "r", 0, (), "secret", "why", 1, 0),))
    with pytest.raises(
        ValidationError, match=r"made a StrikesApplied record unreadable .* inside JSON strings only. Nothing was written"
    ):
        redacted([strikes], lambda content: content.replace(b'"secret"', b"gone"))


def test_strike_with_invalid_text_passes_the_hook_readable():
    """The hook sees text, not a wrapping of it."""
    strikes = StrikesApplied((Strike(0, "r", 0, (), "\ud83d secret", "why", 1, 0),))
    (after,) = redacted([strikes], lambda content: content.replace(b"secret", b"gone"))
    assert after.strikes[0].replacement == "\ud83d gone"


@pytest.mark.parametrize("record", [MessageAdded(b"{}"), PinSet(0)])
def test_hook_must_give_bytes(record):
    """Text instead of bytes is refused before anything is written."""
    with pytest.raises(ValidationError, match=r"must give bytes, not str. Nothing was written"):
        redacted([record], bytes.decode)


@pytest.mark.parametrize("answer", [b"[redacted]", b'{"role":"user","content":', b"7", b""])
def test_message_that_is_none_any_more_is_refused(answer):
    """A hook that breaks a message is told so: stored, it could never be read as a message again (R51)."""
    for record in (MessageAdded(b'{"role":"user"}'), ViewChanged((), (b'{"role":"user"}',))):
        with pytest.raises(ValidationError, match=r"made a message unreadable .* Nothing was written"):
            redacted([record], lambda _: answer)
