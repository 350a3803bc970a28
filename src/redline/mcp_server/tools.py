"""What the tools of the MCP server do, on the session of the agent that asks."""

from collections import Counter
from dataclasses import dataclass

from redline.blobs import Blobs
from redline.blobs.retrieval import part_text, recall_from
from redline.conversation import Conversation
from redline.errors import ValidationError
from redline.histories.log_way import LogWay
from redline.inspection.playback import Playback, Player
from redline.inspection.shown import is_on
from redline.log.opening import open_log
from redline.mcp_server.own_session import OwnSession, SessionBinding
from redline.replay.history import PastStrike, SessionHistory
from redline.store import Store
from redline.values.references import reference_to

__all__ = ["SessionReport", "SessionTools", "StrikeList", "StrikeRow"]

_MOST_STRIKES = 200
"""In one answer."""
_MOST_WORDS = 120

# What follows has no slots: the SDK would take them for default values.


@dataclass(frozen=True)
class StrikeRow:
    """A part of the conversation that was taken out of what is sent."""

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
    """Struck, or since when and why it is sent again."""
    begins: str
    """Its first words."""


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
        history = _history(self._binding.find(session, "recall"))
        return recall_from(
            reference,
            lambda index: history.load(index) if index < history.count else None,
            self._blobs,
            lines=lines or None,
            grep=grep or None,
        )

    def strikes(self, *, session: str = "", limit: int = 20, offset: int = 0) -> StrikeList:
        """What was struck and why, the latest first."""
        if not 0 < limit <= _MOST_STRIKES or offset < 0:
            raise ValidationError(f"limit must be from 1 to {_MOST_STRIKES}, and offset not negative.")
        own = self._binding.find(session, "list_strikes")
        playback = Player(_history(own)).play()
        latest = sorted(playback.strikes, key=lambda one: -one.number)
        return StrikeList(own.name, len(latest), [_row(playback, one) for one in latest[offset : offset + limit]])

    def undo(self, number: int, *, session: str = "") -> str:
        """Send a struck part again, from the next request on."""
        own = self._binding.find(session, "undo_strike")
        log = open_log(self._store.address_of(own.log))
        try:
            way = log if own.head is None else LogWay(log, own.head)
            with Conversation(log=way, format=log.header.message_format or "auto") as talk:
                talk.undo(number)
        finally:
            log.close()
        return f"Strike {number} is undone: the part is sent as it was said from the next request on."

    def report(self, *, session: str = "") -> SessionReport:
        """Tokens and money."""
        own = self._binding.find(session, "session_report")
        playback = Player(_history(own)).play()
        requests, paid = playback.history.requests, playback.paid
        size = playback.sizes[-1] if requests else None
        return SessionReport(
            session=own.name,
            model=playback.player.model,
            messages=playback.history.count,
            requests=len(requests),
            sent_tokens=round(size.sent) if size is not None else 0,
            struck_tokens=round(size.struck) if size is not None else 0,
            strikes_by_rule=dict(Counter(one.rule for one in playback.strikes if one.end is None)),
            cost_usd=round(paid.usd, 6) if paid is not None else None,
            cost_without_strikes_usd=round(paid.usd_without, 6) if paid is not None else None,
            saved_usd=round(paid.saved_usd, 6) if paid is not None else None,
            note=f"Nothing was changed: {playback.history.observed}." if playback.history.observed else "",
        )


def _history(own: OwnSession) -> SessionHistory:
    return own.read.history(branch=own.head)


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
        state="struck" if strike.end is None else f"sent again since request {strike.end}: {strike.ended_because}",
        begins=" ".join((text or "")[: 4 * _MOST_WORDS].split())[:_MOST_WORDS],
    )
