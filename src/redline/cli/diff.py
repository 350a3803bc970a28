"""`redline diff`: two requests, two policies, or the record and what is sent of it, message by message."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Any

import click

from redline.cli.arguments import SESSION
from redline.cli.formatting import date_and_time, shortened, width_of, wrapped
from redline.cli.loaded_session import CONVERSATION_HELP, EXIT_OK, POLICY_HELP, LoadedSession, load_session
from redline.cli.output import Line, columns_of_terminal, counted, say_json, show_page
from redline.engine.fold_words import deed_of
from redline.errors import ValidationError
from redline.sessions.playback import Playback
from redline.sessions.read_session import AUTO, SENT
from redline.sessions.request_diff import (
    ComparedForm,
    ComparedMessage,
    ComparedSide,
    EqualRun,
    RequestDiff,
    compare_sides,
    diff_to_json,
    side_of_record,
    side_of_request,
)
from redline.sessions.to_json import repairs_of, replacement_text, request_numbers, request_to_json
from redline.sessions.words import visible_lines

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
    loaded = load_session(session, number)
    end = len(loaded.player.history.requests) - 1
    if end < (1 if is_last else 0):
        count = counted(end + 1, "request")
        raise ValidationError(f"{loaded.source.name} has {count}, which is too few to compare.")
    at = end if request is None else request
    if policies is not None:
        a, b = (_Side.of_request(loaded, loaded.playback(one), at, one) for one in policies)
    else:
        playback = loaded.playback(policy)
        if requests is None and not is_last:
            a, b = _Side.of_record(loaded, playback, at), _Side.of_request(loaded, playback, at, playback.name)
        else:
            first, second = requests or (end - 1, end)
            a, b = (_Side.of_request(loaded, playback, one, playback.name) for one in (first, second))
    found = compare_sides(a.side, b.side)
    if as_json:
        say_json({"a": a.shown(), "b": b.shown(), **diff_to_json(found), "same_prefix_messages": found.same_messages})
        return EXIT_OK
    show_page(chain(_heads(found, a, b), _lines(found)), is_paged=not no_pager)
    return EXIT_OK


@dataclass(frozen=True, slots=True)
class _Side:
    """One side, and what it is called."""

    loaded: LoadedSession
    title: str
    number: int
    side: ComparedSide

    @classmethod
    def of_request(cls, loaded: LoadedSession, playback: Playback, number: int, policy: str) -> "_Side":
        """A request as it was sent, or would have been."""
        repairs = repairs_of(playback, number, loaded.session.log).repairs
        under = f" under the policy {policy}" if playback.is_hypothetical else " as it was sent"
        return cls(loaded, f"request {number}{under}", number, side_of_request(playback, number, repairs))

    @classmethod
    def of_record(cls, loaded: LoadedSession, playback: Playback, number: int) -> "_Side":
        """All that had been said, as it was said."""
        return cls(loaded, f"the record up to request {number}", number, side_of_record(playback, number))

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
        return {**request_to_json(self.side.playback, self.number, self.loaded.session.log), "policy": policy}


def _heads(found: RequestDiff, a: _Side, b: _Side) -> Iterator[Line]:
    """The two sides, and how much a cache can be read again."""
    for sign, one, color in (("---", a, _COLORS["-"]), ("+++", b, _COLORS["+"])):
        time = date_and_time(one.side.playback.history.requests[one.number].time_ms)
        told = [one.title, time, counted(len(one.side.messages), "message"), f"about {one.tokens:,} tokens"]
        for line in wrapped(f"{sign} {' · '.join(filter(None, told))}", columns_of_terminal()):
            yield [(line, f"bold {color}")]
    if not found.same_messages:
        front = "No message in front is the same, so a cache holds nothing for both but what is sent before the messages."
    elif found.same_messages == len(a.side.messages):
        front = f"All of the first is the beginning of the second: the cache is good for about {found.same_tokens:,} tokens."
    else:
        last = list(a.side.messages)[found.same_messages - 1]
        front = f"Equal byte for byte up to message {last}: the cache is good for about {found.same_tokens:,} tokens."
    for line in wrapped(front, columns_of_terminal()):
        yield [(line, "cyan")]
    yield ()


def _lines(found: RequestDiff) -> Iterator[Line]:
    signs = {(False, True): "+", (True, False): "-"}  # of a message that only one side has
    for kind, group in groupby(
        found.rows, lambda row: "" if isinstance(row, EqualRun) else signs.get((row.a is not None, row.b is not None), "")
    ):
        rows = list(group)
        if kind in ("-", "+") and len(rows) > _MOST_ALONE:
            messages = [row for row in rows if isinstance(row, ComparedMessage)]
            tokens = sum(one.tokens for row in messages for one in (row.a, row.b) if one is not None)
            said = f"{kind} {counted(len(rows), 'message')} from {messages[0].index} to {messages[-1].index}, {tokens:,} tokens"
            yield [(said, _COLORS[kind])]
            continue
        for row in rows:
            if isinstance(row, EqualRun):
                which = f"message {row.start}" if row.count == 1 else f"messages {row.start} to {row.end - 1}"
                yield [(f"  {which}: the same, {row.tokens:,} tokens", "dim")]
            else:
                yield from filter(None, (_line("-", row, row.a), _line("+", row, row.b)))


def _line(sign: str, row: ComparedMessage, sent: ComparedForm | None) -> Line:
    """A message on one side; nothing where it is absent."""
    if sent is None:
        return ()
    head = f"{sign} {row.index:>4} {row.role:<9} {sent.tokens:>7,}  "
    says = row.says
    if sent.strikes:
        one = min(sent.strikes, key=lambda strike: strike.is_fold)
        words = one.because if one.is_fold else replacement_text(one.replacement) or "removed"
        says = f"[{deed_of(one) if one.is_fold else one.rule}] {words}"
        says += f" (and {len(sent.strikes) - 1} more)" if len(sent.strikes) > 1 else ""
    elif sent.changes:
        says = f"[repaired] {sent.changes[0]}"
    room = max(columns_of_terminal() - width_of(head), 20)
    text = shortened(" ".join(visible_lines(says)), room, at_end=True)
    return [(head + text, _COLORS[sign])]
