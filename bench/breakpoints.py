"""What cache breakpoints are worth: recorded Claude Code sessions sent through Redline, charged by a cache that knows them.

python -m bench.breakpoints
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bench.corpus import recorded_files
from bench.due_marks import MARK_SETS
from bench.live_loop import lead_through
from bench.prompt_cache import PromptCache, Segment
from redline import Message, Policy, Request, read_transcript
from redline.policy.policy import find_policy
from redline.prices import PRICE_RULES, PriceRule
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.under_policy import SessionSizes
from redline.tokens import Estimate, Remembered, count_part
from redline.values import payloads

_RULES = ("0.1/1.25/5m", "0.1/2/1h")
_LEAST_REQUESTS = 20
_SETS = ("none", *MARK_SETS)

Ends = Callable[[Request], list[int]]
"""From a request to the numbers of blocks at which its caching ends."""


def main() -> None:
    """Print the cost with each way of placing breakpoints, beside a cache that holds every beginning."""
    with ProcessPoolExecutor() as pool:
        found = [row for rows in pool.map(_costs, recorded_files(("claude-code",))) for row in rows]
    print(f"{len(found)} sessions of claude-code with {_LEAST_REQUESTS} requests or more.\n")
    print(f"| price | marks | {' | '.join(_WAYS)} |\n|---|---|{'---|' * len(_WAYS)}")
    for rule in _RULES:
        whole = sum(row[rule, "none", _EVERYWHERE] for row in found)
        for marks in _SETS:
            ratios = (sum(row[rule, marks, way] for row in found) / whole for way in _WAYS)
            print(f"| {rule} | `{marks}` | {' | '.join(f'{ratio:.3f}' for ratio in ratios)} |")


def _costs(path: Path) -> list[dict[tuple[str, str, str], float]]:
    histories = [one for one in histories_in(read_transcript(path)) if len(one.requests) >= _LEAST_REQUESTS]
    return [
        {
            (name, marks, way): cost
            for name in _RULES
            for marks in _SETS
            for way, cost in _Course(SessionSizes(history), PRICE_RULES[name]).costs(marks).items()
        }
        for history in histories
    ]


class _Course:
    """One session at one price, sent as Redline would."""

    def __init__(self, sizes: SessionSizes, rule: PriceRule) -> None:
        self._sizes, self._rule = sizes, rule
        self._counter = Remembered(Estimate())
        self._known: dict[int, tuple[Message, list[Segment]]] = {}

    def costs(self, marks: str) -> dict[str, float]:
        """By way of placing breakpoints, what all requests cost together."""
        caches = {way: PromptCache(self._rule) for way in _WAYS}
        costs = dict.fromkeys(_WAYS, 0.0)
        policy = Policy(rules=()) if marks == "none" else find_policy(marks)
        for recorded, request in lead_through(self._sizes.history, policy, self._rule):
            segments = self._sent(request, recorded.model)
            for way, ends in _WAYS.items():
                breakpoints = None if ends is None else [1, *(end + 1 for end in ends(request))]
                costs[way] += caches[way].send(segments, recorded.time_ms, breakpoints).cost
        return costs

    def _sent(self, request: Request, model: str | None) -> list[Segment]:
        """What is sent besides the messages, marked by the user, then block after block. Another model has another cache."""
        messages = [message for message in [form.message for form in request.sent] if message is not None]
        blocks = [block for message in messages for block in self._blocks(message)]
        return [Segment(("prefix", model), self._sizes.prefix), *blocks]

    def _blocks(self, message: Message) -> list[Segment]:
        """A message's blocks, worked out once; it is kept beside them, so that no other can be taken for it."""
        known = self._known.get(id(message))
        if known is None:
            native, scale = payloads.decode(message.native), self._sizes.scale
            blocks = [
                Segment(payloads.canonical(payloads.value_at(native, part.at)), scale * count_part(part, self._counter))
                for part in message.parts
            ]
            known = self._known[id(message)] = message, blocks
        return known[1]


def _marked(messages: Sequence[dict[str, Any]]) -> list[int]:
    """After how many blocks each breakpoint is."""
    blocks = [block for message in messages for block in message["content"]]
    return [number for number, block in enumerate(blocks, 1) if "cache_control" in block]


_EVERYWHERE = "every beginning cached"
_WAYS: dict[str, Ends | None] = {
    "end only": lambda request: _marked(request.with_breakpoints(1)),
    "end and last end": lambda request: _marked(request.with_breakpoints(2)),
    "`with_breakpoints()`": lambda request: _marked(request.with_breakpoints()),
    _EVERYWHERE: None,
}

if __name__ == "__main__":
    main()
