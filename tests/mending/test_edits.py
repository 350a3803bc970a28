from hypothesis import given
from hypothesis import strategies as st

from redline.mending.edits import Splice, apply
from redline.mending.fixes import Fix
from redline.mending.line_edits import LineEdits
from redline.transcripts.base import Position
from redline.transcripts.source import Source

FIX = Fix("change", "because")


def test_splices_come_in_the_order_of_the_file():
    """Whatever the order they are given in, each stands at its place."""
    splices = [Splice(4, 5, b"E"), Splice(0, 1, b""), Splice(2, 2, b"-")]
    assert apply(splices, b"abcdef") == b"b-cdEf"


def test_what_comes_stands_before_what_goes_at_the_same_place():
    """An insertion at the beginning of a stretch that goes is not lost with it."""
    assert apply([Splice(1, 3, b""), Splice(1, 1, b"X")], b"abcd") == b"aXd"


@given(st.binary(), st.data())
def test_all_else_stays(content, data):
    """Outside of a splice every byte is as it was."""
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    assert apply([Splice(start, end, b"new")], content) == content[:start] + b"new" + content[end:]


def test_a_record_is_read_as_it_is_by_now(tmp_path):
    """A second change sees the first; a record that goes is still known, but does not stay."""
    path = tmp_path / "x"
    path.write_bytes(b"one\ntwo\n")
    edits, one, two = LineEdits(Source(path)), Position(0, 3, 1), Position(4, 3, 2)
    edits.replace(one, b"1", FIX)
    edits.remove(two, FIX)
    assert (edits.read(one), edits.read(two)) == (b"1", b"two")
    assert (edits.stays(one), edits.stays(two)) == (True, False)
    assert edits.fixes == [FIX, FIX]
