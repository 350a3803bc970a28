"""What the page is told of how a session went: records, branches and batches as a tree."""

from typing import Any

from redline.errors import ValidationError
from redline.inspection.record_lines import history_of_log, history_of_transcript, shown_history
from redline.inspector.opened import OpenedSession

__all__ = ["records"]


def records(session: OpenedSession, conversation: int) -> dict[str, Any]:
    """Every line of the tree, each after the one it was made on."""
    if session.log is not None:
        return shown_history(history_of_log(session.log))
    found = session.conversations()
    if conversation >= len(found):
        raise ValidationError(f"There is no conversation {conversation}; there are {len(found)}, numbered from 0.")
    return shown_history(history_of_transcript(found[conversation][0]))
