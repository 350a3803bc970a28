"""Stored sessions as a model may see them: the active path of their lines, with interrupted calls cleaned away."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from redline import payloads
from redline.errors import TranscriptError
from redline.formats.ai_sdk import AiSdk
from redline.transcripts.heads import head_decoder
from redline.transcripts.neovate import StoredLine, active_path
from redline.transcripts.source import LineIndex, Source, decode_line, index_lines
from redline.view.repair import clean

__all__ = ["filter_messages", "load_session_messages"]

_log = logging.getLogger("redline.sessions")
_FORMAT = AiSdk()
_head = head_decoder(StoredLine)

Line = dict[str, Any]


def filter_messages(lines: Iterable[Line]) -> list[Line]:
    """The messages on the active path of stored lines, without interrupted calls and results that nobody asked for.

    A message that did not change is the very same object. One whose parent is gone names the nearest parent left.
    """
    stored = [line for line in lines if isinstance(line, dict) and line.get("type") == "message"]
    heads = [_head(payloads.encode(line)) for line in stored]
    found = active_path(heads)
    if found.gap is not None:
        _log.warning(
            "the parent %r of message %r is missing; what came before it is not shown",
            heads[found.gap].parent_uuid,
            heads[found.gap].uuid,
        )
    path = [stored[number] for number in found.numbers]
    repair = clean([_FORMAT.read(line) for line in path], _FORMAT, "drop")
    for change in repair.changes:
        _log.info("message %r: %s", path[change.index].get("uuid"), change.what)
    return list(_reparented([payloads.decode(item.message.native) for item in repair.items], path))


def load_session_messages(path: str | PathLike[str], *, skip_bad_lines: bool = False) -> list[Line]:
    """The messages of a session file as `filter_messages` gives them; none if there is no such file.

    A last line that was torn by a crash is skipped and reported. Any other bad line is an error, unless skipped.
    """
    file = Path(path)
    if not file.exists():
        return []
    index = index_lines(Source(file), decode_line)
    _report_bad_lines(file, index, skip_bad_lines=skip_bad_lines)
    return filter_messages(line for _, line in index.records)


def _reparented(kept: Sequence[Line], path: Sequence[Line]) -> Iterator[Line]:
    parent_of: dict[str, str | None] = {}
    for line in path:
        parent_of.setdefault(str(line.get("uuid")), line.get("parentUuid"))
    left = {line.get("uuid") for line in kept}
    for line in kept:
        parent = line.get("parentUuid")
        nearest = _nearest(parent, parent_of, left)
        yield line if nearest == parent else {**line, "parentUuid": nearest}


def _nearest(parent: str | None, parent_of: dict[str, str | None], left: set[Any]) -> str | None:
    """The first of the ancestors that is left; a parent that was never there is named as before."""
    if parent not in parent_of:
        return parent
    passed = set()
    while parent in parent_of and parent not in left and parent not in passed:
        passed.add(parent)
        parent = parent_of[parent]
    return parent if parent in left else None


def _report_bad_lines(file: Path, index: LineIndex[Line], *, skip_bad_lines: bool) -> None:
    last = max((position.line or 0 for position, _ in index.records), default=0)
    for problem in index.problems:
        if problem.line < last and not skip_bad_lines:
            raise TranscriptError(
                f"Line {problem.line} of {file} cannot be read: {problem.reason} (column {problem.column}). "
                "Pass skip_bad_lines=True to load the rest."
            )
        _log.warning("%s skipped", problem)
