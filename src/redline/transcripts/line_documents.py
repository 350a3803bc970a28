"""A line that holds whole lists of messages: a document of its own, in which positions count from the line."""

from redline.errors import TranscriptError
from redline.transcripts.base import Position
from redline.transcripts.document import Document, parse_document
from redline.transcripts.source import Line

__all__ = ["in_file", "parse_line"]


def parse_line(line: Line) -> Document:
    """The object in a line. Anything else is a ValueError, so that a bad line among others is listed and not raised."""
    try:
        document = parse_document(bytes(line), "the line")
    except TranscriptError as refused:
        raise ValueError(str(refused)) from refused
    if isinstance(document.value, list):
        raise ValueError("a record must be a JSON object, not a list")
    return document


def in_file(position: Position, line: Position) -> Position:
    """Where something in a line stands in the file."""
    return Position(line.offset + position.offset, position.length, line.line)
