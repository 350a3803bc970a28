"""What the parts of recorded sessions cost: the share of the bill by kind of part, and of what was sent word for word before.

python -m bench.parts
"""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.corpus import TIMED_AGENTS, recorded_files
from bench.view_windows import requests_by_window
from redline import read_transcript
from redline.prices import PRICE_RULES
from redline.rules import Seen
from redline.rules.results import kind_of_actions
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.risk import seen_in
from redline.sessions.replay.under_policy import SessionSizes
from redline.tokens import Estimate, Remembered, count_part
from redline.values.messages import Text, ToolCall, ToolResult

__all__ = ["shares_in"]

_RULE = PRICE_RULES["0.1/1.25/5m"]
_LEAST_CHARS = 200
"""A shorter text comes again by chance."""


def main() -> None:
    """Print the table. Each part is written to the cache once, and read in every request that follows in its window."""
    sums = defaultdict[str, float](float)
    with ProcessPoolExecutor() as pool:
        for found in pool.map(_of_file, recorded_files()):
            for name, cost in found.items():
                sums[name] += cost
    whole = sum(cost for name, cost in sums.items() if not name.startswith("again"))
    print(f"Sessions of {', '.join(TIMED_AGENTS)}, at 0.1/1.25/5m, if the cache is never lost\n")
    print("| part | share of the bill |\n|---|---|")
    for name, cost in sorted(sums.items(), key=lambda item: -item[1]):
        print(f"| {name} | {cost / whole:.2%} |")


def _of_file(path: Path) -> dict[str, float]:
    sums = defaultdict[str, float](float)
    for history in histories_in(read_transcript(path)):
        sizes = SessionSizes(history)
        sums["system prompt, tools"] += sizes.prefix * _RULE.read * len(history.requests)
        for name, cost in shares_in(sizes):
            sums[name] += cost
    return dict(sums)


def shares_in(sizes: SessionSizes) -> Iterator[tuple[str, float]]:
    """Each part that was sent, by its kind, with what it cost; and what is in its window already once more as `again`."""
    history, counter = sizes.history, Remembered(Estimate())
    seen = seen_in(history)
    for window in requests_by_window(history):
        shown = set[str]()
        for request in window:
            price = _RULE.write + _RULE.read * (window[-1].number - request.number)
            for one in (one for index in history.new_in(request) for one in seen[index]):
                cost = sizes.scale * count_part(one.part, counter) * price
                yield _kind(one), cost
                if isinstance(one.part, Text | ToolResult) and len(one.part.text) >= _LEAST_CHARS:
                    if one.part.text in shown:
                        yield f"again: {'a result' if one.result is not None else 'a text'}", cost
                    shown.add(one.part.text)


def _kind(seen: Seen) -> str:
    if isinstance(seen.part, ToolCall):
        return f"input: {kind_of_actions(seen.actions)}"
    if seen.result is not None:
        return f"result: {kind_of_actions(seen.actions)}"
    return f"{type(seen.part).__name__.lower()}: {seen.message.role}"


if __name__ == "__main__":
    main()
