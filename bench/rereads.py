"""What a brake does on the recorded sessions: results that were asked for again after a strike, those struck again, the bill.

python -m bench.rereads                 all sessions
python -m bench.rereads 40              every so many of them: a sample
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.corpus import recorded_files
from redline import read_transcript
from redline.engine.pointers import Pointers
from redline.policy.policy import as_replayed, find_policy
from redline.prices import PRICE_RULES
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.simulated_run import SessionReplay

__all__ = ["BRAKES", "sums_of_file"]

POLICIES = ("careful", "balanced", "bold", "masking")
_RULE = next(iter(PRICE_RULES.values()))
_asked_again = Pointers.is_asked_for_again


def _never(*_: object) -> bool:
    return False


def _if_unchanged(pointers: Pointers, subject: str, before: Any, latest: Any) -> bool:
    """Only what gives the same words once more stays."""
    return before.digest == latest.digest and _asked_again(pointers, subject, before, latest)


BRAKES: dict[str, Callable[..., bool]] = {"none": _never, "same words": _if_unchanged, "as shipped": _asked_again}
"""How it is decided that a result stays because it was asked for again after a strike."""


def sums_of_file(path: Path) -> dict[tuple[str, str], Counter[str]]:
    """By policy and brake, the bill and the loops of the sessions in a file."""
    sums: dict[tuple[str, str], Counter[str]] = {}
    for session in (SessionReplay(history) for history in histories_in(read_transcript(path))):
        whole = session.unstruck(_RULE).cost
        for brake, decide in BRAKES.items():
            with patch.object(Pointers, "is_asked_for_again", decide):
                runs = session.under_each([as_replayed(find_policy(name)) for name in POLICIES], _RULE)
            for name, run in zip(POLICIES, runs, strict=True):
                found = sums.setdefault((name, brake), Counter())
                found.update({"whole": whole, "cost": run.cost, "with_rereads": run.cost + run.reread_cost})
                found.update(asked=run.rereads.asked_again, again=run.rereads.struck_again)
    return sums


def main(arguments: Sequence[str]) -> None:
    """Print a table."""
    paths = list(recorded_files())[:: int(arguments[0]) if arguments else 1]
    sums: dict[tuple[str, str], Counter[str]] = {}
    with ProcessPoolExecutor(2) as pool:
        for found in pool.map(sums_of_file, paths):
            for key, numbers in found.items():
                sums.setdefault(key, Counter()).update(numbers)
    print(f"{len(paths)} session files\n")
    print("| policy | brake | bill | with re-reads | asked for again | struck again |\n|---|---|---|---|---|---|")
    for (name, brake), one in _in_order(sums.items()):
        bills = " | ".join(f"{one[field] / one['whole']:.4f}" for field in ("cost", "with_rereads"))
        print(f"| {name} | {brake} | {bills} | {one['asked']:,} | {one['again']:,} |")


def _in_order(found: Iterable[tuple[tuple[str, str], Counter[str]]]) -> list[tuple[tuple[str, str], Counter[str]]]:
    return sorted(found, key=lambda one: (POLICIES.index(one[0][0]), [*BRAKES].index(one[0][1])))


if __name__ == "__main__":
    main(sys.argv[1:])
