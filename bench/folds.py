"""What each fold takes out of the recorded sessions: the share of the tokens of results that need not be sent even once.

python -m bench.folds                   print a table
python -m bench.folds --show FOLD [N]   print N results before and after one fold
python -m bench.folds --check [N]       check what every fold promises, for each result of all agents and N changed copies of it
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

from bench.corpus import TIMED_AGENTS, manifest_rows, recorded_files
from redline import read_transcript
from redline.errors import RedlineError
from redline.folds import FOLDS, Output
from redline.rules.results import kind_of_actions, plain_words
from redline.sessions.replay.history import histories_in
from redline.sessions.replay.risk import seen_in
from redline.tokens import Estimate
from redline.tools import Runs, last_program
from tests.folds.folding import changed, check_all_folds

__all__ = ["foldable_texts"]

_WHOLE = "results/0123456789abcdef.txt"
_COUNTER = Estimate()


def main(arguments: Sequence[str]) -> None:
    """Print what was asked for."""
    if arguments[:1] == ["--show"]:
        _show(arguments[1], int(arguments[2]) if arguments[2:] else 5)
        return
    if arguments[:1] == ["--check"]:
        _check(int(arguments[1]) if arguments[1:] else 10)
        return
    sums = Counter[str]()
    with ProcessPoolExecutor() as pool:
        for found in pool.map(_of_file, recorded_files()):
            sums.update(found)
    print(f"{sums['results']:,} results of {', '.join(TIMED_AGENTS)}, {sums['tokens']:,} tokens\n")
    print("| fold | results | share of the tokens of results | ms for 1 MB |\n|---|---|---|---|")
    for name in [*FOLDS, "all"]:
        share, slow = sums[f"saved {name}"] / sums["tokens"], sums[f"ns {name}"] / sums["chars"]
        print(f"| {name} | {sums[f'results {name}']:,} | {share:.2%} | {slow:.1f} |")


def foldable_texts(path: Path, *, are_all: bool = False) -> Iterator[tuple[str, str]]:
    """The command and the text of each result in a session that folds look at: no failures, no reads, no edits; or of all."""
    for history in histories_in(read_transcript(path)):
        for seen in (one for found in seen_in(history) for one in found):
            if seen.result is None:
                continue
            if not are_all and (seen.is_error or kind_of_actions(seen.actions) in ("file read", "edit")):
                continue
            text = plain_words(seen.result) or seen.result.text
            yield next((action.command for action in seen.actions if isinstance(action, Runs)), ""), text


def _of_file(path: Path) -> Counter[str]:
    sums = Counter[str]()
    for history in histories_in(read_transcript(path)):
        for one in (one for found in seen_in(history) for one in found if one.result is not None):
            sums["results"] += 1
            sums["tokens"] += _COUNTER.count(one.result.text if one.result else "")
    for command, text in foldable_texts(path):
        output = Output(text, last_program(command), _WHOLE)
        sums["chars"] += len(text)
        for name, fold in FOLDS.items():
            began = time.thread_time_ns()
            folded = fold.applied(output)
            sums[f"ns {name}"] += time.thread_time_ns() - began
            if folded is not None:
                saved = _COUNTER.count(output.text) - _COUNTER.count(folded)
                sums.update({f"saved {name}": saved, f"results {name}": 1, "saved all": saved})
                output = output.changed(folded)
        sums["results all"] += output.text != text
    sums["ns all"] = sum(sums[f"ns {name}"] for name in FOLDS)
    return sums


def _check(copies: int) -> None:
    checked = Counter[str]()
    for path in recorded_files(tuple({row["format"] for row in manifest_rows()})):
        try:
            texts = list(foldable_texts(path, are_all=True))
        except RedlineError:  # a session that was broken on purpose
            continue
        for number, (command, text) in enumerate(texts):
            for seed in range(copies + 1):
                made = changed(text, Random(f"{path.name} {number} {seed}"), 4) if seed else text
                folded = check_all_folds(made, last_program(command))
                checked["folded"] += folded is not None
            checked["results"] += 1
            checked["texts"] += copies + 1
    print(f"{checked['results']:,} results, {checked['texts']:,} texts, {checked['folded']:,} folded: nothing is lost")


def _show(name: str, most: int) -> None:
    for path in recorded_files():
        for command, text in foldable_texts(path):
            folded = FOLDS[name].applied(Output(text, last_program(command), _WHOLE))
            if folded is not None:
                print(f"=== {path.name}: {command[:200]}\n--- before\n{text}\n--- after\n{folded}")
                most -= 1
                if not most:
                    return


if __name__ == "__main__":
    main(sys.argv[1:])
