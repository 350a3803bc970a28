"""Where a pattern is found in lines; also a program of its own, which can be ended when it takes too long.

It imports nothing of Redline, so that the program starts quickly.
"""

import json
import re
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["MAX_PLACES", "answer", "main"]

MAX_PLACES = 10_000
"""More are not looked for."""


def main() -> None:
    """Read `[pattern, lines, width]` and write the answer."""
    json.dump(answer(*json.load(sys.stdin)), sys.stdout)


def answer(pattern: str, lines: Sequence[str], width: int) -> dict[str, Any]:
    """`found`: the number of the line and the place in it, for each match; or `error`: why the pattern is none.

    Matches in one line that lie within a width of an earlier one are left out.
    """
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


if __name__ == "__main__":
    main()
