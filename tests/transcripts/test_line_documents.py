import pytest

from redline.transcripts.base import Position
from redline.transcripts.line_documents import in_file, parse_line


def test_positions_count_from_the_line_and_can_be_placed_in_the_file():
    """What stands in a line is found again in the file through the line's own position."""
    before, line = b'{"n": 1}\n', b'{"items": [{"a": 1}, {"b": 2}]}'
    document = parse_line(line)
    found = [in_file(at, Position(len(before), len(line), 2)) for at, _ in document.positions_of(document.fields["items"])]
    assert [(before + line)[at.offset : at.offset + at.length] for at in found] == [b'{"a": 1}', b'{"b": 2}']
    assert {at.line for at in found} == {2}


@pytest.mark.parametrize("line", [b'{"torn": ', b"[1]", b"7", b""])
def test_a_line_that_is_no_object_is_a_value_error(line):
    """It can then be listed among the bad lines of a file."""
    with pytest.raises(ValueError, match=r"\w"):
        parse_line(line)
