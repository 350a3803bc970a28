import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redline.agents.mending import Fix, LineEdits, ListEdits, Splice, apply_splices
from redline.agents.transcripts import Position
from redline.agents.transcripts.document import open_document
from redline.agents.transcripts.source import Source

FIX = Fix("change", "because")


def test_splices_come_in_the_order_of_the_file():
    """Whatever the order they are given in, each is applied at its place."""
    splices = [Splice(4, 5, b"E"), Splice(0, 1, b""), Splice(2, 2, b"-")]
    assert apply_splices(splices, b"abcdef") == b"b-cdEf"


def test_what_is_inserted_comes_before_what_is_removed_at_the_same_place():
    """An insertion where removed bytes begin is not lost with them."""
    assert apply_splices([Splice(1, 3, b""), Splice(1, 1, b"X")], b"abcd") == b"aXd"


@given(st.binary(), st.data())
def test_all_else_stays(content, data):
    """Outside of a splice every byte is as it was."""
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    assert apply_splices([Splice(start, end, b"new")], content) == content[:start] + b"new" + content[end:]


def test_a_record_is_read_with_the_changes_so_far(tmp_path):
    """A second change sees the first; a record that is removed is still known, but does not stay."""
    path = tmp_path / "x"
    path.write_bytes(b"one\ntwo\n")
    edits, one, two = LineEdits(Source(path)), Position(0, 3, 1), Position(4, 3, 2)
    edits.replace(one, b"1", FIX)
    edits.remove(two, FIX)
    assert (edits.read(one), edits.read(two)) == (b"1", b"two")
    assert (edits.stays(one), edits.stays(two)) == (True, False)
    assert edits.fixes == [FIX, FIX]


# --- lines


def edited_lines(tmp_path, content, change):
    path = tmp_path / "x"
    path.write_bytes(content)
    edits = LineEdits(Source(path))
    change(edits)
    return apply_splices(edits.splices(), content)


A, B = Position(0, 3, 1), Position(4, 3, 2)


def test_a_line_goes_with_its_line_break(tmp_path):
    """Nothing of it is left, not even an empty line."""
    assert edited_lines(tmp_path, b"{1}\n{2}\n", lambda edits: edits.remove(A, FIX)) == b"{2}\n"
    assert edited_lines(tmp_path, b"{1}\n{2}", lambda edits: edits.remove(B, FIX)) == b"{1}\n"


def test_a_record_glued_to_another_goes_alone(tmp_path):
    """Of two records on one line the other keeps the line."""
    glued = Position(3, 3, 1)
    assert edited_lines(tmp_path, b"{1}{2}\n{3}\n", lambda edits: edits.remove(A, FIX)) == b"{2}\n{3}\n"
    assert edited_lines(tmp_path, b"{1}{2}\n{3}\n", lambda edits: edits.remove(glued, FIX)) == b"{1}\n{3}\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{1}\n{2}\n", b"{1}\n{n}\n{2}\n"),
        (b"{1}", b"{1}\n{n}\n"),
        (b"{1}{2}\n", b"{1}\n{n}\n{2}\n"),
    ],
)
def test_a_new_line_comes_after_another(tmp_path, content, expected):
    """Also at the end of a file without a line break, and between records that are glued together."""
    assert edited_lines(tmp_path, content, lambda edits: edits.add_after(A, b"{n}", FIX)) == expected


def test_a_new_line_comes_before_another(tmp_path):
    """Several keep their order."""

    def change(edits):
        edits.add_before(B, b"{n}", FIX)
        edits.add_before(B, b"{m}", FIX)

    assert edited_lines(tmp_path, b"{1}\n{2}\n", change) == b"{1}\n{n}\n{m}\n{2}\n"


def test_line_breaks_are_those_of_the_file(tmp_path):
    """A file from Windows gets lines as it has them."""
    line = Position(0, 4, 1)
    assert edited_lines(tmp_path, b"{1}\r\n", lambda edits: edits.add_after(line, b"{n}", FIX)) == b"{1}\r\n{n}\r\n"


def test_a_line_moves_to_the_end_with_those_added_after_it(tmp_path):
    """What was added after a line goes with it; a missing line break at the end is made up for."""

    def change(edits):
        edits.add_after(A, b"{n}", FIX)
        edits.move_last(A, FIX)
        edits.add_last(b"{m}", FIX)

    assert edited_lines(tmp_path, b"{1}\n{2}", change) == b"{2}\n{1}\n{n}\n{m}\n"


# --- a list


def edited_list(path, content, change):
    path.write_bytes(content)
    source = Source(path)
    document = open_document(source)
    items = [position for position, _ in document.positions_of(document.whole)]
    edits = ListEdits(source, items)
    change(edits, items)
    return apply_splices(edits.splices(), content)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.booleans(), min_size=1, max_size=6), st.sampled_from([None, 1]), st.data())
def test_the_list_stays_a_list(tmp_path, goes, indent, data):
    """Whichever items go, and wherever others come between those that stay, the rest is there in its order."""
    values = [{"n": number} for number in range(len(goes))]
    left = [number for number, gone in enumerate(goes) if not gone]
    after = data.draw(st.sampled_from(left)) if left else None
    before = data.draw(st.sampled_from(left)) if left else None

    def change(edits, items):
        for number, gone in enumerate(goes):
            if gone:
                edits.remove(items[number], FIX)
        if left:
            edits.add_after(items[after], b'{"n": "after"}', FIX)
            edits.add_before(items[before], b'{"n": "before"}', FIX)

    expected = []
    for number in left:
        expected += ["before"] * (number == before) + [number] + ["after"] * (number == after)
    result = edited_list(tmp_path / "x.json", json.dumps(values, indent=indent).encode(), change)
    assert [item["n"] for item in json.loads(result)] == expected


def test_a_new_item_is_separated_as_the_others_are(tmp_path):
    """A list with a line for each item gets a line for the new one."""
    content = b'[\n  {"a": 1},\n  {"b": 2}\n]\n'
    result = edited_list(tmp_path / "x.json", content, lambda edits, items: edits.add_after(items[1], b"{}", FIX))
    assert result == b'[\n  {"a": 1},\n  {"b": 2},\n  {}\n]\n'


def test_what_is_no_item_stays(tmp_path):
    """Something between two items that is not theirs is not taken along."""
    content = b'[{"a": 1}, 5, {"b": 2}]'
    path = tmp_path / "x.json"
    path.write_bytes(content)
    source = Source(path)
    document = open_document(source)
    first, _, last = [position for position, _ in document.positions_of(document.whole)]
    edits = ListEdits(source, [first, last])
    edits.remove(first, FIX)
    assert apply_splices(edits.splices(), content) == b'[5, {"b": 2}]'
    edits = ListEdits(source, [first, last])
    edits.remove(last, FIX)
    assert apply_splices(edits.splices(), content) == b'[{"a": 1}, 5]'
