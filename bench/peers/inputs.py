"""Histories that all are given: long ones to be timed, and damaged ones to be repaired, the same on every run."""

import json
import random
import re
from collections.abc import Iterator
from typing import Any

from bench.peers.peer import Message
from redline import FORMATS
from tests.repair.damage import WOUNDS, Choose, Wound, append_itself, cut, damaged_at_random, delay, displace, lose, repeat

__all__ = ["DAMAGES", "damaged_histories", "long_history", "marks_in"]

_WORDS = ("return", "value", "import", "self", "error", "parse", "token", "config", "test", "path", "0x3f", "==", "{", "}")
_TOOLS = ("terminal-execute", "filesystem-read", "filesystem-edit")
_EXCHANGES = 10
"""Between two messages of the user."""
_START_MS = 1_767_603_600_000


def long_history(count: int, seed: int = 7) -> list[Message]:
    """So many messages: the user speaks, then calls of a tool with results of 100 to 10,000 characters, 1 kB on average."""
    chance = random.Random(seed)
    messages: list[Message] = []
    for number in range(count):
        if number % (2 * _EXCHANGES + 2) == 0:
            messages.append({"role": "user", "content": f"Go on with step {number}."})
        messages += _exchange(chance, f"call_{number}", int(100 * 100 ** chance.random()), 1)
        if len(messages) >= count:
            break
    return [{**message, "timestamp": _START_MS + 30_000 * at} for at, message in enumerate(messages[:count])]


def _exchange(chance: random.Random, id: str, size: int, calls: int) -> Iterator[Message]:
    ids = [f"{id}_{number}" for number in range(calls)]
    made = [{"id": one, "type": "function", "function": _function(chance)} for one in ids]
    yield {"role": "assistant", "content": _text(chance, 80), "tool_calls": made}
    for one in ids:
        yield {"role": "tool", "tool_call_id": one, "content": _text(chance, size)}


def _function(chance: random.Random) -> dict[str, str]:
    path = f"src/{chance.randrange(20)}.py"
    name = chance.choice(_TOOLS)
    given = {"command": f"sed -n '1,{chance.randrange(10**6)}p' {path}"} if name == _TOOLS[0] else {"filePath": path}
    return {"name": name, "arguments": json.dumps({**given, "note": _mark(chance)})}


def _text(chance: random.Random, size: int) -> str:
    return f"{_mark(chance)} {' '.join(chance.choices(_WORDS, k=size // 6 + 1))}"[: max(size, 20)].strip()


def _mark(chance: random.Random) -> str:
    """A word that no other text has, by which it is found again."""
    return f"w{chance.getrandbits(48):012x}w"


def marks_in(value: Any) -> set[str]:
    """Of every text, result and call that is in there."""
    return set(re.findall(r"w[0-9a-f]{12}w", value if isinstance(value, str) else json.dumps(value, default=str)))


# --- damage


def lose_result(history: list[Any], format: str, choose: Choose[Any]) -> list[Any]:
    """The program ended before a tool had answered."""
    reader = FORMATS[format]
    results = [place for place, native in enumerate(history) if reader.read(native).role == "tool"]
    if results:
        del history[choose(results)]
    return history


DAMAGES: dict[str, tuple[Wound, ...]] = {
    "results missing": (lose_result,),
    "messages lost, doubled, moved": (lose, repeat, displace, delay, cut),
    "anything": tuple(wound for wound in WOUNDS if wound is not append_itself),
}
"""What a crash leaves; what merges, cuts and retries leave; and every wound of the test suite."""


def damaged_histories(damage: str, count: int) -> Iterator[list[Message]]:
    """Up to so many histories of some ten messages in OpenAI's chat shape, with one wound and one more in twenty messages."""
    for seed in range(count):
        chance = random.Random(f"{damage} {seed}")
        whole: list[Message] = []
        for turn in range(chance.randint(1, 4)):
            whole.append({"role": "user", "content": _text(chance, 60)})
            for step in range(chance.randint(1, 5)):
                whole += _exchange(chance, f"call_{turn}_{step}", 80, chance.choice((1, 1, 2, 3)))
            whole.append({"role": "assistant", "content": _text(chance, 60)})
        damaged = damaged_at_random(whole, "openai_chat", chance, 1 + len(whole) // 20, DAMAGES[damage])
        if marks_in(damaged):  # a cut may leave nothing
            yield damaged
