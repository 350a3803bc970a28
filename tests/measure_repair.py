"""How damaged recorded sessions come out of the repair: `python -m tests.measure_repair`."""

import time
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import click

from redline import FORMATS, check, clean_orphaned_tool_calls, convert, make_legal
from redline.agents.readers import read_transcript
from redline.repair import INTERRUPTED, Strategy
from redline.values.messages import Message
from tests.corpus import corpus_path, corpus_rows
from tests.repair.damage import WOUNDS, append_itself, damaged_at_random, delay

HISTORIES = 300
AGENTS = ("claude-code", "codex", "opencode", "openhands", "pi")
LASTING_WOUNDS = [wound for wound in WOUNDS if wound is not append_itself]  # doubling a long session makes it no worse
STRATEGIES: tuple[Strategy, ...] = ("drop", "answer", "strip")


def main() -> None:
    """Damage each history in each format, repair it, and count."""
    histories = list(recorded())
    click.echo(f"{len(histories)} histories, {sum(map(len, histories)):,} messages, seeded damage to 1 message in 20")
    click.echo("| format | legal before | legal after, each strategy | late results reunited | time a message |")
    click.echo("|---|---|---|---|---|")
    for name in FORMATS:
        click.echo(row(name, histories))


def recorded() -> Iterator[list[Message]]:
    """Histories of some hundred messages, cut from recorded sessions."""
    rng, sessions = Random(1), [entries for agent in AGENTS for entries in sessions_of(agent)]
    for _ in range(HISTORIES):
        entries = rng.choice(sessions)
        start = rng.randrange(max(len(entries) - 50, 1))
        yield [entry.message for entry in entries[start : start + rng.randint(20, 300)]]


def sessions_of(agent: str) -> Iterator[Any]:
    """The entries of each conversation with an agent that is long enough."""
    for found in corpus_rows(agent):
        yield from (one.entries for one in read_transcript(corpus_path(found)) if len(one.entries) >= 50)


def row(name: str, histories: list[list[Message]]) -> str:
    """What became of them in one format."""
    tally = Tally()
    rng = Random(2)
    for history in histories:
        native = [message.native for message in history]
        whole = make_legal(convert(native, source=history[0].format, target=name).messages, format=name)
        wounds = 1 + len(whole) // 20
        tally.repair(damaged_at_random(whole, name, rng, wounds, LASTING_WOUNDS), name)
        tally.reunite(whole, damaged_at_random(whole, name, rng, wounds, [delay]), name)
    before, after = tally.legal_before / len(histories), (tally.legal_after[one] / len(histories) for one in STRATEGIES)
    reunited = f"{tally.reunited:,} of {tally.late:,}"
    each = tally.seconds / tally.messages * 1e6
    return f"| `{name}` | {before:.0%} | {' / '.join(f'{share:.1%}' for share in after)} | {reunited} | {each:.0f} µs |"


class Tally:
    """What is counted in one format."""

    def __init__(self) -> None:
        self.legal_before, self.legal_after = 0, Counter[str]()
        self.late, self.reunited = 0, 0
        self.seconds, self.messages = 0.0, 0

    def repair(self, broken: list[Any], name: str) -> None:
        """A damaged history, with every strategy."""
        self.legal_before += not check(broken, format=name)
        for strategy in STRATEGIES:
            began = time.process_time()
            repaired = make_legal(broken, format=name, strategy=strategy)
            self.seconds += time.process_time() - began
            self.messages += len(broken)
            self.legal_after[strategy] += not check(repaired, format=name)

    def reunite(self, whole: list[Any], delayed: list[Any], name: str) -> None:
        """A history in which results came late: those that cleaning alone would lose."""
        in_place = result_count(clean_orphaned_tool_calls(delayed, format=name, strategy="answer"), name)
        self.late += result_count(whole, name) - in_place
        self.reunited += result_count(make_legal(delayed, format=name, strategy="answer"), name) - in_place


def result_count(native: list[Any], name: str) -> int:
    """How many results say what a tool said."""
    read = (FORMATS[name].read(payload) for payload in native)
    return sum(INTERRUPTED not in result.text for message in read for result in message.results)


if __name__ == "__main__":
    main()
