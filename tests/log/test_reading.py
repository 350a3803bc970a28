import logging

from hypothesis import given
from hypothesis import strategies as st

from redline.log import codec
from redline.log.durable import Torn
from redline.log.log import ROOT
from redline.log.reading import Reading
from redline.log.records import PinSet


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
    reading = Reading(lambda place: f"place {place}")
    assert numbers(reading, lines) == whole(batches, damaged)
    assert [torn.place for torn in reading.torn] == ([f"place {at}" for at in sorted(damaged) if at < count] if is_left else [])


def whole(batches, damaged):
    """The same by definition: an append is shown if none of it is damaged and its parent is the root or shown."""
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
    reading = Reading(str)
    assert numbers(reading, [lines[0], (1, b"damaged")]) == [0]
    assert numbers(reading, lines[2:], expected=1) == [3]


def test_damage_is_logged_once(caplog):
    """Looking again at the same place says nothing new."""
    reading = Reading(str)
    with caplog.at_level(logging.WARNING):
        reading.report(7, Torn("seven", 1))
        reading.report(7, Torn("seven", 1))
    assert reading.torn == (Torn("seven", 1),)
    assert len(caplog.records) == 1
