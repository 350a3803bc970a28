import pytest

from redline.mending.edits import apply
from redline.mending.fixes import Fix
from redline.mending.line_edits import LineEdits
from redline.transcripts.base import Position
from redline.transcripts.source import Source

FIX = Fix("change", "because")


def edited(tmp_path, content, change):
    path = tmp_path / "x"
    path.write_bytes(content)
    edits = LineEdits(Source(path))
    change(edits)
    return apply(edits.splices(), content)


A, B = Position(0, 3, 1), Position(4, 3, 2)


def test_a_line_goes_with_its_line_break(tmp_path):
    """Nothing of it is left, not even an empty line."""
    assert edited(tmp_path, b"{1}\n{2}\n", lambda edits: edits.remove(A, FIX)) == b"{2}\n"
    assert edited(tmp_path, b"{1}\n{2}", lambda edits: edits.remove(B, FIX)) == b"{1}\n"


def test_a_record_glued_to_another_goes_alone(tmp_path):
    """Of two records on one line the other keeps the line."""
    glued = Position(3, 3, 1)
    assert edited(tmp_path, b"{1}{2}\n{3}\n", lambda edits: edits.remove(A, FIX)) == b"{2}\n{3}\n"
    assert edited(tmp_path, b"{1}{2}\n{3}\n", lambda edits: edits.remove(glued, FIX)) == b"{1}\n{3}\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{1}\n{2}\n", b"{1}\n{n}\n{2}\n"),
        (b"{1}", b"{1}\n{n}\n"),
        (b"{1}{2}\n", b"{1}\n{n}\n{2}\n"),
    ],
)
def test_a_new_line_comes_behind_another(tmp_path, content, expected):
    """Also at the end of a file without a line break, and between records that are glued together."""
    assert edited(tmp_path, content, lambda edits: edits.add_behind(A, b"{n}", FIX)) == expected


def test_a_new_line_comes_before_another(tmp_path):
    """Several keep their order."""

    def change(edits):
        edits.add_before(B, b"{n}", FIX)
        edits.add_before(B, b"{m}", FIX)

    assert edited(tmp_path, b"{1}\n{2}\n", change) == b"{1}\n{n}\n{m}\n{2}\n"


def test_line_breaks_are_those_of_the_file(tmp_path):
    """A file from Windows gets lines as it has them."""
    line = Position(0, 4, 1)
    assert edited(tmp_path, b"{1}\r\n", lambda edits: edits.add_behind(line, b"{n}", FIX)) == b"{1}\r\n{n}\r\n"


def test_a_line_moves_to_the_end_with_those_behind_it(tmp_path):
    """What was put behind a line goes with it; a missing line break at the end is made up for."""

    def change(edits):
        edits.add_behind(A, b"{n}", FIX)
        edits.move_last(A, FIX)
        edits.add_last(b"{m}", FIX)

    assert edited(tmp_path, b"{1}\n{2}", change) == b"{2}\n{1}\n{n}\n{m}\n"
