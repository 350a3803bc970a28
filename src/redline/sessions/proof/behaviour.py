"""What a session did, in the numbers that two groups of sessions are compared by."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from redline.record.records import Described, SessionNamed
from redline.rules.results import call_fingerprint, read_paths
from redline.sessions.read_session import ReadSession
from redline.sessions.replay.history import SessionHistory
from redline.sessions.replay.simulated_run import SessionReplay
from redline.values.messages import Message, Text, ToolResult

_INTERRUPTED = re.compile(
    r"\s*(?:\[Request interrupted by user|<turn_aborted>|The user doesn't want to (?:proceed|take this action))"
)
"""How agents tell their model that the user broke in, or did not allow a call."""


class SessionBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    """A session with all that ran under its name: its sub-agents, and what it went on with after a compaction."""

    name: str
    arm: str = ""
    outcome: str = ""
    usd: float | None = None
    """What was paid, at list prices; None where no usage or no price is known."""
    saved_usd: float = 0.0
    turns: int = 0
    """Requests to the model."""
    tokens: int = 0
    """Said by everybody, results of tools included; estimated."""
    rereads: int = 0
    """Reads of a file that was read before."""
    repeats: int = 0
    """Other calls that were made before, word for word."""
    failures: int = 0
    interruptions: int = 0
    asked_again: int = 0
    """Results that were asked for again after a strike that was sent."""

    def joined(self, other: "SessionBehaviour") -> "SessionBehaviour":
        """Both as one session."""
        known = [one for one in (self.usd, other.usd) if one is not None]
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        told = {name: getattr(self, name) or getattr(other, name) for name in ("arm", "outcome")}
        return msgspec.structs.replace(self, **counts, **told, usd=sum(known) if known else None)


_COUNTS = ("saved_usd", "turns", "tokens", "rereads", "repeats", "failures", "interruptions", "asked_again")


def behaviour_of(session: ReadSession) -> SessionBehaviour:
    """The numbers of a log, or of an agent's session file."""
    paid = session.paid()
    records = [one.record for one in session.log.records] if session.log is not None else []
    told = [one for one in records if isinstance(one, Described)]
    arms, outcomes = ([getattr(one, name) for one in told if getattr(one, name) is not None] for name in ("arm", "outcome"))
    named = (one.session for one in records if isinstance(one, SessionNamed) and one.session)
    found = SessionBehaviour(
        name=next(named, session.name),
        arm=next(iter(arms), ""),
        outcome=outcomes[-1] if outcomes else "",
        usd=paid.usd if paid is not None else None,
        saved_usd=paid.saved_usd if paid is not None and not paid.is_dry_run else 0.0,
    )
    for history in session.histories():
        found = found.joined(_counted(history))
    return found


def by_name(found: Iterable[SessionBehaviour]) -> list[SessionBehaviour]:
    """Logs of one session name, added up."""
    sessions: dict[str, SessionBehaviour] = {}
    for one in found:
        sessions[one.name] = sessions[one.name].joined(one) if one.name in sessions else one
    return list(sessions.values())


def _counted(history: SessionHistory) -> SessionBehaviour:
    """The numbers of one conversation; a copy at its beginning is left out."""
    replay = SessionReplay(history)
    began = history.requests[history.copied_requests - 1].end if history.copied_requests else 0
    files, calls = set[str](), set[bytes]()
    rereads = repeats = failures = 0
    for seen in (one for parts in replay.seen[began:] for one in parts if one.result is not None):
        failures += seen.is_error
        if seen.is_error or seen.call is None:
            continue
        paths, call = read_paths(seen, history.project_root, shell_reads=True), call_fingerprint(seen.call) or b""
        rereads += bool(paths & files)
        repeats += not paths and call in calls
        files |= paths
        calls.add(call)
    messages = [history.load(index) for index in range(began, history.count)]
    return SessionBehaviour(
        name="",
        turns=len(history.requests) - history.copied_requests,
        tokens=sum(replay.sizes.counts[began:]),
        rereads=rereads,
        repeats=repeats,
        failures=failures,
        interruptions=sum(map(_is_interruption, messages)),
        asked_again=0 if history.observed else replay.rereads(history.strikes).asked_again,
    )


def _is_interruption(message: Message) -> bool:
    """Whether the user broke in, as the agent's words say."""
    if message.role == "assistant":
        return False
    parts: Sequence[object] = [one for part in message.parts for one in (part, *getattr(part, "parts", ()))]
    return any(isinstance(one, Text | ToolResult) and _INTERRUPTED.match(one.text) for one in parts)
