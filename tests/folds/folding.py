"""What every fold promises, checked on one text; and the cases of a fold, which are data."""

import tomllib
from pathlib import Path
from random import Random
from typing import Any

from redline.folds import FOLDS, ExactFold, FoldedText, Output, TextFold, fold_text, unfold_text
from redline.folds.failure_words import FAILURE_WORDS

CASES = Path(__file__).parent / "cases"
WHOLE = "whole/4f2a.txt"
"""Where the whole of a text is said to be."""


def cases_of(name: str) -> list[dict[str, Any]]:
    """The cases of a fold: `says`, `text`, `command`, and `folded`, which is missing where the text must stay as it is."""
    found: list[dict[str, Any]] = tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))["case"]
    return found


def all_cases() -> list[tuple[str, dict[str, Any]]]:
    """Every case with the name of its fold."""
    return [(path.stem, case) for path in sorted(CASES.glob("*.toml")) for case in cases_of(path.stem)]


def check_fold(fold: TextFold, text: str, command: str = "") -> str | None:
    """Fold a text and check what every fold promises. Gives the smaller text, if there is one."""
    output = Output(text, command, WHOLE)
    folded = fold.applied(output)
    if folded is None:
        return None
    assert len(folded) < len(text)
    assert fold.applied(Output(text, command, WHOLE)) == folded, "the same text, the same fold"
    if isinstance(fold, ExactFold):
        assert fold.unfold(folded) == text
        return folded
    assert WHOLE in folded, "a notice names the whole"
    assert fold.applied(Output(text, command)) is None, "no line is left out where the whole is kept nowhere"
    _check_failures(output, folded)
    return folded


def _check_failures(output: Output, folded: str) -> None:
    """Lines that speak of a failure, and those near them, are there in their order, word for word."""
    left = iter(folded.split("\n"))
    for number in sorted(output.near_failures(range(len(output.lines)))):
        assert output.lines[number] in left, f"line {number + 1} is missing: {output.lines[number]!r}"
    assert all(line in folded for line in output.lines if FAILURE_WORDS.search(line))


def check_all_folds(text: str, command: str = "") -> FoldedText | None:
    """Fold a text with all folds, and check what they promise together. Gives the smaller text, if there is one."""
    exact = fold_text(text, command)
    if exact is not None:
        assert exact.is_exact
        assert len(exact.text) < len(text)
        assert unfold_text(exact) == text
    folded = fold_text(text, command, whole=WHOLE)
    if folded is None:
        assert exact is None
        return None
    assert len(folded.text) < len(text)
    assert fold_text(text, command, whole=WHOLE) == folded, "the same text, the same folds"
    if folded.is_exact:
        assert unfold_text(folded) == text
        return folded
    assert WHOLE in folded.text, "a notice names the whole"
    output = Output(text, command, WHOLE)
    for name in folded.names:
        _check_step(output, name)
        output = output.changed(FOLDS[name].applied(output) or "")
    assert output.text == folded.text
    return folded


def _check_step(output: Output, name: str) -> None:
    """One fold after others: nothing is lost, or what may be left out alone."""
    folded = FOLDS[name].applied(output)
    assert folded is not None
    if isinstance(fold := FOLDS[name], ExactFold):
        assert fold.unfold(folded) == output.text
    else:
        _check_failures(output, folded)


def fold_named(name: str) -> TextFold:
    """The fold of a file of cases."""
    return FOLDS[name]


def changed(text: str, random: Random, changes: int) -> str:
    """The text after a few changes such as logs and editors make."""
    lines = text.split("\n")
    for _ in range(changes):
        place = random.randrange(len(lines))
        match random.randrange(6):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[random.randrange(len(lines))])
            case 2:
                lines[place] = lines[place][: random.randrange(len(lines[place]) + 1)]
            case 3:
                other = random.randrange(len(lines))
                lines[place], lines[other] = lines[other], lines[place]
            case 4:
                at = random.randrange(len(lines[place]) + 1)
                lines[place] = lines[place][:at] + random.choice(':-|/\\ \t\r\x1b[]{}",0a\u2028\x0c') + lines[place][at:]
            case _:
                lines[place:place] = [lines[place]] * random.randrange(5)
        lines = lines or [""]
    return "\n".join(lines)
