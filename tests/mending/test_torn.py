import pytest

from redline import mend_transcript
from redline.mending.edits import apply
from redline.mending.torn import cut_torn_line
from redline.transcripts.source import Source
from tests.mending.sessions import actions, as_lines, claude_line, sound, use, write

LINES = as_lines([claude_line("1", None), claude_line("2", "1")])


def cut(tmp_path, content):
    edits = cut_torn_line(Source(write(tmp_path, content)), content)
    return apply(edits.splices(), content), [fix.line for fix in edits.fixes]


@pytest.mark.parametrize("length", [1, 20, 60])
def test_a_torn_last_line_is_cut_off(tmp_path, length):
    """Or the next line that the agent appends would be glued to it, and lost."""
    assert cut(tmp_path, LINES + LINES[:length]) == (LINES, [3])


def test_what_a_torn_line_is_glued_to_stays(tmp_path):
    """A whole record before it on the same line is not part of it."""
    glued = LINES.removesuffix(b"\n")
    assert cut(tmp_path, glued + b'{"torn') == (glued, [2])


@pytest.mark.parametrize(
    "content", [LINES, LINES.removesuffix(b"\n"), LINES + b"\n", LINES[:20] + b"\n" + LINES, LINES + b"// end\n"]
)
def test_all_else_stays(tmp_path, content):
    """Whole lines without a line break, empty lines, and bad lines that nothing can be glued to."""
    assert cut(tmp_path, content) == (content, [])


def test_one_json_value_has_no_last_line(tmp_path):
    """The last line of a document is not a record."""
    content = b'[\n{"role": "user", "content": "x"}\n]'
    assert cut(tmp_path, content) == (content, [])


def test_a_torn_line_alone_is_something_to_repair(tmp_path):
    """And comes together with what the crash left open."""
    path = write(tmp_path, LINES + as_lines([claude_line("3", "2", "assistant", use("a"))]) + b'{"parentUuid": "3", "mess')
    mending = sound(path)
    assert actions(mending) == [("remove", 3), ("remove", 4)]
    assert mending.content == LINES
    assert mend_transcript(write(tmp_path, LINES + b"{")).content == LINES
