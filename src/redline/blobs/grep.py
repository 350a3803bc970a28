"""Lines in which a regular expression is found, within a time: a pattern that a model wrote can run for ever."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redline.blobs import line_search
from redline.errors import ExecutionError, ValidationError

__all__ = ["grep_lines"]

_LITERAL = re.compile(r"(?:[^*+?{}()\[\]\\.^$|]|\\[^0-9A-Za-z])*", re.DOTALL)
"""Plain text is looked for in one go over the lines."""
_SIMPLE = re.compile(r"(?:[^*+?{}()\[\]\\]|\\[^0-9])*", re.DOTALL)
"""Without repetitions, groups and sets a pattern is tried at each character, and takes at most its own length there."""
_MAX_STEPS = 20_000_000
_MAX_PATTERN_CHARS = 5_000
_WIDTH_CHARS = 500
"""Of longer lines only what surrounds a match is shown: a little of what is before it, and this much from it on."""
_LEAD_CHARS = 100


def grep_lines(pattern: str, lines: Sequence[str], *, max_seconds: float = 2.0) -> list[tuple[int, str]]:
    """The position and the words of each line in which the pattern is found; of a long line what surrounds each match."""
    if len(pattern) > _MAX_PATTERN_CHARS:
        raise ValidationError(
            f"grep has {len(pattern):,} characters; {_MAX_PATTERN_CHARS:,} is the most. Write a shorter pattern."
        )
    is_quick = _LITERAL.fullmatch(pattern) or (_SIMPLE.fullmatch(pattern) and len(pattern) * sum(map(len, lines)) <= _MAX_STEPS)
    # What ends soon for certain is done here: starting a program takes longer.
    answer = line_search.answer(pattern, lines, _WIDTH_CHARS) if is_quick else _search_in_process(pattern, lines, max_seconds)
    if "error" in answer:
        raise ValidationError(f"grep is no regular expression: {answer['error']}. Escape special characters with a backslash.")
    found = []
    for number, at in answer["found"]:
        line, start, end = lines[number], max(at - _LEAD_CHARS, 0), at + _WIDTH_CHARS
        if len(line) > _WIDTH_CHARS:
            line = f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
        found.append((number, line))
    return found


def _search_in_process(pattern: str, lines: Sequence[str], max_seconds: float) -> dict[str, Any]:
    """Nothing in this process can stop Python's matching once it has begun, so another process does it."""
    question = json.dumps([pattern, list(lines), _WIDTH_CHARS]).encode()
    program = [sys.executable, "-I", "-S", "-W", "ignore", str(Path(line_search.__file__))]
    try:
        done = subprocess.run(program, input=question, capture_output=True, timeout=max_seconds, check=True)
        answer: dict[str, Any] = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise ValidationError(
            f"grep took more than {max_seconds:g} seconds. Write a simpler pattern, without repetitions in repetitions, "
            "or look through fewer lines at a time."
        ) from None
    except (OSError, subprocess.CalledProcessError, ValueError) as problem:
        raise ExecutionError(
            f"grep could not be run: {problem}. A pattern without repetitions, groups and sets needs no program."
        ) from problem
    return answer
