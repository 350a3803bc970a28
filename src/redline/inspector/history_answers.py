"""What the page is told of how a session went: records, branches and batches as a tree."""

from typing import Any

from redline.inspection.record_lines import RecordLine, history_of_log, history_of_transcript
from redline.inspector.opened import OpenedSession

__all__ = ["records"]


def records(session: OpenedSession, conversation: int) -> dict[str, Any]:
    """Every line of the tree, each after the one it was made on."""
    if session.log is not None:
        history = history_of_log(session.log)
    else:
        history = history_of_transcript(session.conversations()[conversation][0])
    return {
        "records": [_shown(line) for line in history.lines],
        "branches": [
            {"number": one.number, "after": one.after, "messages": one.messages, "is_current": one.is_current}
            for one in history.branches
        ],
        "batches": [{"number": one.number, "boundary": one.boundary, "is_current": one.is_current} for one in history.batches],
    }


def _shown(line: RecordLine) -> dict[str, Any]:
    return {
        "number": line.number,
        "parent": line.parent,
        "type": line.type,
        "says": line.says,
        "time_ms": line.time_ms,
        "index": line.index,
        "from": line.index,
        "to": line.to,
        "is_current": line.is_current,
    }
