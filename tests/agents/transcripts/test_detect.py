import json

import pytest

from redline import TranscriptError
from redline.agents.transcripts.detect import take_sample
from redline.agents.transcripts.source import Source


def sample(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    return take_sample(Source(path))


def test_file_of_lines(tmp_path):
    """A file of lines gives its first objects; comments and a torn line are passed over."""
    found = sample(tmp_path, b'// note\n{"a":1}\n{"b":2}\n{"c":')
    assert found.records == ({"a": 1}, {"b": 2})
    assert found.document is None


def test_one_value_over_many_lines(tmp_path):
    """A pretty-printed document is one value, even if lines of it look like records."""
    found = sample(tmp_path, json.dumps({"info": {}, "messages": [{"a": 1}]}, indent=1).encode())
    assert found.records == ()
    assert set(found.document) == {"info", "messages"}


def test_one_line_may_be_either(tmp_path):
    """A single line is a file of one record and a document at once."""
    found = sample(tmp_path, b'{"messages":[]}\n')
    assert found.records == ({"messages": []},)
    assert "messages" in found.document


def test_very_long_first_line(tmp_path):
    """A first line of megabytes does not make a file of lines anything else."""
    found = sample(tmp_path, b'{"a":"' + b"x" * 3_000_000 + b'"}\n{"b":2}\n')
    assert [list(record) for record in found.records] == [["a"]]
    assert found.document is None


def test_list(tmp_path):
    """A list is a document."""
    assert [bytes(item) for item in sample(tmp_path, b"[1, {}]").document] == [b"1", b"{}"]


def test_archive(tmp_path):
    """A zip file is known by its first bytes."""
    assert sample(tmp_path, b"PK\x03\x04rest").is_archive


@pytest.mark.parametrize("content", [b"", b"hello", b"\x00\xff\x00", b'{"a":'])
def test_anything_else_is_a_clear_error(tmp_path, content):
    """What is neither lines, nor a value, nor an archive is refused in one sentence."""
    with pytest.raises(TranscriptError, match="file"):
        sample(tmp_path, content)
