"""What is left of a compacted history of the words that its agent says later: of outlines, tails, summaries, appendices.

python -m bench.compaction               every compaction of the recorded sessions, and cuts of long ones
python -m bench.compaction --cases       one line for each compaction besides
"""

import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.compaction_cases import COUNTER, CompactionCase, cases_in, over_cases, text_of, words_in
from bench.fit_outline import fitted_words
from redline.outlines.checking import check_against
from redline.outlines.outline import make_outline

__all__ = ["KeptWords", "measured"]

BUDGETS = (1_000, 2_000, 4_000)
APPENDIX_TOKENS = 1_000


class KeptWords(NamedTuple):
    """Of one compaction: by what was kept, its tokens and the words that were said later."""

    path: Path
    is_recorded: bool
    used: int
    needed: int
    """Those that were said before they were shown anew."""
    kept: dict[str, tuple[int, int, int]]
    """By way: tokens, used words, needed words."""


def main(arguments: Sequence[str]) -> None:
    """Print the tables."""
    weights = fitted_words().by_project
    found = over_cases(partial(measured, weights=weights))
    _print_table("compactions of the agents", [one for one in found if one.is_recorded])
    _print_table("summaries in plain words", [one for one in found if "summary" in one.kept])
    _print_table("cuts of long sessions", [one for one in found if not one.is_recorded])
    for one in found if "--cases" in arguments else ():
        if one.is_recorded:
            ways = ", ".join(f"{way} {used}/{needed}" for way, (_, used, needed) in one.kept.items())
            print(f"{one.path.name}: {one.used} said later, {one.needed} needed; {ways}")


def measured(path: Path, project: str, weights: dict[str, tuple[float, ...]]) -> list[KeptWords]:
    """The compactions and cuts of a session file, outlined by a model that was fitted without its project."""
    return [_measure(case, weights[project]) for case in cases_in(path, project)]


def _measure(case: CompactionCase, weights: tuple[float, ...]) -> KeptWords:
    reader = case.read(weights)
    used, needed = case.used_later(set(reader.uses.uses))
    before = [(index, case.history.load(index)) for index in case.before]
    in_sight = case.messages(case.kept)
    said = text_of([message for _, message in before])
    texts: dict[str, str] = {}
    for budget in BUDGETS:
        outline = make_outline(
            before, settings=case.settings(weights), budget_tokens=budget, counter=COUNTER, in_sight=in_sight
        )
        texts[f"outline, {budget:,}"] = outline.text
        texts[f"tail, {budget:,}"] = tail_of(said, budget)
    if case.summary:
        summary, size = case.summary, COUNTER.count(case.summary)
        check = check_against(
            summary, before, settings=case.settings(weights), budget_tokens=APPENDIX_TOKENS, counter=COUNTER, in_sight=in_sight
        )
        added = COUNTER.count(check.appendix)
        texts["summary"] = summary
        texts["summary and appendix"] = f"{summary}\n{check.appendix}"
        texts["summary and random lines"] = f"{summary}\n{_random_lines(said, added)}"
        texts["summary and tail"] = f"{summary}\n{tail_of(said, added)}"
        texts["summary cut by the appendix"] = head_of(summary, size - added)
        texts["summary cut by the appendix, and appendix"] = f"{head_of(summary, size - added)}\n{check.appendix}"
    kept = {
        way: (COUNTER.count(text), len(used & words_in_lines(text)), len(needed & words_in_lines(text)))
        for way, text in texts.items()
    }
    return KeptWords(case.path, case.is_recorded, len(used), len(needed), kept)


def words_in_lines(text: str) -> set[bytes]:
    """The distinctive words of a text, however long it is."""
    return {word for line in text.split("\n") for word in words_in(line)}


def tail_of(text: str, tokens: int) -> str:
    """The end of a text, with so many tokens."""
    return _cut(text, tokens, lambda chars: text[len(text) - chars :])


def head_of(text: str, tokens: int) -> str:
    """The beginning of a text, with so many tokens."""
    return _cut(text, tokens, lambda chars: text[:chars])


def _cut(text: str, tokens: int, piece: Callable[[int], str]) -> str:
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if COUNTER.count(piece(middle)) <= tokens else (low, middle - 1)
    return piece(low)


def _random_lines(text: str, tokens: int) -> str:
    lines = [line for line in text.split("\n") if line.strip()]
    random.Random(0).shuffle(lines)
    return head_of("\n".join(lines), tokens)


def _print_table(title: str, rows: Iterable[KeptWords]) -> None:
    found = list(rows)
    used, needed = sum(one.used for one in found), sum(one.needed for one in found)
    print(f"{len(found)} {title}: {used:,} words said later, {needed:,} of them before they were shown anew\n")
    print("| what is kept | tokens, mean | said later | said before shown anew |\n|---|---|---|---|")
    ways = defaultdict[str, list[tuple[int, int, int]]](list)
    for one in found:
        for way, counts in one.kept.items():
            ways[way].append(counts)
    for way, rows_of_way in ways.items():
        if len(rows_of_way) == len(found):
            tokens, kept, kept_needed = (sum(one[place] for one in rows_of_way) for place in range(3))
            print(f"| {way} | {tokens / len(rows_of_way):,.0f} | {kept / used:.1%} | {kept_needed / needed:.1%} |")
    print()


if __name__ == "__main__":
    main(sys.argv[1:])
