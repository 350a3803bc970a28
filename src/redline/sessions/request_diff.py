"""Two requests side by side, message by message: what is sent in both, in one, or struck in one; and their equal front."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import Any

from redline.repair import Change
from redline.sessions.playback import Playback
from redline.sessions.replay.history import PastStrike, grouped
from redline.sessions.to_json import made_request, part_key, replacement_text
from redline.sessions.words import call_words
from redline.values.messages import Message, ToolCall

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
        """`sent` as it was said, `folded` where something of it is only smaller, or `struck`."""
        if not self.strikes:
            return "sent"
        return "folded" if all(one.is_fold for one in self.strikes) else "struck"


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
    """The messages that differ, between runs of equal messages."""

    rows: tuple[ComparedMessage | EqualRun, ...]
    same_messages: int
    """So many in front are equal byte for byte, in the order sent."""
    same_tokens: int
    """Theirs, and those of what is sent before all messages."""


def side_of_request(playback: Playback, number: int, repairs: Iterable[Change] = ()) -> ComparedSide:
    """What a request sends. `repairs` are the changes that were made for the provider, where they are known."""
    struck = grouped((one.index, one) for one in playback.in_force(number))
    repaired = grouped((change.index, change.what) for change in repairs)
    indices = made_request(playback, number).indices
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
    """Two sides of one conversation; runs of equal messages are one row."""
    rows: list[ComparedMessage | EqualRun] = []
    for index in sorted(a.messages.keys() | b.messages.keys()):
        left, right = a.messages.get(index), b.messages.get(index)
        if left is None or right is None or left.changes != right.changes:
            message = a.playback.history.load(index)
            rows.append(ComparedMessage(index, message.role, line_of(message), left, right))
        elif rows and isinstance(run := rows[-1], EqualRun):
            rows[-1] = EqualRun(run.start, index + 1, run.count + 1, run.tokens + left.tokens)
        else:
            rows.append(EqualRun(index, index + 1, 1, left.tokens))
    pairs = zip(a.messages.items(), b.messages.items(), strict=False)
    same = sum(1 for _ in takewhile(lambda pair: (pair[0][0], pair[0][1].changes) == (pair[1][0], pair[1][1].changes), pairs))
    front = sum(one.tokens for one in islice(a.messages.values(), same))
    return RequestDiff(tuple(rows), same, round(a.playback.player.sizes.prefix + front))


def line_of(message: Message) -> str:
    """A message in one line."""
    calls = [part for part in message.parts if isinstance(part, ToolCall)]
    results = [result.text for result in message.results]
    words = message.text or (call_words(calls[0]) if calls else results[0] if results else "")
    return " ".join(words[: 4 * _LONGEST_LINE].split())[:_LONGEST_LINE]


def diff_to_json(diff: RequestDiff) -> dict[str, Any]:
    """A comparison as plain values."""
    rows: list[dict[str, Any]] = []
    for row in diff.rows:
        if isinstance(row, EqualRun):
            rows.append({"from": row.start, "to": row.end, "count": row.count, "tokens": row.tokens})
            continue
        told: dict[str, Any] = {"index": row.index, "role": row.role, "says": row.says}
        for side, one in (("a", row.a), ("b", row.b)):
            told |= {side: one.state if one is not None else "absent", f"tokens_{side}": one.tokens if one is not None else 0}
        rows.append(told)
    return {"rows": rows, "same_prefix_tokens": diff.same_tokens}
