"""How many tool calls of the recorded sessions are known, as a table of docs/replay-and-results.md: `python -m bench.tools`."""

import time
from collections.abc import Iterator

from bench.corpus import recorded_files
from redline.agents.readers import READERS, read_transcript
from redline.tools import Action, Lists, Reads, Runs, Searches, describe
from redline.values import ToolCall

_LOOKS = (Reads, Lists, Searches)
_SHOPS = frozenset({"tau-bench", "tau2-bench"})
"""Their tools are those of a shop and an airline, made up for each task."""


def main() -> None:
    """Describe every call, and print the shares by agent."""
    agents = sorted({reader.name for reader in READERS} - _SHOPS)
    calls_of = {agent: list(_calls_of(agent)) for agent in agents}
    print("| agent | calls | described | commands | of them looks |\n|---|---|---|---|---|")
    count, seconds = 0, 0.0
    for agent, calls in calls_of.items():
        started = time.process_time()
        described = [describe(call) for call in calls]
        seconds += time.process_time() - started
        count += len(calls)
        if calls:
            print(_row(agent, described))
    print(f"\n{1e6 * seconds / count:.0f} µs a call")


def _row(agent: str, described: list[tuple[Action, ...]]) -> str:
    commands = [actions for actions in described if any(isinstance(action, Runs) for action in actions)]
    looks = sum(any(isinstance(action, _LOOKS) for action in actions) for actions in commands)
    share = sum(map(bool, described)) / len(described)
    return f"| {agent} | {len(described):,} | {100 * share:.1f} % | {len(commands):,} | {looks:,} |"


def _calls_of(agent: str) -> Iterator[ToolCall]:
    for path in recorded_files((agent,)):
        for conversation in read_transcript(path):
            for entry in conversation.walk():
                yield from entry.message.calls
                yield from entry.text_calls


if __name__ == "__main__":
    main()
