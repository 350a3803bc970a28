"""`redline diff`: two requests, two policies, or the record and what is sent of it, message by message."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import click

from redline.cli.figures import date_and_time
from redline.cli.looked_at import CONVERSATION_HELP, POLICY_HELP, LookedAt, look_at, one_session
from redline.cli.on_each import FINE
from redline.cli.output import Line, Styled, columns_of_terminal, counted, say_json, show_page
from redline.cli.printable import shortened, width_of, wrapped
from redline.cli.session_argument import SESSION
from redline.errors import ValidationError
from redline.inspection.playback import Playback
from redline.inspection.read_session import AUTO, SENT
from redline.inspection.request_diff import (
    ComparedForm,
    ComparedMessage,
    ComparedSide,
    EqualRun,
    RequestDiff,
    compare_sides,
    shown_diff,
    side_of_record,
    side_of_request,
)
from redline.inspection.shown import replacement_text
from redline.inspection.shown_requests import repairs_of, request_numbers, shown_request
from redline.inspection.visible_text import visible_lines

__all__ = ["command"]

_COLORS = {"-": "red", "+": "green"}
_MOST_ALONE = 12
"""More messages in a row that only one side has are one line."""


@click.command("diff")
@click.argument("session", type=SESSION, metavar="SESSION")
@click.option("--requests", nargs=2, type=click.IntRange(min=0), metavar="A B", help="Two requests, from 0.")
@click.option("--last", "is_last", is_flag=True, help="The last two requests.")
@click.option("--policies", nargs=2, metavar="A B", help="Two policies, at one request: names or files, as for --policy.")
@click.option("--request", type=click.IntRange(min=0), metavar="N", help="Which request; without it, the last.")
@click.option("--policy", default=AUTO, metavar="NAME_OR_FILE", help=POLICY_HELP)
@click.option("--conversation", "number", default=0, show_default=True, help=CONVERSATION_HELP)
@click.option("--no-pager", is_flag=True, help="Straight to the terminal, however long it is.")
@click.option("--json", "as_json", is_flag=True, help="One object with both sides and the rows, for programs.")
def command(
    session: str,
    requests: tuple[int, int] | None,
    is_last: bool,
    policies: tuple[str, str] | None,
    request: int | None,
    policy: str,
    number: int,
    no_pager: bool,
    as_json: bool,
) -> int:
    """Compare, message by message: the record of a SESSION with what is sent of it, two requests, or two policies.

    Runs of messages that are the same on both sides are folded. How much of the front is equal byte for byte is how much a
    provider's cache can be read again. Tokens are as the provider counts them where it reported usage, and estimated
    elsewhere.

    Exit code 0, whether there are differences or not; 2 if the session could not be read, or has no such request.

    \b
    Examples:
      redline diff 1
      redline diff session.jsonl --requests 40 41
      redline diff session.jsonl --policies default superseded
      redline diff chat.jsonl --last --json
    """
    if sum((requests is not None, is_last, policies is not None)) > 1:
        raise click.UsageError("--requests, --last and --policies exclude each other")
    if request is not None and (requests is not None or is_last):
        raise click.UsageError("--request goes with --policies, or stands alone; --requests names both")
    looked_at = look_at(one_session(session), number)
    end = len(looked_at.player.history.requests) - 1
    if end < (1 if is_last else 0):
        count = counted(end + 1, "request")
        raise ValidationError(f"{looked_at.source.name} has {count}, which is too few to compare.")
    at = end if request is None else request
    if policies is not None:
        a, b = (_Side.of_request(looked_at, looked_at.playback(one), at, one) for one in policies)
    else:
        playback = looked_at.playback(policy)
        if requests is None and not is_last:
            a, b = _Side.of_record(looked_at, playback, at), _Side.of_request(looked_at, playback, at, playback.name)
        else:
            first, second = requests or (end - 1, end)
            a, b = (_Side.of_request(looked_at, playback, one, playback.name) for one in (first, second))
    found = compare_sides(a.side, b.side)
    if as_json:
        say_json({"a": a.shown(), "b": b.shown(), **shown_diff(found), "same_prefix_messages": found.same_messages})
        return FINE
    show_page(chain(_heads(a, b), _front(found, a), _lines(found)), is_paged=not no_pager)
    return FINE


@dataclass(frozen=True, slots=True)
class _Side:
    """One side, and what it is called."""

    looked_at: LookedAt
    title: str
    number: int
    side: ComparedSide

    @classmethod
    def of_request(cls, looked_at: LookedAt, playback: Playback, number: int, policy: str) -> "_Side":
        """A request as it was sent, or would have been."""
        repairs = repairs_of(playback, number, looked_at.session.log).repairs
        under = f" under the policy {policy}" if playback.is_hypothetical else " as it was sent"
        return cls(looked_at, f"request {number}{under}", number, side_of_request(playback, number, repairs))

    @classmethod
    def of_record(cls, looked_at: LookedAt, playback: Playback, number: int) -> "_Side":
        """All that had been said, as it was said."""
        return cls(looked_at, f"the record up to request {number}", number, side_of_record(playback, number))

    @property
    def tokens(self) -> int:
        """Of all that is sent, with what is before the messages."""
        prefix = self.side.playback.player.sizes.prefix
        return round(prefix + sum(one.tokens for one in self.side.messages.values()))

    def shown(self) -> dict[str, Any]:
        """As plain values."""
        if self.title.startswith("the record"):
            numbers = request_numbers(self.side.playback, self.number)
            return {"number": None, "end": numbers["end"], "messages": len(self.side.messages), "sent_tokens": self.tokens}
        policy = self.side.playback.name or SENT
        return {**shown_request(self.side.playback, self.number, self.looked_at.session.log), "policy": policy}


def _heads(a: _Side, b: _Side) -> Iterator[Line]:
    for sign, one, color in (("---", a, _COLORS["-"]), ("+++", b, _COLORS["+"])):
        time = date_and_time(one.side.playback.history.requests[one.number].time_ms)
        told = [one.title, time, counted(len(one.side.messages), "message"), f"about {one.tokens:,} tokens"]
        for line in wrapped(f"{sign} {' · '.join(filter(None, told))}", columns_of_terminal()):
            yield (Styled(line, color=color, is_bold=True),)


def _front(found: RequestDiff, a: _Side) -> Iterator[Line]:
    """How much a cache can be read again."""
    if not found.same_messages:
        told = "No message in front is the same, so a cache holds nothing for both but what is sent before the messages."
    elif found.same_messages == len(a.side.messages):
        told = f"All of the first is the beginning of the second: the cache is good for about {found.same_tokens:,} tokens."
    else:
        last = list(a.side.messages)[found.same_messages - 1]
        told = f"Equal byte for byte up to message {last}: the cache is good for about {found.same_tokens:,} tokens."
    for line in wrapped(told, columns_of_terminal()):
        yield (Styled(line, color="cyan"),)
    yield ()


def _lines(found: RequestDiff) -> Iterator[Line]:
    for kind, group in groupby(found.rows, _side_it_is_on):
        rows = list(group)
        if kind in ("-", "+") and len(rows) > _MOST_ALONE:
            messages = [row for row in rows if isinstance(row, ComparedMessage)]
            tokens = sum(one.tokens for row in messages for one in (row.a, row.b) if one is not None)
            said = f"{kind} {counted(len(rows), 'message')} from {messages[0].index} to {messages[-1].index}, {tokens:,} tokens"
            yield (Styled(said, color=_COLORS[kind]),)
            continue
        for row in rows:
            if isinstance(row, EqualRun):
                which = f"message {row.start}" if row.count == 1 else f"messages {row.start} to {row.end - 1}"
                yield (Styled(f"  {which}: the same, {row.tokens:,} tokens", is_dim=True),)
            else:
                yield from filter(None, (_line("-", row, row.a), _line("+", row, row.b)))


def _side_it_is_on(row: ComparedMessage | EqualRun) -> str:
    """The sign of a message that only one side has."""
    if isinstance(row, EqualRun) or (row.a is not None and row.b is not None):
        return ""
    return "-" if row.b is None else "+"


def _line(sign: str, row: ComparedMessage, sent: ComparedForm | None) -> Line:
    """A message on one side; nothing where it is absent."""
    if sent is None:
        return ()
    head = f"{sign} {row.index:>4} {row.role:<9} {sent.tokens:>7,}  "
    says = row.says
    if sent.strikes:
        one = sent.strikes[0]
        words = replacement_text(one.replacement) or "removed"
        says = f"[{one.rule}] {words}" + (f" (and {len(sent.strikes) - 1} more)" if len(sent.strikes) > 1 else "")
    elif sent.changes:
        says = f"[repaired] {sent.changes[0]}"
    room = max(columns_of_terminal() - width_of(head), 20)
    text = shortened(" ".join(visible_lines(says)), room, at_end=True)
    return (Styled(head + text, color=_COLORS[sign]),)
