"""How often redaction replaces something in recorded sessions, by kind, and how fast it is.

    python -m bench.redaction            rates for each MB, by kind
    python -m bench.redaction --show     what was replaced, with what is around it

Nearly all of it is a false positive: the sessions are published, and whoever published them took the secrets out. What is
left are made-up keys in tests and manuals, which redaction cannot tell from real ones, and should not.
"""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

from bench.corpus import CORPUS, manifest_rows
from redline.redaction import SECRETS, redact
from redline.redaction.kinds import MARK

_AROUND = 40
_MOST_SHOWN = 60


def main() -> None:
    """Count and print."""
    size, replaced, seconds, shown = 0, Counter[str](), 0.0, defaultdict[str, Counter[str]](Counter)
    for line in _lines():
        started = time.process_time()
        after = redact(line)
        seconds += time.process_time() - started
        size += len(line)
        for name, before, follows in _markers(after):
            replaced[name] += 1
            shown[name][f"{before}▮{follows}"] += 1
    _print_rates(replaced, size, seconds)
    if "--show" in sys.argv:
        _print_shown(shown)


def _lines() -> Iterator[bytes]:
    for row in manifest_rows():
        if row["path"].endswith((".json", ".jsonl")):
            yield from (CORPUS / row["path"]).read_bytes().splitlines()


def _markers(after: bytes) -> Iterator[tuple[str, str, str]]:
    """The name of each marker, and what is around it."""
    pieces = after.decode("utf-8", "replace").split(MARK)
    for before, rest in pairwise(pieces):
        name, _, follows = rest.partition("]")
        yield name, before[-_AROUND:], follows[:10]


def _print_rates(replaced: Counter[str], size: int, seconds: float) -> None:
    print(f"{size / 1e6:.1f} MB in {seconds:.1f} s of processor time, {size / 1e6 / seconds:.1f} MB/s\n")
    print(f"{'kind':22} {'replaced':>8} {'for each MB':>12}")
    for name in dict.fromkeys(secret.name for secret in SECRETS):
        print(f"{name:22} {replaced[name]:8,} {replaced[name] / size * 1e6:12.3f}")
    print(f"{'all':22} {replaced.total():8,} {replaced.total() / size * 1e6:12.3f}")


def _print_shown(shown: dict[str, Counter[str]]) -> None:
    for name, texts in shown.items():
        print(f"\n{name}: {len(texts):,} different")
        for text, count in texts.most_common(_MOST_SHOWN):
            print(f"{count:6,}  {text!r}")


if __name__ == "__main__":
    main()
