"""Two requests side by side, message by message: what is sent in both, in one, or struck in one; and their equal front."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from redline.inspection.call_words import call_words
from redline.inspection.playback import Playback
from redline.inspection.shown import part_key, replacement_text
from redline.inspection.shown_requests import made_request
from redline.repair import Change
from redline.replay.history import PastStrike
from redline.values.messages import Message, ToolCall

__all__ = [
    "ComparedForm",
    "ComparedMessage",
    "ComparedSide",
    "EqualRun",
    "RequestDiff",
    "compare_sides",
    "line_of",
    "shown_diff",
    "side_of_record",
    "side_of_request",
]

_LONGEST_LINE = 140


@dataclass(frozen=True, slots=True)
class ComparedForm:
    """How a message is sent: its size, and what makes its bytes differ from the record's."""

    tokens: int
    changes: tuple[str, ...] = ()
    """Strikes with what takes the place of each, and repairs."""
    strikes: tuple[PastStrike, ...] = ()

    @property
    def state(self) -> str:
        """`sent` as it was said, or `struck`."""
        return "struck" if self.strikes else "sent"


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One side: the messages by index, in the order in which they are sent."""

    playback: Playback
    messages: dict[int, ComparedForm]


@dataclass(frozen=True, slots=True)
class ComparedMessage:
    """A message that is not the same on both sides; None where it is absent."""

    index: int
    role: str
    says: str
    a: ComparedForm | None
    b: ComparedForm | None


@dataclass(frozen=True, slots=True)
class EqualRun:
    """Messages that follow each other and are the same on both sides."""

    start: int
    end: int
    """Not included."""
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class RequestDiff:
    """What differs, between runs of what does not."""

    rows: tuple[ComparedMessage | EqualRun, ...]
    same_messages: int
    """So many in front are equal byte for byte, in the order sent."""
    same_tokens: int
    """Theirs, and those of what is sent before all messages."""


def side_of_request(playback: Playback, number: int, repairs: Iterable[Change] = ()) -> ComparedSide:
    """What a request sends. `repairs` are the changes that were made for the provider, where they are known."""
    struck: dict[int, list[PastStrike]] = {}
    for one in playback.in_force(number):
        struck.setdefault(one.index, []).append(one)
    repaired: dict[int, list[str]] = {}
    for change in repairs:
        repaired.setdefault(change.index, []).append(change.what)
    indices = chain.from_iterable(range(*run) for run in made_request(playback, number).visible)
    found = {index: _sent(playback, index, struck.get(index, ()), repaired.get(index, ())) for index in indices}
    return ComparedSide(playback, found)


def side_of_record(playback: Playback, number: int) -> ComparedSide:
    """Everything that had been said by a request, as it was said."""
    said = range(made_request(playback, number).end)
    return ComparedSide(playback, {index: _sent(playback, index) for index in said})


def _sent(playback: Playback, index: int, strikes: Sequence[PastStrike] = (), repairs: Sequence[str] = ()) -> ComparedForm:
    said = sum(part.tokens for part in playback.player.sizes_of(index))
    saved = sum(one.tokens_saved for one in strikes)
    changes = [f"{part_key(one.at)} {replacement_text(one.replacement)}" for one in strikes]
    return ComparedForm(max(said - saved, 0), (*changes, *repairs), tuple(strikes))


def compare_sides(a: ComparedSide, b: ComparedSide) -> RequestDiff:
    """Two sides of one conversation."""
    rows: list[ComparedMessage | int] = []
    for index in sorted(a.messages.keys() | b.messages.keys()):
        left, right = a.messages.get(index), b.messages.get(index)
        if left is not None and right is not None and left.changes == right.changes:
            rows.append(index)
            continue
        message = a.playback.history.load(index)
        rows.append(ComparedMessage(index, message.role, line_of(message), left, right))
    same = 0
    for left_one, right_one in zip(a.messages.items(), b.messages.items(), strict=False):
        if left_one[0] != right_one[0] or left_one[1].changes != right_one[1].changes:
            break
        same += 1
    front = sum(one.tokens for one in list(a.messages.values())[:same])
    prefix = a.playback.player.sizes.prefix
    return RequestDiff(tuple(_folded(rows, a.messages)), same, round(prefix + front))


def _folded(rows: Sequence[ComparedMessage | int], messages: dict[int, ComparedForm]) -> Iterator[ComparedMessage | EqualRun]:
    """Runs of equal messages as one row."""
    run: list[int] = []
    for row in [*rows, None]:
        if isinstance(row, int):
            run.append(row)
            continue
        if run:
            yield EqualRun(run[0], run[-1] + 1, len(run), sum(messages[index].tokens for index in run))
            run = []
        if row is not None:
            yield row


def line_of(message: Message) -> str:
    """A message in one line."""
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    results = [result.text for result in message.results]
    words = message.text or (call_words(calls[0]) if calls else results[0] if results else "")
    return " ".join(words[: 4 * _LONGEST_LINE].split())[:_LONGEST_LINE]


def shown_diff(diff: RequestDiff) -> dict[str, Any]:
    """A comparison as plain values."""
    return {"rows": [_shown_row(row) for row in diff.rows], "same_prefix_tokens": diff.same_tokens}


def _shown_row(row: ComparedMessage | EqualRun) -> dict[str, Any]:
    if isinstance(row, EqualRun):
        return {"from": row.start, "to": row.end, "count": row.count, "tokens": row.tokens}
    sides = {"a": row.a, "b": row.b}
    states = {side: one.state if one is not None else "absent" for side, one in sides.items()}
    tokens = {f"tokens_{side}": one.tokens if one is not None else 0 for side, one in sides.items()}
    return {"index": row.index, "role": row.role, "says": row.says, **states, **tokens}
