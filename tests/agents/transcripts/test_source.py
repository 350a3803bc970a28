import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import TranscriptError
from redline.agents.transcripts import source as module
from redline.agents.transcripts.source import Source, decode_line, index_lines


def index(tmp_path, content):
    path = tmp_path / "s.jsonl"
    path.write_bytes(content)
    source = Source(path)
    return source, index_lines(source, decode_line)


def test_lines_are_found_again_by_position(tmp_path):
    """A position leads back to the very bytes of its record, whatever the line breaks."""
    source, found = index(tmp_path, b'{"a":1}\r\n\n{"b":"\xc3\xa9"}\n{"c":3}')
    assert [(position.line, source.decode(position)) for position, _ in found.records] == [
        (1, {"a": 1}),
        (3, {"b": "é"}),
        (4, {"c": 3}),
    ]


def test_bad_line_is_reported_and_the_rest_is_read(tmp_path):
    """A line that is not JSON is named with its line and column."""
    _, found = index(tmp_path, b'{"a":1}\n{"b": nope}\n{"c":3}\n')
    assert [record for _, record in found.records] == [{"a": 1}, {"c": 3}]
    (problem,) = found.problems
    assert (problem.line, problem.column) == (2, 7)
    assert "not JSON" in problem.reason


@pytest.mark.parametrize("line", [b"42", b'"text"', b"[1]", b"null"])
def test_line_that_is_no_object_is_reported(tmp_path, line):
    """A record is an object; anything else is reported."""
    _, found = index(tmp_path, line + b'\n{"a":1}\n')
    assert [record for _, record in found.records] == [{"a": 1}]
    assert "must be a JSON object" in found.problems[0].reason


def test_records_glued_to_one_line_are_both_read(tmp_path):
    """When a line break between two writes was lost, both records are read and the line is reported."""
    source, found = index(tmp_path, '{"a":"é"}{"b":2}\n'.encode())
    assert [source.decode(position) for position, _ in found.records] == [{"a": "é"}, {"b": 2}]
    assert len(found.problems) == 1


def test_lone_surrogates_and_a_byte_order_mark_are_read(tmp_path):
    """What the fast parser refuses is still read."""
    _, found = index(tmp_path, b'\xef\xbb\xbf{"a":"\\ud83d"}\n')
    assert [record for _, record in found.records] == [{"a": "\ud83d"}]


def test_torn_last_line_is_reported(tmp_path):
    """A crash while writing leaves half a line; it is reported, not raised."""
    _, found = index(tmp_path, b'{"a":1}\n{"b":"tor')
    assert len(found.records) == 1
    assert found.problems[0].line == 2


def test_missing_file_is_a_clear_error(tmp_path):
    """The error names the file and what to do."""
    with pytest.raises(TranscriptError, match=r"nowhere\.jsonl cannot be opened: No such file"):
        Source(tmp_path / "nowhere.jsonl")


@given(lines=st.lists(st.binary(max_size=40).filter(lambda line: b"\n" not in line), max_size=12), size=st.integers(1, 64))
def test_lines_do_not_depend_on_how_the_file_is_cut(tmp_path_factory, lines, size):
    """Whatever pieces a file is read in, its lines are the same."""
    path = tmp_path_factory.mktemp("lines") / "f"
    path.write_bytes(b"\n".join(lines))
    whole, before = [bytes(line) for line in Source(path).lines()], module._CHUNK_BYTES
    module._CHUNK_BYTES = size
    try:
        pieced = [bytes(line) for line in Source(path).lines()]
    finally:
        module._CHUNK_BYTES = before
    expected = path.read_bytes().split(b"\n")
    assert pieced == whole == (expected if expected[-1] else expected[:-1])
