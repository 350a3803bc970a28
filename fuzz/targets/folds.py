"""Texts of terminals into folds: nothing is lost, and no line that reports a failure is left out."""

from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from fuzz.sandbox import Sandbox
from fuzz.seeds import dumped
from fuzz.targets.message_lists import decoded_case
from fuzz.targets.target import Target, each_case
from fuzz.terminal import make_recording
from redline.folds import FOLDS
from tests.folds.folding import all_cases, check_all_folds, check_fold

__all__ = ["FOLDS_OF_TEXTS"]

_RECORDINGS = 2_000


@cache
def _seeds() -> Sequence[bytes]:
    """Lines, so that each is changed by itself."""
    texts = [(case.get("command", ""), case["text"]) for _, case in all_cases()]
    texts += [make_recording(Random(number)) for number in range(_RECORDINGS)]
    return [dumped({"command": command, "lines": text.split("\n")}) for command, text in texts]


def _try(_: Sandbox, case: bytes) -> None:
    given = decoded_case(case)
    lines: Any = given.get("lines")
    text = "\n".join(map(str, lines)) if isinstance(lines, list) else str(lines)
    command = str(given.get("command") or "")
    check_all_folds(text, command)
    for fold in FOLDS.values():
        check_fold(fold, text, command)


FOLDS_OF_TEXTS = Target("folds", _seeds, each_case(_try))
