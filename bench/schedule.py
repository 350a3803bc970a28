"""How long `when_free` takes to decide after one more exchange, at growing lengths with thousands of marks that wait.

python -m bench.schedule
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, ClassVar

import redline
from redline.rules.masked_results import MaskedResults
from redline.schedules import Decisions, Rates, ScheduleInput, WhenFree
from redline.testing import asks, conversation
from redline.tokens import Estimate

__all__ = ["Timed", "decisions", "main"]

_LENGTHS = (1_000, 10_000, 100_000)
_STEPS = 100
_RULES = (MaskedResults(keep_recent=10),)
_SECOND_MS = 1_000.0
_WAYS = {
    "every mark waits": WhenFree(Rates(read=1e-6)),
    "a rewrite pays now and then": WhenFree(Rates(read=0.1)),
    "learned: alive at 0.9": WhenFree(Rates(read=0.02)),
}


def main() -> None:
    """Print the table."""
    print(f"\nOne more exchange, masked results, when_free: what deciding takes (of {_STEPS} requests)\n")
    print(f"{'messages':>10} {'':<28} {'marks that wait':>16} {'median ms':>10} {'worst ms':>10}")
    for length in _LENGTHS:
        for way, schedule in _WAYS.items():
            waiting, seconds = decisions(schedule, length, reports_cache=way.startswith("learned"))
            median, worst = statistics.median(seconds) * 1000, max(seconds) * 1000
            print(f"{length:10,} {way:<28} {waiting:16,} {median:10.3f} {worst:10.3f}")


@dataclass(frozen=True)
class Timed:
    """Another schedule, and what each of its decisions took: of the processor, so that what else runs counts less."""

    name: ClassVar[str] = "timed"
    needs_ledger: ClassVar[bool] = True

    schedule: WhenFree
    seconds: list[float] = field(default_factory=list)

    def decide(self, case: ScheduleInput) -> Decisions:
        """As the other one does."""
        start = time.process_time()
        decided = self.schedule.decide(case)
        self.seconds.append(time.process_time() - start)
        return decided


def decisions(schedule: WhenFree, length: int, *, reports_cache: bool = False, steps: int = _STEPS) -> tuple[int, list[float]]:
    """How many marks wait in a conversation of so many messages that is warm, and what each decision takes from then on."""
    exchanges = _exchanges()
    before = islice(chain.from_iterable(exchanges), length)
    talk = redline.Conversation(before, format="openai_chat", counter=Estimate())
    talk.request(now=0.0, rules=(), schedule=schedule)  # all of it is sent, and then cached
    timed = Timed(schedule)
    for number in range(steps + 1):
        for message in next(exchanges):
            talk.add(message)
        made = talk.request(now=(number + 1) * _SECOND_MS, rules=_RULES, schedule=timed)
        if reports_cache:
            talk.record_usage(input_tokens=50_000, cache_read_tokens=45_000)
    return len(made.held), timed.seconds[1:]  # the first one learns of all that was said before


def _exchanges() -> Iterator[list[Any]]:
    number = 0
    while True:
        result = f"line {number} of the output\n" * (10 + number % 50)
        yield conversation("openai_chat", asks("Bash", {"command": "make"}, result, id=f"c{number}"))
        number += 1


if __name__ == "__main__":
    main()
