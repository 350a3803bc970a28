"""What to send in place of a list: the caller's present messages, with strikes carried out and repairs made on them."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from redline.conversation.resent.incoming import IncomingList, common_start, same_parts
from redline.engine.repaired import OriginFinder
from redline.engine.request import Request
from redline.engine.sent import Origin, RepairedMessage, Sent, SentItem, struck_payload
from redline.engine.state import State
from redline.providers.anthropic.cache_control import MOST_BREAKPOINTS
from redline.record.records import Strike
from redline.repair import Legalizer, Strategy
from redline.rules.rule import Mark
from redline.values import payloads
from redline.values.messages import Message, Part, Reasoning, Text, ToolCall, ToolResult
from redline.values.payloads import Payload


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
        self._alike: dict[int, tuple[bytes, bytes, bool]] = {}
        """By index, a message as it came and as it is in the record, and whether laws see no difference."""

    def renewed(self, given: IncomingList, state: State) -> dict[int, bool]:
        """By index, the messages that come in another form than that of the record, and whether both are as legal."""
        found: dict[int, bool] = {}
        for index, native in enumerate(given.natives[given.leading_system_messages :]):
            stored = state.payload(index)
            if native is not stored and native != stored:
                known = self._alike.get(index)
                if known is None or known[:2] != (native, stored):
                    shapes = [_shape(given.format.read(one)) for one in (native, stored)]
                    known = self._alike[index] = native, stored, shapes[0] == shapes[1]
                found[index] = known[2]
        return found

    def all_left(self, given: IncomingList, state: State, sent: Sent) -> dict[int, bytes | None]:
        """By index, what is left of the messages of a list, where that differs from what was given; None for nothing.

        What is sent of a message that comes as it is in the record was worked out already.
        """
        natives, same = given.natives[given.leading_system_messages :], 0
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
                else self.struck_payload(index, given, state.strikes_on(index), state.payload)
            )
            if left == natives[index]:
                self._left.pop(index, None)
            else:
                self._left[index] = left
        return self._left

    def struck_payload(
        self, index: int, given: IncomingList, strikes: tuple[Strike, ...], stored_at: Callable[[int], bytes]
    ) -> bytes | None:
        """The caller's message with strikes carried out, wherever it has their parts now; None if nothing is left of it."""
        native, known = given.natives[given.leading_system_messages + index], self._known.get(index)
        if known is None or known[0] != native or known[1] != strikes:
            format, present = given.format, given.format.read(native)
            places = same_parts(format.read(stored_at(index)), present)
            found = [(one, places[one.at]) for one in strikes if one.at in places]
            marks = [Mark(one.rule, one.index, at, one.replacement, one.because) for one, at in found]
            left = struck_payload(present, marks, format) if marks else native
            known = self._known[index] = native, strikes, None if left is None else payloads.encoded(left)
        return known[2]


def messages_to_send(
    struck: StruckMessages, given: IncomingList, made: Request, state: State, strategy: Strategy
) -> tuple[Sequence[Payload], Sequence[int | None]]:
    """What the engine sends, in the caller's own present messages, with strikes carried out and repairs made on them; and the
    position of each in the caller's list, None for a message that the repair made of others or of nothing."""
    positions: Sequence[int | None] = range(len(given.messages))
    renewed = struck.renewed(given, state)
    is_as_legal = all(renewed.values())
    if made.sent.is_unrepaired and is_as_legal:
        said: list[Payload | None] = list(given.messages)
        takes_bytes = isinstance(given.messages[-1], bytes)
        for index, left in struck.all_left(given, state, made.sent).items():
            said[given.leading_system_messages + index] = left if takes_bytes or left is None else payloads.decode(left)
        if None in said:
            positions = [position for position in positions if position is not None and said[position] is not None]
        sent = [payload for payload in said if payload is not None]
    else:
        outline = list(made.sent.outline())
        repaired = (piece for piece, _ in outline if isinstance(piece, RepairedMessage))
        is_as_repaired = renewed.keys().isdisjoint(origin.index for piece in repaired for origin in piece.origins)
        pieces: list[tuple[int | None, Payload]] = [*enumerate(given.messages[: given.leading_system_messages])]
        if is_as_legal and is_as_repaired:
            pieces += _repaired_pieces(struck, given, made, state, outline)
        else:
            pieces += _repaired_anew(struck, given, made, state, strategy)
        positions, sent = [position for position, _ in pieces], [payload for _, payload in pieces]
    if len(sent) == given.leading_system_messages:  # nothing of it is legal: the provider may say what is wrong with it
        return given.messages, range(len(given.messages))
    if given.most_marks > MOST_BREAKPOINTS:
        sent = [
            as_given(given, one) if one is not own else one
            for one, own in zip(given.format.within_limits(sent), sent, strict=True)
        ]
    return sent, positions


def recorded_messages(
    struck: StruckMessages, given: IncomingList, stored: Sequence[bytes], strikes: Sequence[Strike]
) -> tuple[list[Payload], list[int]]:
    """The list with these strikes carried out, each message with its position; `stored` are the messages of the record."""
    on: dict[int, tuple[Strike, ...]] = {}
    for strike in strikes:
        on[strike.index] = (*on.get(strike.index, ()), strike)
    said, positions, lead = list[Payload](), list[int](), given.leading_system_messages
    for position, message in enumerate(given.messages):
        own = on.get(position - lead, ())
        left = struck.struck_payload(position - lead, given, own, stored.__getitem__) if own else message
        if left is not None:
            positions.append(position)
            said.append(as_given(given, left))
    return said, positions


def _repaired_pieces(
    struck: StruckMessages,
    given: IncomingList,
    made: Request,
    state: State,
    outline: Sequence[tuple[SentItem, tuple[Strike, ...]]],
) -> Iterator[tuple[int | None, Payload]]:
    """What is sent after the lead where the repair has changed messages that come as they are in the record."""
    messages, lead = given.messages, given.leading_system_messages
    for place, (piece, strikes) in enumerate(outline):
        if isinstance(piece, RepairedMessage):
            if native := made.sent[place].stored:
                yield _position_of(piece.origins, given), as_given(given, native)
        elif not strikes:
            yield lead + piece, messages[lead + piece]
        elif (left := struck.struck_payload(piece, given, strikes, state.payload)) is not None:
            yield lead + piece, as_given(given, left)


def _repaired_anew(
    struck: StruckMessages, given: IncomingList, made: Request, state: State, strategy: Strategy
) -> Iterator[tuple[int | None, Payload]]:
    """What is sent after the lead where messages come in another form than that of the record, which has to be repaired: with
    ids that other calls had, with cache marks, blank texts, secrets that are kept out of the record."""
    format, lead = given.format, given.leading_system_messages
    present = [format.read(native) for native in given.natives[lead:]]
    strikes: dict[int, tuple[Strike, ...]] = {}
    for strike in {strike.number: strike for _, held in made.sent.outline() for strike in held}.values():
        strikes[strike.index] = (*strikes.get(strike.index, ()), strike)
    find_origins, has_begun = OriginFinder(lambda: list(enumerate(present))), False
    for item in Legalizer.over(present, format, strategy, lifts_system=True).repair().items:
        if format.is_apart(item.message, has_begun=has_begun):
            continue
        has_begun = True
        if item.source is not None and item.message is present[item.source]:
            own = strikes.get(item.source, ())
            if not own:
                yield lead + item.source, given.messages[lead + item.source]
            elif (left := struck.struck_payload(item.source, given, own, state.payload)) is not None:
                yield lead + item.source, as_given(given, left)
            continue
        origins = find_origins(item.message)
        at = {(origin.index, origin.original): origin.at for origin in origins}
        marks = list[Mark]()
        for index in dict.fromkeys(origin.index for origin in origins if origin.index in strikes):
            places = same_parts(format.read(state.payload(index)), present[index])
            found = [(one, at.get((index, places.get(one.at, ())))) for one in strikes[index]]
            marks += [Mark(one.rule, index, place, one.replacement, one.because) for one, place in found if place is not None]
        payload = struck_payload(item.message, marks, format)
        if payload is not None:
            yield _position_of(origins, given), as_given(given, payloads.encoded(payload))


def _shape(part: Part | Message) -> Any:
    """What a provider's laws look at in a message, of what may be another one when it comes again under the same digest."""
    match part:
        case Message(role, parts):
            return role, [_shape(one) for one in parts]
        case Text(text):
            return "text", bool(text), text.isspace(), text[-1:].isspace()
        case Reasoning(text, is_bound):
            return "reasoning", is_bound, bool(text)
        case ToolCall(id, name):
            return "call", id, name
        case ToolResult(call_id, parts):
            return "result", call_id, [_shape(one) for one in parts]
    return type(part).__name__


def as_given(given: IncomingList, payload: Payload) -> Payload:
    """A message that is not the caller's own: as bytes if the caller gives bytes, else as an object."""
    return payload if isinstance(given.messages[-1], bytes) else payloads.decode(payload)


def _position_of(origins: Sequence[Origin], given: IncomingList) -> int | None:
    """The position of the message that the repair changed; None if it made the message from several."""
    indices = {origin.index for origin in origins}
    return given.leading_system_messages + indices.pop() if len(indices) == 1 else None
