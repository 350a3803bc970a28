"""The bill of input and both risks of every policy on the recorded sessions: the models of `bench.frontier`, as rows.

python -m bench.peers.bill FILE
"""

import json
import sys
from collections import Counter
from pathlib import Path

from bench.fit_worth import fitted_models
from bench.frontier import ADVISED, MAIN, PEERS, SETTINGS, better_setting, sums_of

__all__ = ["main"]


def main(path: Path) -> None:
    """Replay all, and write the rows."""
    found: dict[str, Counter[str]] = {}
    for (rule, _, policy), numbers in sums_of(fitted_models().by_file).items():
        if rule == MAIN:
            found.setdefault(policy, Counter()).update(numbers)
    tried = {name: one for name, one in found.items() if name in ADVISED or name in SETTINGS}
    rows = {name: _row(found[name]) for name in (*PEERS, *ADVISED, *SETTINGS)}
    for name in PEERS:
        best = better_setting(found[name], tried) if name != "none" else None
        rows[name]["better"] = best
    path.write_text(json.dumps({"prices": MAIN, "policies": PEERS, "presets": list(ADVISED), "rows": rows}))


def _row(found: Counter[str]) -> dict[str, object]:
    return {
        "sessions": found["sessions"],
        "requests": found["requests"],
        "bill": found["cost"] / found["whole"],
        "with_rereads": found["with_rereads"] / found["whole"],
        "quoted": found["quoted_requests"] / found["requests"],
        "strict": found["strict_requests"] / found["requests"],
    }


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
