"""The sessions of a log that several have filled, as Editors of older versions did: who they are, and the records of each."""

from collections.abc import Sequence

from redline.histories.tree import HistoryTree
from redline.log.log import ROOT, Log, Stored
from redline.log.reading import ReadOnlyLog
from redline.log.records import BESIDE, Checkpoint, SessionJoined

__all__ = ["copy_session", "sessions_of"]


def sessions_of(records: Sequence[Stored]) -> tuple[str, ...]:
    """The names under which something was sent, in order; an empty one for what was sent without, beside names. None of a log
    that no session has filled."""
    if not any(isinstance(one.record, SessionJoined) for one in records):
        return ()
    tree = HistoryTree(ReadOnlyLog(records))
    ends = [one for one in records if one.number not in tree.children and not isinstance(one.record, BESIDE)]
    return tuple(dict.fromkeys(tree.session_at(one.number) for one in ends))


def copy_session(records: Sequence[Stored], session: str, log: Log) -> None:
    """Write what one session has sent to another log, with what people said of the conversation; no other session is named."""
    tree = HistoryTree(ReadOnlyLog(records))
    own = set[int]()
    for one in reversed(records):
        if one.number in own or (not isinstance(one.record, BESIDE) and tree.session_at(one.number) == session):
            own.update((one.number, one.parent))
    places = {ROOT: log.append([SessionJoined(session)], parent=ROOT) if session else ROOT}
    for one in records:
        if isinstance(one.record, BESIDE):
            if not isinstance(one.record, Checkpoint):
                log.append([one.record], parent=ROOT)
        elif one.number in own:
            parent = places[one.parent]
            is_named = isinstance(one.record, SessionJoined)
            places[one.number] = parent if is_named else log.append([one.record], parent=parent)
