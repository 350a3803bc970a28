"""Turns with the proxy that a client never saw: put back into the lists that it sends, so that the model's past stays true."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from redline.conversation.resent.incoming import IncomingList, ListReader
from redline.conversation.resent.outgoing import as_given
from redline.conversation.resent.tree import HistoryTree
from redline.providers.format import Format
from redline.record.records import TurnsHidden
from redline.values import payloads
from redline.values.messages import Message, Reasoning, Text
from redline.values.payloads import Payload

Positions = list[int | None]
"""Of each message of a list its position in the client's; None for one that the client does not have."""


def shown_digest(messages: Sequence[Message]) -> bytes:
    """Of the words and calls of an answer, whatever the white space, the ids and the number of messages it is divided into."""
    said = [_squeezed(messages), [[call.name, call.arguments] for message in messages for call in message.calls]]
    return hashlib.blake2b(payloads.canonical(said), digest_size=16).digest()


def with_hidden_turns(given: IncomingList, tree: HistoryTree, reader: ListReader) -> tuple[IncomingList, Positions]:
    """The list with the turns that its client was not shown, and the client's position of each message."""
    positions: Positions = list(range(len(given.messages)))
    start = 0
    while tree.hidden and (place := next(_places(given, tree, start), None)) is not None:
        at, end, turns, said = place
        run = [given.format.read(native) for native in given.natives[at:end]]
        if turns.thoughts and not any(isinstance(part, Reasoning) for one in run for part in one.parts):
            said = tuple(_without_reasoning(given.format, said))  # as the client has done, perhaps because it was refused
        last = _shown_last(given.format, run, [given.format.read(one) for one in said], turns)
        inserted = [
            *((None, one) for one in said),
            *((None if step is None else positions[at + step], one) for step, one in last),
        ]
        rest = [(positions[end + step], one) for step, one in enumerate(given.natives[end:])]
        rest = _with_results(given.format, rest, turns.results)
        pieces = [*zip(positions[:at], given.natives[:at], strict=True), *inserted, *rest]
        known = {id(native): message for native, message in zip(given.natives, given.messages, strict=True)}
        messages: list[Payload] = [known[id(one)] if id(one) in known else as_given(given, one) for _, one in pieces]
        times = _times(given, positions, [position for position, _ in pieces])
        positions, start = [position for position, _ in pieces], at + len(inserted)
        given = reader.read(messages, format=given.format.name, session=given.session, namespace=given.namespace, times=times)
    return given, positions


def _places(given: IncomingList, tree: HistoryTree, start: int) -> Iterator[tuple[int, int, TurnsHidden, tuple[bytes, ...]]]:
    """Where the list has an answer in the place of turns, from a place on: the first message of it, its end, and the turns."""
    lead = given.leading_system_messages
    for number, chain in enumerate(given.chains, start=1):
        at = lead + number
        turns = tree.hidden.get(chain) if at >= max(start, 1) else None
        if turns is None or at >= len(given.natives):
            continue
        run = list[Message]()
        while (
            at + len(run) < len(given.natives) and (one := given.format.read(given.natives[at + len(run)])).role == "assistant"
        ):
            run.append(one)
        found = turns.get(shown_digest(run)) if run else None
        if found is not None:
            yield at, at + len(run), *found


def _times(given: IncomingList, before: Positions, after: Positions) -> list[float | None]:
    """The times of the messages, those of hidden ones unknown; none where the caller gave none."""
    if not given.times:
        return []
    lead = given.leading_system_messages
    known = {position: time for position, time in zip(before[lead:], given.times, strict=True) if position is not None}
    return [None if position is None else known.get(position) for position in after]


# --- the last of the turns, which the client has with all that was shown before it


def _shown_last(
    format: Format, run: Sequence[Message], said: Sequence[Message], turns: TurnsHidden
) -> list[tuple[int | None, bytes]]:
    """The last of the turns as the client has it: without what earlier turns said, with the calls that it was not shown. With
    each message its number in the run."""
    earlier = [one for one in said if one.role == "assistant"]
    left = len(_squeezed(earlier))
    thoughts = [part for one in run for part in one.parts if isinstance(part, Reasoning)]
    own = [part for one in earlier for part in one.parts if isinstance(part, Reasoning)]
    gone = len(own) if len(thoughts) == turns.thoughts else 0
    kept = list[tuple[int | None, Message]]()
    for number, message in enumerate(run):
        dropped = list[Any]()
        changed = message
        for part in message.parts:
            if isinstance(part, Reasoning) and gone:
                gone -= 1
                dropped.append(part)
            elif isinstance(part, Text) and left:
                rest, left = _without_start(part.text, left)
                if rest:
                    changed = format.rewrite(message, part, rest)
                else:
                    dropped.append(part)
        if dropped:
            places = {part.at for part in dropped}
            rest_of_it = format.remove(changed, [part for part in changed.parts if part.at in places])
            if rest_of_it is not None:
                kept.append((number, rest_of_it))
        else:
            kept.append((number, changed))
    return list(_with_calls(format, kept, turns.calls))


def _with_calls(
    format: Format, kept: Sequence[tuple[int | None, Message]], calls: Sequence[tuple[int, bytes]]
) -> Iterator[tuple[int | None, bytes]]:
    """The messages with calls that the client was not shown, each before the call of the client's that came after it."""
    waiting, before = list(calls), 0
    last = max((place for place, (_, message) in enumerate(kept) if message.calls), default=None)
    for place, (number, message) in enumerate(kept):
        own = message.calls
        if format.items_are_messages:
            while waiting and own and waiting[0][0] <= before:
                yield None, waiting.pop(0)[1]
            yield number, payloads.encoded(message.native)
        else:
            native, shift = payloads.decode(message.native), 0
            for call in own:
                field, index = str(call.at[0]), int(call.at[1])
                while waiting and waiting[0][0] <= before + own.index(call):
                    native = _inserted(native, field, index + shift, waiting.pop(0)[1])
                    shift += 1
            while place == last and waiting:
                native = _inserted(native, str(own[-1].at[0]), int(own[-1].at[1]) + 1 + shift, waiting.pop(0)[1])
                shift += 1
            yield number, payloads.encode(native) if shift else payloads.encoded(message.native)
        before += len(own)
    if format.items_are_messages:
        yield from ((None, one) for _, one in waiting)


def _inserted(native: dict[str, Any], field: str, index: int, block: bytes) -> dict[str, Any]:
    held = list(native[field])
    return {**native, field: [*held[:index], payloads.decode(block), *held[index:]]}


def _with_results(
    format: Format, rest: list[tuple[int | None, bytes]], results: Sequence[bytes]
) -> list[tuple[int | None, bytes]]:
    """What comes after the answer, with the results of calls that the client was not shown: in its message of results, where
    a provider wants all of a turn in one."""
    if not results:
        return rest
    if format.blocks_field is not None and rest:
        position, native = rest[0]
        message = format.read(native)
        if message.results:
            gathered = format.gather(message, [format.read(one) for one in results])
            return [(position, payloads.encoded(gathered.native)), *rest[1:]]
    return [*((None, one) for one in results), *rest]


def _without_reasoning(format: Format, natives: Sequence[bytes]) -> Iterator[bytes]:
    for message in map(format.read, natives):
        left = format.remove(message, [part for part in message.parts if isinstance(part, Reasoning)])
        if left is not None:
            yield payloads.encoded(left.native)


def _squeezed(messages: Sequence[Message]) -> str:
    """The words of an answer without white space, which clients trim and join in their own ways."""
    return "".join("".join(part.text.split()) for message in messages for part in message.parts if isinstance(part, Text))


def _without_start(text: str, count: int) -> tuple[str, int]:
    """A text without its first letters, not counting white space; and how many letters were not found."""
    for at, letter in enumerate(text):
        if not letter.isspace():
            if not count:
                return text[at:], 0
            count -= 1
    return "", count
