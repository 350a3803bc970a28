import logging
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.errors import LogError
from redline.record import codec
from redline.record.log import ROOT, Torn
from redline.record.reading import RecordReader
from redline.record.records import VERSION, MessageAdded, PinSet


def appended(batches):
    """Lines of appends, each a number of records and their parent."""
    lines = []
    for count, parent in batches:
        lines += codec.sealed_lines([codec.encode_record(PinSet(0))] * count, first=len(lines), parent=parent)
    return lines


def numbers(reading, lines, expected=0):
    return [stored.number for stored in reading.records(lines, expected=expected)]


@given(st.data())
def test_shown_is_what_hangs_on_nothing_damaged(data):
    """With any lines damaged or gone, exactly those appends are shown that are whole and whose ancestors all are."""
    batches, count = [], 0
    for size in data.draw(st.lists(st.integers(1, 3), max_size=8)):
        batches.append((size, data.draw(st.integers(ROOT, count - 1))))
        count += size
    damaged = data.draw(st.sets(st.integers(0, max(count - 1, 0))))
    is_left = data.draw(st.booleans())
    lines = [
        (at, b"damaged" if at in damaged else line) for at, line in enumerate(appended(batches)) if is_left or at not in damaged
    ]
    reading = RecordReader(lambda place: f"place {place}")
    assert numbers(reading, lines) == whole(batches, damaged)
    assert [torn.place for torn in reading.torn] == ([f"place {at}" for at in sorted(damaged) if at < count] if is_left else [])


def whole(batches, damaged):
    """By definition an append is shown if none of it is damaged and its parent is the root or shown."""
    shown, first = set(), 0
    for size, parent in batches:
        own = set(range(first, first + size))
        if not own & damaged and (parent == ROOT or parent in shown):
            shown |= own
        first += size
    return sorted(shown)


def test_loss_is_remembered_from_one_time_to_the_next():
    """What comes later and was made on a lost record is not shown either."""
    lines = list(enumerate(appended([(1, ROOT), (1, 0), (1, 1), (1, 0)])))
    reading = RecordReader(str)
    assert numbers(reading, [lines[0], (1, b"damaged")]) == [0]
    assert numbers(reading, lines[2:], expected=1) == [3]


def test_damage_is_logged_once(caplog):
    """Looking again at the same place says nothing new."""
    reading = RecordReader(str)
    with caplog.at_level(logging.WARNING):
        reading.report(7, Torn("seven", 1))
        reading.report(7, Torn("seven", 1))
    assert reading.torn == (Torn("seven", 1),)
    assert len(caplog.records) == 1


def unreadable(number, parent, record):
    """A line with a checksum that is right, and a record that is none."""
    (line,) = codec.sealed_lines([record], first=number, parent=parent)
    return line


@pytest.mark.parametrize(
    "record",
    [
        b'{"type":"pin","index":"seven"}',
        b'{"type":"unheard of"}',
        b'{"type":"strikes","strikes":[{"because":null}]}',
        b'{"type":"usage","input_tokens":1' + b"0" * 5000 + b"}",
        b'{"type":"pin","index":0,"x":' + b"[" * 3000 + b"]" * 3000 + b"}",
        b'"bm90IGpzb24="',
        b'"WzFd"',
        b"[]",
        b"7",
    ],
)
def test_record_beyond_a_reader_is_passed_over(record, caplog):
    """It is reported with the reason like damage, what was made on it is not shown, and all else is read (R51)."""
    lines = appended([(1, ROOT), (1, 0), (1, 1), (1, 0)])
    lines[1] = unreadable(1, 0, record)
    reading = RecordReader(lambda place: f"place {place}")
    with caplog.at_level(logging.WARNING):
        assert numbers(reading, enumerate(lines)) == [0, 3]
    assert [torn.place for torn in reading.torn] == ["place 1"]
    assert "place 1 cannot be read: it is intact but no record that this Redline knows (" in caplog.text


def test_message_with_an_unreadable_time_is_read_without(caplog):
    """Such records were once accepted: the words are shown, the time is left out, and what follows is not lost (R2)."""
    lines = appended([(1, ROOT), (1, 0), (1, 1)])
    lines[1] = unreadable(1, 0, b'{"type":"message","payload":{"b": 1E2,"a":1},"timestamp_ms":"2026-01-01T00:00:00"}')
    reading = RecordReader(lambda place: f"place {place}")
    with caplog.at_level(logging.WARNING):
        read = [stored.record for stored in reading.records(enumerate(lines), expected=0)]
        list(reading.records(enumerate(lines), expected=0))
    assert read == [PinSet(0), MessageAdded(b'{"b": 1E2,"a":1}'), PinSet(0)]
    assert reading.torn == ()
    assert caplog.text.count("place 1 is read without its timestamp_ms (Expected `float | null`, got `str`") == 1


def test_record_of_a_newer_version_is_an_error():
    """To go on beside it could spoil what the newer Redline knows."""
    line = appended([(1, ROOT)])[0].replace(b'"version":%d' % VERSION, b'"version":%d' % (VERSION + 1))
    with pytest.raises(LogError, match="place 0 cannot be read: it was written by a newer Redline"):
        numbers(RecordReader(lambda place: f"place {place}"), [(0, resealed(line))])


def resealed(line):
    return b'{"crc":"%08x",' % zlib.crc32(line[18:]) + line[18:]
