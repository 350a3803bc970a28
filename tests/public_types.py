"""What a strict type checker sees of the public names: `make check` reads this file, nothing runs it.

R162: were a mistake not found, its ignore would be reported as unused.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

import redline
from redline.rules import Fold, Mark, Seen, StaleTerminal, TimelessFold
from redline.schedules import Decision, ScheduleInput


class MessageParam(TypedDict):
    """A message as the SDKs type it."""

    role: str
    content: str


def misspelled_names_are_found() -> None:
    """Of the package, of its parts, and of arguments."""
    redline.Conversaton(polcy=1)  # type: ignore[attr-defined]
    redline.Conversation(polcy=1)  # type: ignore[call-arg]
    redline.Policy(rulse=[])  # type: ignore[call-arg]
    redline.Policy.careful(wrods=redline.EN)  # type: ignore[call-arg]
    redline.open("chat.jsonl", modle="claude-sonnet-4-6")  # type: ignore[call-arg]
    redline.rules.StaleTerminl()  # type: ignore[attr-defined]
    redline.log.open_lgo("chat.jsonl")  # type: ignore[attr-defined]
    redline.blobs.open_blob("blobs")  # type: ignore[attr-defined]
    redline.testing.fake_providr()  # type: ignore[attr-defined]


def names_have_their_types() -> None:
    """Those of `redline`, those of its packages, and those that were in `redline` before."""
    assert_type(redline.Conversation(), redline.Conversation)
    assert_type(redline.Budget(trigger_tokens=1), redline.schedules.Budget)
    assert_type(redline.rules.StaleTerminal(), StaleTerminal)
    assert_type(redline.__version__, str)


def lists_and_typed_messages_are_taken(messages: list[MessageParam], plain: list[dict[str, str]]) -> None:
    """A list of rules is as good as a tuple; messages may be the SDK's own types."""
    redline.Policy(rules=[StaleTerminal(), "historical_reads"])
    redline.Policy(rules=("stale_terminal",))
    redline.Policy.bold(recall_tool="recall", words=redline.EN, project_root="/home/dev/shop")
    redline.check(messages)
    redline.make_legal(plain)
    redline.Conversation(messages).add(messages[0])
    redline.Editor().edit(plain)
    assert_type(redline.simplify_outdated_terminal_results(messages, now=0), list[Any])


@dataclass(frozen=True)
class Everything:
    """A rule of one's own, without a word about class variables."""

    name = "everything"

    def fold(self) -> Fold:
        return EverythingFold()


class EverythingFold(TimelessFold):
    """Marks each result."""

    def see(self, seen: Seen) -> Iterator[Mark]:
        if seen.result is not None:
            yield Mark("everything", seen.index, seen.part.at, "[gone]", "it is a result")


@dataclass(frozen=True)
class Never:
    """A schedule of one's own."""

    name = "never"
    needs_ledger = False

    def decide(self, case: ScheduleInput) -> list[Decision]:
        return [Decision(mark, is_applied=False, why="never") for mark in case.pending]


def extensions_are_taken(talk: redline.Conversation) -> None:
    """In a policy, and for one request."""
    redline.Policy(rules=[Everything()], schedule=Never())
    talk.request(rules=[Everything(), "stale_terminal"], schedule=Never())
