from redline import read_transcript
from redline.formats import FORMATS
from redline.lists.check import check
from redline.mending.leaf import keep_last, placeholder, why_placeholder, would_be_replaced
from redline.mending.line_edits import LineEdits
from redline.transcripts.source import Source
from tests.mending.sessions import claude_line, neovate_line, write


def test_the_end_stays_the_end(tmp_path):
    """A line with a branch behind it moves to the end of the file; one with none does not."""
    path = write(tmp_path, [neovate_line("1", None), neovate_line("x", "1"), neovate_line("2", "1")])
    (conversation,) = read_transcript(path)
    first, last = (entry.positions[0] for entry in conversation.entries)
    edits = LineEdits(Source(path))
    keep_last(conversation, last, edits)
    assert edits.fixes == []
    keep_last(conversation, first, edits)
    assert [(fix.action, fix.line) for fix in edits.fixes] == [("move", 1)]


def test_what_would_take_the_place_of_a_conversation(tmp_path):
    """An earlier window, a branch or a sub-agent; a file of one conversation has nothing else."""
    alone = [claude_line("1", None)]
    branch = [claude_line("x", None), claude_line("1", None)]
    subagent = [claude_line("s", None, isSidechain=True), claude_line("1", None)]
    earlier = [claude_line("0", None), claude_line("b", None, "system", subtype="compact_boundary"), claude_line("1", "b")]
    for records, expected in ((alone, False), (branch, True), (subagent, True), (earlier, True)):
        (conversation,) = read_transcript(write(tmp_path, records))
        assert would_be_replaced(conversation) is expected


def test_a_placeholder_is_legal_alone():
    """In every format it can be sent, and the fix says why it is there."""
    for name, format in FORMATS.items():
        message = placeholder(format)
        assert check([message.native], format=name) == []
        assert why_placeholder(message, 3).place == "after line 3"
