"""A holdout tried on sessions that were all treated alike: how often it cries wolf, and whether planted effects are found.

python -m bench.holdout                 1,000 draws of each kind over the recorded sessions
python -m bench.holdout 100 20          so many draws, of every so many files
"""

import sys
from collections.abc import Sequence
from random import Random

import msgspec

from bench.corpus import recorded_files
from redline.sessions.catalog.session_files import find_sessions
from redline.sessions.proof.behaviour import SessionBehaviour, behaviour_of
from redline.sessions.proof.compared import Compared, compare_groups
from redline.sessions.read_session import read_session

__all__ = ["drawn_arms", "false_alarms", "found_share", "generated_sessions", "with_effect"]

_SHUFFLES = 200
"""In each draw: there are many draws."""
_SHARE = 0.1
_EFFECTS = (0.05, 0.10)

Arms = tuple[list[SessionBehaviour], list[SessionBehaviour]]
"""Sessions that are edited, and those held out."""


def generated_sessions(count: int, seed: int = 0) -> list[SessionBehaviour]:
    """Sessions as long-tailed as recorded ones, where there are none."""
    random, found = Random(seed), list[SessionBehaviour]()
    for number in range(count):
        turns = max(round(random.lognormvariate(3.0, 1.0)), 1)
        rates = [sum(random.random() < rate for _ in range(turns)) for rate in (0.1, 0.05, 0.08, 0.02)]
        found.append(
            SessionBehaviour(
                name=f"g{number}",
                usd=turns * random.lognormvariate(-3.5, 0.5),
                turns=turns,
                tokens=round(turns * random.lognormvariate(6.5, 0.6)),
                rereads=rates[0],
                repeats=rates[1],
                failures=rates[2],
                interruptions=rates[3],
            )
        )
    return found


def drawn_arms(sessions: Sequence[SessionBehaviour], random: Random, share: float = _SHARE) -> Arms:
    """Each session in an arm by chance, as a hash of its name would do it."""
    arms: Arms = [], []
    for one in sessions:
        arms[random.random() < share].append(one)
    return arms


def with_effect(sessions: Sequence[SessionBehaviour], effect: float) -> list[SessionBehaviour]:
    """What the sessions would have cost had the bill of each been so much smaller."""
    return [msgspec.structs.replace(one, usd=one.usd and one.usd * (1 - effect)) for one in sessions]


def false_alarms(sessions: Sequence[SessionBehaviour], draws: int, seed: int = 1) -> float:
    """In which share of the draws any measure differs, though all sessions were treated alike."""
    random = Random(seed)
    found = [compare_groups(*drawn_arms(sessions, random), shuffles=_SHUFFLES, draws=1) for _ in range(draws)]
    return sum(any(one.is_seen for one in compared) for compared in found) / draws


def found_share(sessions: Sequence[SessionBehaviour], effect: float, count: int, draws: int, seed: int = 2) -> float:
    """In which share of the draws of so many sessions an effect on the bill of a turn is found."""
    random, seen = Random(seed), 0
    for _ in range(draws):
        edited, held = drawn_arms(random.choices(sessions, k=count), random)
        seen += per_turn(compare_groups(with_effect(edited, effect), held, shuffles=_SHUFFLES, draws=1)).is_seen
    return seen / draws


def per_turn(compared: Sequence[Compared]) -> Compared:
    """The measure with the least spread: what a turn cost."""
    return next(one for one in compared if one.measure == "usd_per_turn")


def stated_size(sessions: Sequence[SessionBehaviour], effect: float) -> int:
    """With how many sessions `redline proof` says that a difference of so much would be seen."""
    some = Random(3).choices(sessions, k=2_000)
    return per_turn(compare_groups(*drawn_arms(some, Random(4)), draws=1, sought=effect)).needed or 0


def main(arguments: Sequence[str]) -> None:
    """Print both tables."""
    draws, every = (int(arguments[0]) if arguments else 1_000), (int(arguments[1]) if len(arguments) > 1 else 1)
    paths = [str(path) for path in recorded_files()][::every]
    sessions = [behaviour_of(read_session(one)) for one in find_sessions(paths)]
    sessions = [one for one in sessions if one.turns]
    print(f"{len(sessions)} recorded sessions, {draws:,} draws with {_SHARE:.0%} held out\n")
    print(f"No effect: a difference in any measure in {false_alarms(sessions, draws):.1%} of the draws\n")
    print("| the bill of a turn | sessions needed | found in |\n|---|---:|---:|")
    for effect in _EFFECTS:
        needed = stated_size(sessions, effect)
        print(f"| {effect:.0%} lower | {needed:,} | {found_share(sessions, effect, needed, max(draws // 40, 5)):.0%} |")


if __name__ == "__main__":
    main(sys.argv[1:])
