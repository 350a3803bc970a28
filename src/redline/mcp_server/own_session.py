"""Whose session an MCP server serves: the one that it was started for, or the one of a run that asks; never the latest."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from redline.errors import ExecutionError, ValidationError
from redline.histories.tree import HistoryTree
from redline.inspection.read_session import ReadSession, read_session
from redline.inspection.session_files import SessionInput, find_sessions
from redline.log.log import ROOT
from redline.log.reading import ReadOnlyLog
from redline.log.records import MessageAdded, SessionJoined
from redline.store import Store

__all__ = ["NamedSession", "OwnSession", "RunSession", "SessionBinding", "UnknownSession"]

_WAIT_SECONDS = 2.0
"""An answer is in the accounts a moment after its last byte, and the agent may be quicker."""
_LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class OwnSession:
    """One way through a log, with all that is needed to read it."""

    name: str
    """For the model, and for people."""
    log: str
    head: int | None
    """The last record of the way; None for the present one of a log that one conversation has for itself."""
    source: SessionInput
    read: ReadSession


class SessionBinding(Protocol):
    """Says which session is meant by a call of a tool."""

    def find(self, session: str, tool: str) -> OwnSession:
        """The session; an error that can be told to the model where it is somebody else's, or cannot be told."""
        ...


@dataclass(frozen=True, slots=True)
class UnknownSession:
    """Nothing says which session is meant, and the latest may be anybody's."""

    def find(self, session: str, tool: str) -> OwnSession:  # noqa: ARG002 - as every binding
        """Refused."""
        raise ExecutionError(
            "Redline cannot tell which session is yours, so it answers from none. It can if the agent is started with "
            "`redline run -- AGENT`, or the server for one session: `redline mcp chats/NAME.jsonl`."
        )


class NamedSession:
    """The session that a server was started for: a log, and which of its sessions where it holds several."""

    def __init__(self, store: Store, log: str, session: str | None = None) -> None:
        self._store, self._log, self._session = store, log, session
        self._head: int | None = None
        """Where the session was when it was last asked for: it goes on from there."""

    def find(self, session: str, tool: str) -> OwnSession:  # noqa: ARG002 - as every binding
        """The session, wherever it has gone on to since it was last asked for."""
        if session not in ("", self._log, self._session):
            raise ValidationError(f"This server was started for the session {self._session or self._log} alone.")
        source, read = _read(self._store, self._log)
        tree = _tree_of(read)
        if not tree.is_resent:
            return OwnSession(self._log, self._log, None, source, read)
        ways = _ways(tree)
        if self._session is not None and self._session not in ways:
            raise ValidationError(f"There is no session {self._session} in {self._log}. Those there are: {', '.join(ways)}.")
        found = {name: head for name, head in ways.items() if self._session in (None, name)}
        if self._session is None and self._head is not None:
            found = {name: head for name, head in ways.items() if self._head in (one.number for one in tree.path(head))}
        if len(found) != 1:
            listed = ", ".join(list(found or ways)[:10])
            raise ExecutionError(
                f"The log {self._log} holds several sessions that begin alike, and which is yours cannot be told: {listed}. "
                "Start the server for one of them: redline mcp LOG --session NAME."
            )
        ((name, self._head),) = found.items()
        return OwnSession(f"{self._log}:{name}" if len(ways) > 1 else self._log, self._log, self._head, source, read)


class _RunLine(msgspec.Struct, frozen=True):
    """What the accounts of a proxy say of a request of the run."""

    chain: str = ""
    run: str = ""
    record: int = ROOT
    asks: tuple[str, ...] = ()


class RunSession:
    """The sessions of one run of `redline run`; of several, the one whose last answer called the tool."""

    def __init__(self, store: Store, run: str, accounts: Path) -> None:
        self._store, self._run, self._accounts = store, run, accounts

    def find(self, session: str, tool: str) -> OwnSession:
        """The session of the run that is named, or that asks."""
        own = self._sessions()
        end = time.monotonic() + _WAIT_SECONDS
        while not session and not any(tool in asks for _, asks in own) and time.monotonic() < end:
            time.sleep(_LOOK_SECONDS)
            own = self._sessions()
        if not own:
            raise ExecutionError(f"No request of this run ({self._run}) is recorded in {self._store.name} yet.")
        asking = [one for one, asks in own if (session == one.name if session else tool in asks)]
        if not session and not asking and len(own) == 1:
            asking = [own[0][0]]
        if len(asking) == 1:
            return asking[0]
        names = ", ".join(one.name for one, _ in own[-10:])
        if session:
            raise ValidationError(f"There is no session {session[:80]!r} in this run. Those there are: {names}.")
        raise ExecutionError(
            f"This run has several sessions, and which one asks cannot be told. Say session=…, one of: {names}."
        )

    def _sessions(self) -> list[tuple[OwnSession, tuple[str, ...]]]:
        """The sessions of the run, each with the tools of this server that its last answer called."""
        lines = list(self._lines())
        found: list[tuple[OwnSession, tuple[str, ...]]] = []
        for log in dict.fromkeys(line.chain for line in lines):
            source, read = _read(self._store, log)
            tree, known = _tree_of(read), set[object]()
            for line in reversed([one for one in lines if one.chain == log and one.record in tree.stored]):
                session = tree.session_at(line.record)
                if (session or line.record) in known:  # the session, or what has no name, has gone on since
                    continue
                known |= {session} if session else {one.number for one in tree.path(line.record)}
                name = f"{log}:{session or f'branch-{line.record}'}"
                found.append((OwnSession(name, log, tree.end_of(line.record), source, read), line.asks))
        return found

    def _lines(self) -> Iterator[_RunLine]:
        mark = f'"{self._run}"'.encode()
        try:
            content = self._accounts.read_bytes()
        except OSError:
            return
        for line in content.splitlines():
            if mark in line:
                with suppress(msgspec.MsgspecError):
                    told = _DECODER.decode(line)
                    if told.run == self._run and told.chain and told.record != ROOT:
                        yield told


_DECODER = msgspec.json.Decoder(_RunLine)


def _read(store: Store, log: str) -> tuple[SessionInput, ReadSession]:
    (source,) = find_sessions([store.address_of(log)])
    return source, read_session(source)


def _tree_of(read: ReadSession) -> HistoryTree:
    return HistoryTree(ReadOnlyLog(read.log.records if read.log is not None else ()))


def _ways(tree: HistoryTree) -> dict[str, int]:
    """The sessions of a log and the end of each: by the agent's name for it, else `branch-` and its last step."""
    steps: dict[int, int] = {ROOT: ROOT}
    """By record, the last message or joining of a session on the way to it."""
    ends: dict[int, str] = {}
    for number, one in tree.stored.items():
        before = steps.get(one.parent, ROOT)
        steps[number] = number if isinstance(one.record, MessageAdded | SessionJoined) else before
        if steps[number] == number:
            session = tree.session_at(number)
            if before in ends and ends[before] == session:
                del ends[before]
            ends[number] = session
    return {session or f"branch-{number}": tree.end_of(number) for number, session in ends.items()}
