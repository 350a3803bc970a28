"""Stored sessions as a model may see them: the active path of their lines, with interrupted calls cleaned away."""

import logging
from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, NamedTuple

from msgspec.structs import replace

from redline.agents.neovate import StoredLine, active_path
from redline.agents.transcripts.document import head_decoder
from redline.agents.transcripts.source import Source, decode_line, index_lines
from redline.errors import TranscriptError, ValidationError
from redline.files import check_path
from redline.providers.ai_sdk.messages import AiSdk
from redline.repair import clean
from redline.values import payloads
from redline.values.checks import make_list

_log = logging.getLogger("redline.sessions")
_FORMAT = AiSdk()
_head = head_decoder(StoredLine)

Line = dict[str, Any]


def filter_messages(lines: Iterable[Line]) -> list[Line]:
    """The messages on the active path of stored lines, without interrupted calls and results that nobody asked for.

    A message that did not change is the very same object. One whose parent is gone names the nearest parent left, so that
    doing it again finds the same messages.
    """
    given = make_list("lines", lines)
    stored = [_StoredMessage.read(line) for line in given if isinstance(line, dict) and line.get("type") == "message"]
    kept = _visible(stored)
    # A parallel result is on the path only beside another, and a circle ends where it was entered: when cleaning removes that
    # other result or that entrance, the parents named in the lines no longer lead to all that is left. Then each message gets
    # the one before it as its parent.
    while len(active_path([message.head for message in kept]).numbers) < len(kept):
        chain = kept[:1]
        for message in kept[1:]:
            chain.append(message.with_parent(chain[-1].head.uuid))
        kept = _visible(chain)
    return [message.line for message in kept]


def load_session_messages(path: str | PathLike[str], *, skip_bad_lines: bool = False) -> list[Line]:
    """The messages of a session file as `filter_messages` gives them; none if there is no such file.

    A last line that was torn by a crash is skipped and reported. Any other bad line is an error, unless skipped.
    """
    try:
        source = Source(check_path("A session file", path))
    except ValidationError as unnameable:
        if isinstance(path, str | PathLike):
            raise TranscriptError(f"The session file cannot be opened. {unnameable}") from unnameable
        raise
    except TranscriptError as unreadable:
        if isinstance(unreadable.__cause__, FileNotFoundError | NotADirectoryError):
            return []
        raise
    index = index_lines(source, decode_line)
    last = max((position.line or 0 for position, _ in index.records), default=0)
    for problem in index.problems:
        if problem.line < last and not skip_bad_lines:
            raise TranscriptError(
                f"Line {problem.line} of {source.path} cannot be read: {problem.reason} (column {problem.column}). "
                "Pass skip_bad_lines=True to load the rest."
            )
        _log.warning("%s skipped", problem)
    return filter_messages(line for _, line in index.records)


class _StoredMessage(NamedTuple):
    """A stored message, and its place in the tree."""

    line: Line
    head: StoredLine

    @classmethod
    def read(cls, line: Line) -> "_StoredMessage":
        return cls(line, _head(payloads.encode(line)))

    def with_parent(self, parent: str | None) -> "_StoredMessage":
        """The message with another parent."""
        if parent == self.head.parent_uuid:
            return self
        return _StoredMessage({**self.line, "parentUuid": parent}, replace(self.head, parent_uuid=parent))


def _visible(stored: Sequence[_StoredMessage]) -> list[_StoredMessage]:
    """The active path, cleaned; a message whose parent was removed names the nearest ancestor that is left."""
    found = active_path([message.head for message in stored])
    if found.gap is not None:
        head = stored[found.gap].head
        _log.warning("the parent %r of message %r is missing; what came before it is not shown", head.parent_uuid, head.uuid)
    path = [stored[number] for number in found.numbers]
    repair = clean([_FORMAT.read(message.line) for message in path], _FORMAT, "drop")
    for change in repair.changes:
        _log.info("message %r: %s", path[change.index].head.uuid, change.what)
    kept: list[_StoredMessage] = []
    for item in repair.items:
        line, message = payloads.decode(item.message.native), path[item.index]
        kept.append(message if line is message.line else _StoredMessage.read(line))
    parent_of: dict[str, str | None] = {}
    for message in path:
        parent_of.setdefault(message.head.uuid or "", message.head.parent_uuid)
    left = {message.head.uuid for message in kept}
    return [message.with_parent(_nearest(message.head.parent_uuid, parent_of, left)) for message in kept]


def _nearest(parent: str | None, parent_of: dict[str, str | None], left: set[str | None]) -> str | None:
    """The first of the ancestors that is left; a parent that was never there is named as before.

    The ancestors passed on the way get it as their parent, so that no way is gone twice.
    """
    if parent not in parent_of:
        return parent
    passed: dict[str | None, None] = {}
    while parent in parent_of and parent not in left and parent not in passed:
        passed[parent] = None
        parent = parent_of[parent]
    nearest = parent if parent in left else None
    parent_of.update((uuid, nearest) for uuid in passed if uuid is not None)
    return nearest
