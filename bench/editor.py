"""What the Editor costs: finding the conversation of a long list, beside cutting and hashing its bytes; and growing requests.

python -m bench.editor
"""

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable

import msgspec

from redline import EN, Editor, Policy
from redline.conversation.resent.incoming import ListReader

__all__ = ["main"]

_WORDS = ("def", "return", "self", "import", "error", "你好", '"quoted"', "line\n", "value", "0x1f")
_MODEL = "claude-sonnet-4-5"
_TIMES = 9


class _Body(msgspec.Struct):
    messages: list[msgspec.Raw]


_cut = msgspec.json.Decoder(_Body).decode


def main() -> None:
    """Print both tables."""
    print("Finding the conversation of a list that is known but for two messages, ms (best of 9)\n")
    print("| body | messages | cut | cut and hash | identify, cut included | ratio | edit, cut included |")
    print("|---|---|---|---|---|---|---|")
    for messages in (162, 648, 1620):
        _identify(messages)
    print("\nAn edit of a list with two messages more than the one before, ms (median)\n")
    print("| store | 20 messages | 200 | 1,000 | 4,000 |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, store in {"memory": None, "folder": f"{folder}/chats", "SQLite": f"sqlite:///{folder}/chats.db"}.items():
            print(f"| {name} | " + " | ".join(f"{_grow(store, size):.2f}" for size in (20, 200, 1000, 4000)) + " |")


def _history(count: int, words: int) -> list[dict[str, object]]:
    """One user message, then calls with results of so many words."""
    chance = random.Random(count)
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Begin {count} {words}."}]
    while len(messages) < count:
        id = f"toolu_{len(messages)}"
        call = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": " ".join(chance.choices(_WORDS, k=20))}}
        result = {"type": "tool_result", "tool_use_id": id, "content": " ".join(chance.choices(_WORDS, k=words))}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return messages


def _identify(count: int) -> None:
    history = _history(count + 2 * _TIMES + 2, 900)
    bodies = [
        json.dumps({"model": "m", "messages": history[: count + 2 * more + 1]}, ensure_ascii=False).encode()
        for more in range(_TIMES + 1)
    ]
    reader, editor = ListReader(), Editor(policy=Policy(words=EN))

    def cut(body: bytes) -> list[bytes]:
        return [bytes(one) for one in _cut(body).messages]

    def identify(body: bytes) -> None:
        given = reader.read(cut(body), format="anthropic")
        tree = editor._histories.find(given).tree
        assert tree.find(given.digests, "").length >= count

    def edit(body: bytes) -> None:
        editor.edit(cut(body), format="anthropic", model=_MODEL)

    edit(bodies[0])
    reader.read(cut(bodies[0]), format="anthropic")
    ways: dict[str, Callable[[bytes], object]] = {
        "cut": _cut,
        "hash": lambda body: [hash(one) for one in cut(body)],
        "identify": identify,
        "edit": edit,
    }
    best = dict.fromkeys(ways, float("inf"))
    for body in bodies[1:]:
        for name, way in ways.items():
            start = time.perf_counter()
            way(body)
            best[name] = min(best[name], (time.perf_counter() - start) * 1000)
    ratio = best["identify"] / best["hash"]
    print(
        f"| {len(bodies[0]) / 1e6:.1f} MB | {count:,} | {best['cut']:.2f} | {best['hash']:.2f} | {best['identify']:.2f} | "
        f"{ratio:.2f} | {best['edit']:.2f} |"
    )


def _grow(store: str | None, size: int) -> float:
    natives = [msgspec.json.encode(message) for message in _history(size + 42, 60)]
    spent = []
    with Editor(store, policy=Policy(words=EN)) as editor:
        editor.edit(natives[:size], format="anthropic", model=_MODEL)
        for end in range(size + 1, size + 41, 2):
            start = time.perf_counter()
            editor.edit(natives[:end], format="anthropic", model=_MODEL)
            spent.append((time.perf_counter() - start) * 1000)
    return statistics.median(spent)


if __name__ == "__main__":
    main()
