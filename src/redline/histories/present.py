"""What to send in place of a list: the caller's present messages, with strikes carried out and repairs made on them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from redline.engine.request import Request
from redline.engine.sent import RepairedMessage, Sent
from redline.engine.state import State
from redline.engine.strike import struck_payload
from redline.formats.base import Format
from redline.histories.digests import common_start, lasting_parts, same_parts
from redline.histories.given import GivenList
from redline.log.records import Strike
from redline.repair import Legalizer, Strategy
from redline.rules.rule import Mark
from redline.values import payloads
from redline.values.payloads import Payload

__all__ = ["StruckMessages", "ToSend", "as_given", "messages_to_send"]


class StruckMessages:
    """What is left of the struck messages of lists that go the same way: the next list has the same ones, and a few more."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[bytes, tuple[Strike, ...], bytes | None]] = {}
        """By index, a message of the caller's, its strikes, and what they leave of it."""
        self._natives: list[bytes] = []
        """The list that was last looked at."""
        self._struck: object = None
        self._counted = 0
        """The strikes on it, and how many they were."""
        self._left: dict[int, bytes | None] = {}
        """By index, what they leave of its messages, where that differs from what was given; None for nothing."""

    def all_left(self, given: GivenList, state: State, sent: Sent) -> dict[int, bytes | None]:
        """By index, what is left of the messages of a list, where that differs from what was given; None for nothing.

        What is sent of a message that comes as it is in the record was worked out already.
        """
        natives, same = given.natives[given.lead :], 0
        if state.struck is self._struck:
            same = common_start(self._natives, natives)
        if same == 0:
            self._left, self._counted = {}, 0
        struck = {strike.index for strike in islice(state.strikes.values(), self._counted, None)}
        struck.update(index for index in range(same, len(natives)) if index in state.struck)
        self._natives, self._struck, self._counted = natives, state.struck, len(state.strikes)
        for index in struck:
            is_as_stored = natives[index] == state.payload(index)
            left = (
                sent[index].stored or None
                if is_as_stored
                else self.left_of(index, given, state.strikes_on(index), state.payload)
            )
            if left == natives[index]:
                self._left.pop(index, None)
            else:
                self._left[index] = left
        return self._left

    def left_of(
        self, index: int, given: GivenList, strikes: tuple[Strike, ...], stored_at: Callable[[int], bytes]
    ) -> bytes | None:
        """The caller's message with strikes carried out, wherever it has their parts now; None if nothing is left of it."""
        native, known = given.natives[given.lead + index], self._known.get(index)
        if known is None or known[0] != native or known[1] != strikes:
            known = self._known[index] = native, strikes, _strike_out(given.format, native, stored_at(index), strikes)
        return known[2]


class ToSend(NamedTuple):
    """What to send in place of a list."""

    said: Sequence[Payload]
    positions: Sequence[int | None]
    """In the caller's list; None for a message that the repair made of others or of nothing."""


def messages_to_send(struck: StruckMessages, given: GivenList, made: Request, state: State, strategy: Strategy) -> ToSend:
    """What the engine sends, with the caller's own messages wherever nothing was done to them."""
    positions: Sequence[int | None] = range(len(given.messages))
    if made.sent.is_unrepaired:
        said: list[Payload | None] = list(given.messages)
        takes_bytes = isinstance(given.messages[-1], bytes)
        for index, left in struck.all_left(given, state, made.sent).items():
            said[given.lead + index] = left if takes_bytes or left is None else payloads.decode(left)
        if None in said:
            positions = [position for position in positions if position is not None and said[position] is not None]
        sent = [payload for payload in said if payload is not None]
    else:
        pieces = [*enumerate(given.messages[: given.lead]), *_repaired_pieces(struck, given, made, state, strategy)]
        positions, sent = [position for position, _ in pieces], [payload for _, payload in pieces]
    if len(sent) == given.lead:  # nothing of it is legal: the provider may say what is wrong with it
        return ToSend(given.messages, range(len(given.messages)))
    return ToSend(sent, positions)


def _repaired_pieces(
    struck: StruckMessages, given: GivenList, made: Request, state: State, strategy: Strategy
) -> Iterator[tuple[int | None, Payload]]:
    """What is sent after the lead where the repair has changed something: the caller's own wherever it has not."""
    messages, lead = given.messages, given.lead
    renewed = _repaired_anew(given, made.sent, state, strategy)
    for place, (piece, strikes) in enumerate(made.sent.outline()):
        if isinstance(piece, RepairedMessage):
            if native := renewed[place] if place in renewed else made.sent[place].stored:
                yield _position_of(piece, given), as_given(given, native)
        elif not strikes:
            yield lead + piece, messages[lead + piece]
        elif (left := struck.left_of(piece, given, strikes, state.payload)) is not None:
            yield lead + piece, as_given(given, left)


def _strike_out(format: Format, native: bytes, stored: bytes, strikes: tuple[Strike, ...]) -> bytes | None:
    present = format.read(native)
    places = same_parts(format.read(stored), present)
    marks = [Mark(one.rule, one.index, places[one.at], one.replacement, one.because) for one in strikes if one.at in places]
    payload = struck_payload(present, marks, format) if marks else native
    return None if payload is None else payloads.encoded(payload)


def _repaired_anew(given: GivenList, sent: Sent, state: State, strategy: Strategy) -> dict[int, bytes]:
    """By place in what is sent, what the repair makes of the caller's messages where they are not written as in the record:
    with other cache marks, of which only so many are taken, or with secrets, which are kept out of it."""
    outline = list(sent.outline())
    repaired = {place: piece for place, (piece, _) in enumerate(outline) if isinstance(piece, RepairedMessage)}
    origins = {origin.index for piece in repaired.values() for origin in piece.origins}
    if all(given.natives[given.lead + index] == state.payload(index) for index in origins):
        return {}
    present = [given.format.read(native) for native in given.natives[given.lead :]]
    items = Legalizer.over(present, given.format, strategy, lifts_system=True).repair().items
    renewed: dict[int, bytes] = {}
    for place, piece in repaired.items() if len(items) == len(outline) else ():
        message = items[place].message
        if len(lasting_parts(message)) == len(lasting_parts(piece.message)):
            places = same_parts(piece.message, message)
            found = {(origin.index, origin.original): places.get(origin.at) for origin in piece.origins}
            strikes = [(one, found.get((one.index, one.at))) for one in outline[place][1]]
            marks = [Mark(one.rule, one.index, at, one.replacement, one.because) for one, at in strikes if at is not None]
            payload = struck_payload(message, marks, given.format)
            renewed[place] = b"" if payload is None else payloads.encoded(payload)
    return renewed


def as_given(given: GivenList, payload: Payload) -> Payload:
    """A message that is not the caller's own: as bytes if the caller gives bytes, else as an object."""
    return payload if isinstance(given.messages[-1], bytes) else payloads.decode(payload)


def _position_of(piece: RepairedMessage, given: GivenList) -> int | None:
    """The message that the repair changed, if it was one."""
    indices = {origin.index for origin in piece.origins}
    return given.lead + indices.pop() if len(indices) == 1 else None
