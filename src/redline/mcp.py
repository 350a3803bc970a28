"""The MCP server: an agent looks at its own session, reads back what was taken out of it, and undoes strikes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, Protocol, TypeVar

import msgspec
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from redline.conversation.conversation import Conversation
from redline.conversation.origins import MessageFinder, Origins
from redline.conversation.resent.tree import HistoryTree
from redline.engine.fold_words import deed_of
from redline.errors import ExecutionError, RedlineError, ValidationError
from redline.record.blobs import Blobs
from redline.record.blobs.retrieval import part_text, recall_from
from redline.record.blobs.search import search_record
from redline.record.log import ROOT, Log, Stored
from redline.record.opening import open_log
from redline.record.reading import ReadOnlyLog
from redline.record.records import MessageAdded, Record, SessionNamed
from redline.record.timeline import RecordTree
from redline.sessions.catalog.session_files import find_sessions
from redline.sessions.playback import Playback, Player
from redline.sessions.read_session import ReadSession, read_session
from redline.sessions.replay.history import PastStrike
from redline.sessions.to_json import is_on
from redline.store import Store
from redline.values.messages import find_generation, reference_to

__all__ = [
    "NamedSession",
    "OwnSession",
    "RunSession",
    "SessionBinding",
    "SessionReport",
    "SessionTools",
    "StrikeList",
    "StrikeRow",
    "UnknownSession",
    "make_server",
]

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
        read, tree = _read(self._store, self._log)
        if not tree.is_resent:
            return OwnSession(self._log, self._log, None, read)
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
        return OwnSession(f"{self._log}:{name}" if len(ways) > 1 else self._log, self._log, self._head, read)


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
        lines, mark = list[_RunLine](), f'"{self._run}"'.encode()
        with suppress(OSError):
            for written in self._accounts.read_bytes().splitlines():
                with suppress(msgspec.MsgspecError):
                    if mark in written and (line := _DECODER.decode(written)).run == self._run:
                        lines += [line] if line.chain and line.record != ROOT else []
        found: list[tuple[OwnSession, tuple[str, ...]]] = []
        for log in dict.fromkeys(line.chain for line in lines):
            read, tree = _read(self._store, log)
            known = set[object]()
            for line in reversed([one for one in lines if one.chain == log and one.record in tree.stored]):
                session = tree.session_at(line.record)
                if (session or line.record) in known:  # the session, or what has no name, has gone on since
                    continue
                known |= {session} if session else {one.number for one in tree.path(line.record)}
                name = f"{log}:{session or f'branch-{line.record}'}"
                found.append((OwnSession(name, log, tree.end_of(line.record), read), line.asks))
        return found


_DECODER = msgspec.json.Decoder(_RunLine)


def _read(store: Store, log: str) -> tuple[ReadSession, HistoryTree]:
    (source,) = find_sessions([store.address_of(log)])
    read = read_session(source)
    return read, HistoryTree(ReadOnlyLog(read.log.records if read.log is not None else ()))


def _ways(tree: HistoryTree) -> dict[str, int]:
    """The sessions of a log and the end of each: by the agent's name for it, else `branch-` and its last step."""
    steps: dict[int, int] = {ROOT: ROOT}
    """By record, the last message or joining of a session on the way to it."""
    ends: dict[int, str] = {}
    for number, one in tree.stored.items():
        before = steps.get(one.parent, ROOT)
        steps[number] = number if isinstance(one.record, MessageAdded | SessionNamed) else before
        if steps[number] == number:
            session = tree.session_at(number)
            if before in ends and ends[before] == session:
                del ends[before]
            ends[number] = session
    return {session or f"branch-{number}": tree.end_of(number) for number, session in ends.items()}


_MOST_STRIKES = 200
"""In one answer."""
_MOST_WORDS = 120
_INSTRUCTIONS = (
    "Redline leaves outdated tool results out of what you are sent. Where you need one that was struck or stored elsewhere, "
    "call recall with the reference from its stub; search_record finds lines in all that was said, with their references, and "
    "list_strikes names all that was struck, and why."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

P = ParamSpec("P")
R = TypeVar("R")

# What follows has no slots: the SDK would take them for default values.


@dataclass(frozen=True)
class StrikeRow:
    """A part of the conversation that was taken out of what is sent, or is sent smaller."""

    number: int
    """For undo_strike."""
    reference: str
    """For recall."""
    tool: str | None
    rule: str
    because: str
    tokens_saved: int
    """In every request."""
    state: str
    """Struck, folded or referred, or since when and why it is sent again."""
    begins: str


@dataclass(frozen=True)
class StrikeList:
    """The strikes of a session, the latest first."""

    session: str
    total: int
    strikes: list[StrikeRow]


@dataclass(frozen=True)
class SessionReport:
    """A session in numbers. Money is in dollars, for input only, and null where the model's price is not known."""

    session: str
    model: str | None
    messages: int
    requests: int
    sent_tokens: int
    """In the last request."""
    struck_tokens: int
    """Left out of the last request."""
    folded_tokens: int
    """By how much results were made smaller in it, with nothing lost."""
    strikes_by_rule: dict[str, int]
    cost_usd: float | None
    cost_without_strikes_usd: float | None
    saved_usd: float | None
    """Net of what was written to the provider's cache again because of strikes."""
    note: str = ""


class SessionTools:
    """Tools over one session, which the binding finds at each call: no other session can be read, named or changed."""

    def __init__(self, store: Store, binding: SessionBinding, *, blobs: Blobs | None = None) -> None:
        self._store, self._binding, self._blobs = store, binding, blobs

    def recall(self, reference: str, *, lines: str = "", grep: str = "", session: str = "") -> str:
        """What a stub refers to, or a row of `strikes`."""
        own = self._binding.find(session, "recall")
        history = own.read.history(branch=own.head)
        find: MessageFinder = lambda index: history.load(index) if index < history.count else None  # noqa: E731
        generation = find_generation(reference)
        if generation is not None and generation != history.state.ancestors:  # of a conversation that this one goes on from
            find = Origins(history.state.forked_from, self._store.address_of(own.log)).finder(generation)
        return recall_from(reference, find, self._blobs, lines=lines or None, grep=grep or None)

    def search(self, words: str = "", *, grep: str = "", limit: int = 10, session: str = "") -> str:
        """The best lines of all that the session said, with their references."""
        own = self._binding.find(session, "search_record")
        history = own.read.history(branch=own.head)
        return search_record(words, history.load, history.count, grep=grep or None, limit=limit)

    def strikes(self, *, session: str = "", limit: int = 20, offset: int = 0) -> StrikeList:
        """What was struck and why, the latest first."""
        if not 0 < limit <= _MOST_STRIKES or offset < 0:
            raise ValidationError(f"limit must be from 1 to {_MOST_STRIKES}, and offset not negative.")
        own = self._binding.find(session, "list_strikes")
        playback = Player(own.read.history(branch=own.head)).play()
        latest = sorted(playback.strikes, key=lambda one: -one.number)
        return StrikeList(own.name, len(latest), [_row(playback, one) for one in latest[offset : offset + limit]])

    def undo(self, number: int, *, session: str = "") -> str:
        """Send a struck part again, from the next request on."""
        own = self._binding.find(session, "undo_strike")
        log = open_log(self._store.address_of(own.log))
        try:
            way = log if own.head is None else _LogWay(log, own.head)
            with Conversation(log=way, format=log.header.message_format or "auto") as talk:
                talk.undo(number)
        finally:
            log.close()
        return f"Strike {number} is undone: the part is sent as it was said from the next request on."

    def report(self, *, session: str = "") -> SessionReport:
        """Tokens and money."""
        own = self._binding.find(session, "session_report")
        playback = Player(own.read.history(branch=own.head)).play()
        requests, paid = playback.history.requests, playback.paid
        size = playback.sizes[-1] if requests else None
        return SessionReport(
            session=own.name,
            model=playback.history.model,
            messages=playback.history.count,
            requests=len(requests),
            sent_tokens=round(size.sent) if size is not None else 0,
            struck_tokens=size.saved.struck if size is not None else 0,
            folded_tokens=size.saved.folded if size is not None else 0,
            strikes_by_rule=dict(Counter(one.rule for one in playback.strikes if one.end is None)),
            cost_usd=round(paid.usd, 6) if paid is not None else None,
            cost_without_strikes_usd=round(paid.usd_without, 6) if paid is not None else None,
            saved_usd=round(paid.saved_usd, 6) if paid is not None else None,
            note=f"Nothing was changed: {playback.history.observed}." if playback.history.observed else "",
        )


def _row(playback: Playback, strike: PastStrike) -> StrikeRow:
    message = playback.history.load(strike.index)
    place = next((place for place, part in enumerate(message.parts) if is_on(strike.at, part.at)), 0)
    text = part_text(message.parts[place]) if message.parts else None
    return StrikeRow(
        number=strike.number,
        reference=reference_to(strike.index, place),
        tool=strike.tool,
        rule=strike.rule,
        because=strike.because,
        tokens_saved=strike.tokens_saved,
        state=(deed_of(strike) if strike.is_fold else "struck")
        if strike.end is None
        else f"sent again since request {strike.end}: {strike.ended_because}",
        begins=" ".join((text or "")[: 4 * _MOST_WORDS].split())[:_MOST_WORDS],
    )


def make_server(tools: SessionTools, *, can_undo: bool = True) -> MCPServer:
    """The server; `run()` speaks over standard input and output."""
    server: MCPServer = MCPServer("redline", instructions=_INSTRUCTIONS, log_level="WARNING")

    @server.tool(annotations=_READS)
    def recall(reference: str, lines: str = "", grep: str = "", session: str = "") -> str:
        """Reads back a tool result that was left out or stored elsewhere. Its stub, or list_strikes, names the reference.

        Ask for some lines (10-40, 10-, or -20 for the last twenty) or a pattern rather than for all of it.
        """
        return _told(tools.recall, reference, lines=lines, grep=grep, session=session)

    @server.tool(annotations=_READS)
    def search_record(words: str = "", grep: str = "", limit: int = 10, session: str = "") -> str:
        """Finds lines in all that this session said, called and got back, also where it was left out of what you are sent.

        Lines with the most of the words come first; grep is a regular expression. Each has its reference for recall.
        """
        return _told(tools.search, words, grep=grep, limit=limit, session=session)

    @server.tool(annotations=_READS)
    def list_strikes(limit: int = 20, offset: int = 0, session: str = "") -> StrikeList:
        """What Redline has struck from what you are sent, the latest first: why, how many tokens, the reference for recall."""
        return _told(tools.strikes, limit=limit, offset=offset, session=session)

    @server.tool(annotations=_READS)
    def session_report(session: str = "") -> SessionReport:
        """Tokens sent, struck and folded, what the session has cost in input, and what striking has saved."""
        return _told(tools.report, session=session)

    if can_undo:

        @server.tool(annotations=_WRITES)
        def undo_strike(number: int, session: str = "") -> str:
            """Has a struck part sent again, in full, from the next request on. To read it once, recall is cheaper."""
            return _told(tools.undo, number, session=session)

    return server


def _told(work: Callable[P, R], *args: P.args, **settings: P.kwargs) -> R:
    """Only the words of a ToolError reach the model."""
    try:
        return work(*args, **settings)
    except RedlineError as problem:
        raise ToolError(str(problem)) from problem


class _LogWay:
    """A log with the records on the way to one of its ends, for a conversation on it."""

    def __init__(self, log: Log, head: int) -> None:
        self._log = log
        self._numbers = {one.number for one in RecordTree(log).path(head)}

    def append(self, records: Sequence[Record], *, parent: int) -> int:
        """Add records after another one of the way."""
        end = self._log.append(records, parent=parent)
        self._numbers |= set(range(end - len(records) + 1, end + 1))
        return end

    def read(self, after: int = -1) -> Iterator[Stored]:
        """What is on the way, from after a record on."""
        return (one for one in self._log.read(after) if one.number in self._numbers)

    def close(self) -> None:
        """Close the log."""
        self._log.close()
