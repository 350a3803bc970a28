"""The first look at a session file: whether it is lines, one JSON value, an archive or a database, and what is at its top."""

import re
from contextlib import suppress
from itertools import islice
from typing import Any

from redline.errors import TranscriptError
from redline.transcripts.base import Position
from redline.transcripts.document import open_document
from redline.transcripts.foreign_database import DATABASE_MAGIC, ForeignDatabase
from redline.transcripts.reader import Sample
from redline.transcripts.source import Source, decode_line

__all__ = ["ZIP_MAGIC", "take_sample"]

ZIP_MAGIC = b"PK\x03\x04"
_HEAD_BYTES = 1024 * 1024
_MOST_LINES = 40
_BLANK_BYTES = 64
_LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:\{|\Z)")
_DOCUMENT = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\[\s*(?:\{|\Z)|\{\s*\n)")
"""How a document begins that is written over several lines; records of a file of lines do not."""


def take_sample(source: Source) -> Sample:
    """The sample that readers recognise their own files by. A file that is none of the four is a TranscriptError."""
    name = source.path.name
    if source.read(Position(0, len(DATABASE_MAGIC))) == DATABASE_MAGIC:
        return Sample(name, (), tables=ForeignDatabase(source.path).tables())
    if source.read(Position(0, len(ZIP_MAGIC))) == ZIP_MAGIC:
        return Sample(name, (), is_archive=True)
    line_count, records = _first_lines(source)
    is_list = _LIST.match(source.read(Position(0, _BLANK_BYTES))) is not None
    if line_count > 1 and len(records) * 2 >= line_count and not is_list:  # a few bad lines do not make it anything else
        return Sample(name, records)
    try:
        document = open_document(source)
    except TranscriptError:
        if not records:
            raise
        return Sample(name, records)
    if records and document.salvaged and not _DOCUMENT.match(source.read(Position(0, _BLANK_BYTES))):
        return Sample(name, records)
    return Sample(name, records if line_count == 1 else (), document.value, damage=tuple(document.damage))


def _first_lines(source: Source) -> tuple[int, tuple[dict[str, Any], ...]]:
    """How many lines begin within the first megabyte, blank ones aside, and those of them that are objects."""
    count, read = 0, 0
    records: list[dict[str, Any]] = []
    for line in islice(source.lines(), _MOST_LINES):
        if bytes(line[:_BLANK_BYTES]).strip():
            count += 1
            with suppress(ValueError):  # comments, torn lines and the like are passed over
                records.append(decode_line(line))
        read += len(line)
        if read > _HEAD_BYTES:
            break
    return count, tuple(records)
