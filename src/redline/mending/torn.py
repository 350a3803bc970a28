"""A last line that a crash tore: whatever the agent appends would be glued to it, so it is cut off."""

from redline.mending.fixes import Fix, excerpt
from redline.mending.line_edits import LineEdits
from redline.transcripts.base import Position
from redline.transcripts.detect import take_sample
from redline.transcripts.source import Source, decode_line, index_lines

__all__ = ["cut_torn_line"]


def cut_torn_line(source: Source, content: bytes) -> LineEdits:
    """Take out what stands behind the last line break and is not JSON. Bad lines elsewhere harm nobody and stay."""
    edits = LineEdits(source)
    if take_sample(source).document is not None:
        return edits
    start = _end_of_records(source, content)
    if content[start:].strip():
        torn = Position(start, len(content) - start, content.count(b"\n") + 1)
        words = excerpt(content[start:].decode("utf-8", "replace"))
        edits.remove(torn, Fix("remove", "torn by a crash while it was written", torn.line, text=words))
    return edits


def _end_of_records(source: Source, content: bytes) -> int:
    """Where the last line begins, or where the last whole record in it ends."""
    start = content.rfind(b"\n") + 1
    if not content[start:].strip():
        return len(content)
    ends = (position.offset + position.length for position, _ in index_lines(source, decode_line).records)
    return max(start, *ends)
