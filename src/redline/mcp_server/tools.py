"""What the tools of the MCP server do, on the session that the server was started for or on the latest of a store."""

from collections import Counter
from dataclasses import dataclass

from redline.blobs import Blobs
from redline.blobs.retrieval import part_text, recall_from
from redline.errors import ExecutionError, ValidationError
from redline.inspection.playback import Playback, PlayedStrike, Player
from redline.inspection.read_session import read_session
from redline.inspection.session_files import find_sessions
from redline.inspection.shown import is_on
from redline.inspection.stores import is_observed
from redline.opening import open as open_conversation
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
    """Tools over one session, or over those of a store: by name, or the one that was last gone on with.

    A model says which, so that nothing else than the conversations of the store can be named.
    """

    def __init__(self, store: Store, name: str | None = None, *, blobs: Blobs | None = None) -> None:
        self._store, self._name, self._blobs = store, name, blobs

    def recall(self, reference: str, *, lines: str = "", grep: str = "", session: str = "") -> str:
        """What a stub refers to, or a row of `strikes`."""
        recording = self._playback(session).recording
        return recall_from(
            reference,
            lambda index: recording.load(index) if index < recording.count else None,
            self._blobs,
            lines=lines or None,
            grep=grep or None,
        )

    def strikes(self, *, session: str = "", limit: int = 20, offset: int = 0) -> StrikeList:
        """What was struck and why, the latest first."""
        if not 0 < limit <= _MOST_STRIKES or offset < 0:
            raise ValidationError(f"limit must be from 1 to {_MOST_STRIKES}, and offset not negative.")
        name = self._chosen(session)
        playback = self._playback(name)
        latest = sorted(playback.strikes, key=lambda one: -one.number)
        return StrikeList(name, len(latest), [_row(playback, one) for one in latest[offset : offset + limit]])

    def undo(self, number: int, *, session: str = "") -> str:
        """Send a struck part again, from the next request on."""
        address = self._store.address_of(self._chosen(session))
        with open_conversation(address) as talk:
            talk.undo(number)
        return f"Strike {number} is undone: the part is sent as it was said from the next request on."

    def report(self, *, session: str = "") -> SessionReport:
        """Tokens and money."""
        name = self._chosen(session)
        playback = self._playback(name)
        requests, price = playback.recording.requests, playback.player.price
        size = playback.sizes[-1] if requests else None
        units = [sum(one.cost for one in charges) for charges in (playback.charges, playback.player.unstruck_charges)]
        cost, without = (round(unit * price.input / 1e6, 6) if price is not None else None for unit in units)
        return SessionReport(
            session=name,
            model=playback.player.model,
            messages=playback.recording.count,
            requests=len(requests),
            sent_tokens=round(size.sent) if size is not None else 0,
            struck_tokens=round(size.struck) if size is not None else 0,
            strikes_by_rule=dict(Counter(one.rule for one in playback.strikes if one.end is None)),
            cost_usd=cost,
            cost_without_strikes_usd=without,
            saved_usd=round(without - cost, 6) if cost is not None and without is not None else None,
            note=f"Nothing was changed: {playback.recording.observed}." if playback.recording.observed else "",
        )

    def _chosen(self, session: str) -> str:
        """The name of the conversation that is meant."""
        if self._name is not None:
            if session not in ("", self._name):
                raise ValidationError(f"This server was started for the session {self._name} alone.")
            return self._name
        if not session:
            if (latest := self._store.latest()) is None:
                raise ExecutionError(f"There is no conversation in {self._store.name} yet.")
            return latest
        if session not in self._store.names():
            raise ValidationError(f"There is no session {session[:80]!r} in {self._store.name}. Leave it out for the latest.")
        return session

    def _playback(self, session: str) -> Playback:
        (source,) = find_sessions([self._store.address_of(self._chosen(session))])
        observed = "it was only observed" if is_observed(source.place) else ""
        return Player(read_session(source).recording(observed=observed)).play()


def _row(playback: Playback, strike: PlayedStrike) -> StrikeRow:
    message = playback.recording.load(strike.index)
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
