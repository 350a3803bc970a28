"""Lines in which a regular expression is found, within a time: a pattern that a model wrote can run for ever.

Also a program of its own, which can be ended when it takes too long: its imports are Python's own, so that it starts quickly.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

MAX_PLACES = 10_000
"""More are not looked for."""
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
    found = []
    for number, at in match_places(pattern, lines, max_seconds=max_seconds):
        line, start, end = lines[number], max(at - _LEAD_CHARS, 0), at + _WIDTH_CHARS
        if len(line) > _WIDTH_CHARS:
            line = f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
        found.append((number, line))
    return found


def match_places(pattern: str, lines: Sequence[str], *, max_seconds: float = 2.0) -> list[tuple[int, int]]:
    """Line and place of each match, but of those close after the match before."""
    from redline.errors import ValidationError

    if len(pattern) > _MAX_PATTERN_CHARS:
        raise ValidationError(
            f"grep has {len(pattern):,} characters; {_MAX_PATTERN_CHARS:,} is the most. Write a shorter pattern."
        )
    is_quick = _LITERAL.fullmatch(pattern) or (_SIMPLE.fullmatch(pattern) and len(pattern) * sum(map(len, lines)) <= _MAX_STEPS)
    # What ends soon for certain is done here: starting a program takes longer.
    answer = find_matches(pattern, lines, _WIDTH_CHARS) if is_quick else _run_program(pattern, lines, max_seconds)
    if "error" in answer:
        raise ValidationError(f"grep is no regular expression: {answer['error']}. Escape special characters with a backslash.")
    return [(number, at) for number, at in answer["found"]]


def find_matches(pattern: str, lines: Sequence[str], width: int) -> dict[str, Any]:
    """`found`: line and place of each match, but of those within a width of the match before; or `error`: why there is none."""
    try:
        compiled = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as problem:
        return {"error": str(problem)}
    places: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        found = compiled.search(line)
        while found:
            places.append((number, found.start()))
            if len(places) == MAX_PLACES:
                return {"found": places}
            found = compiled.search(line, max(found.start() + width, found.end()))
    return {"found": places}


def _run_program(pattern: str, lines: Sequence[str], max_seconds: float) -> dict[str, Any]:
    """Nothing in this process can stop Python's matching once it has begun, so another process does it."""
    from redline.errors import ExecutionError, ValidationError

    question = json.dumps([pattern, list(lines), _WIDTH_CHARS]).encode()
    program = [sys.executable, "-I", "-S", "-W", "ignore", __file__]
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


if __name__ == "__main__":
    json.dump(find_matches(*json.load(sys.stdin)), sys.stdout)
