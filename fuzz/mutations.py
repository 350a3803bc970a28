"""Inputs changed at a few places: values nobody expects, things gone, doubled, nested, endless, torn."""

import json
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

__all__ = ["ODD", "mutate"]

ODD = (
    *("null", "-1", "0", "1", "1.5", "true", "false", '""', '"x"', "[]", "{}", "[null]", "[[]]", "[{}]", "[5]", '{"":null}'),
    *('{"type":5}', '[{"type":[]}]', '{"type":"text"}', '[{"type":"text","text":null}]', '{"role":"user","content":"x"}'),
    *("NaN", "-Infinity", "Infinity", "1e400", "-0.0", "1e-400", "9" * 400, "9" * 5000, "-9223372036854775809"),
    *("9223372036854775808", "18446744073709551616", "4294967296", "1700000000", "1700000000000", "1e308"),
    *(
        '"\\ud83d"',
        '"\\udc00x"',
        '"\\u0000"',
        '"\\u2028"',
        '"\\u202e"',
        '"\\ufeff"',
        '" "',
        '"\\n"',
        '"é"',
        '"\\\\"',
        '"%s{0}{name}"',
    ),
    *('"9999-12-31T23:59:59-14:00"', '"0001-01-01T00:00:00+14:00"', '"../../../../etc/passwd"', '"/"', '"a/../../b"', '"~/x"'),
    *(
        '"file:///etc/passwd"',
        '"data:image/png;base64,AAAA"',
        '"attachment://x"',
        '"sqlite:////"',
        '"#0.0"',
        '"#99999999999.9"',
    ),
    *('{"type":"text","type":[]}', '{"a":1,"a":{"b":2}}', '"tool_use"', '"tool_result"', '"assistant"', '"user"', '"system"'),
    *(
        '"function_call_output"',
        '"reasoning"',
        '{"text":"x"}',
        '[{"type":"text"}]',
        '{"functionCall":{}}',
        '"{\\"a\\":"',
        '"[]"',
    ),
    *("[" * 150 + "]" * 150, "[" * 1500 + "]" * 1500, '{"a":' * 1500 + "1" + "}" * 1500, '"' + "[" * 1500 + '"', '"(a+)+$"'),
    *(
        '"' + "a" * 5000 + '"',
        '"' + "\\n" * 2000 + '"',
        '"' + "é" * 300 + '"',
        "[" + "0," * 2000 + "0]",
        '"' + "`" * 3000 + '"',
    ),
)
"""Values as they may be spelled in JSON."""

_BYTES = (
    b"\xff",
    b'"',
    b"\x00",
    b"}",
    b"]",
    b"{",
    b"[",
    b"\\",
    b"\n",
    b"\r",
    b",",
    b":",
    b"\xef\xbb\xbf",
    b"\xed\xa0\xbd",
    b"=",
    b"#",
    b"'",
)
_MARK = "\u2620{}\u2620"
_MOST_CHANGES = 4
_MOST_BYTES = 100_000


def mutate(case: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The case with up to a few changes. JSON, whole or in lines, is changed as values; `others` lend it values of theirs."""
    parsed = _parse(case)
    if parsed is None or random.random() < 0.1:
        return _tear(case, random, others)[:_MOST_BYTES]
    value, is_lines = parsed
    spelled: list[str] = []
    for _ in range(random.randint(1, _MOST_CHANGES)):
        value = _change(value, random, others, spelled)
    if is_lines and isinstance(value, list):
        text = "\n".join(map(_dumps, value)) + "\n"
    else:
        text = json.dumps(value, indent=1, ensure_ascii=False) if random.random() < 0.1 else _dumps(value)
    for number, words in enumerate(spelled):
        text = text.replace(_dumps(_MARK.format(number)), words)
    content = text.encode("utf-8", "surrogatepass")
    return (_tear(content, random, others) if random.random() < 0.08 else content)[:_MOST_BYTES]


def _parse(case: bytes) -> tuple[Any, bool] | None:
    """The value, and whether it is one of lines; None for what is no JSON."""
    try:
        text = case.decode()
        try:
            return json.loads(text), False
        except ValueError:
            return [json.loads(line) for line in text.splitlines()], True
    except (ValueError, RecursionError):
        return None


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _change(value: Any, random: Random, others: Sequence[bytes], spelled: list[str]) -> Any:  # noqa: C901 - one case for each kind
    """The value with one place in it changed."""
    places = list(_places(value))
    place = random.choice(places[1:] or places)
    outer: Any = _at(value, place[:-1]) if place else None
    inner = _at(value, place)
    if isinstance(inner, str) and inner[:1] in ("{", "[") and random.random() < 0.7:
        return _put(value, place, mutate(inner.encode("utf-8", "surrogatepass"), random, others).decode("utf-8", "replace"))
    match random.randrange(12):
        case 0 | 1 if place:
            kept = outer.copy()
            del kept[place[-1]]
            return _put(value, place[:-1], kept)
        case 2 if isinstance(outer, list):
            at, times = place[-1], random.choice((1, 1, 2, 30))
            return _put(value, place[:-1], [*outer[:at], *[inner] * times, *outer[at:]])
        case 3:
            return _put(value, place, _at(value, random.choice(places)))
        case 4:
            lender = _parse(random.choice(others)) if others else None
            return _put(value, place, _at(lender[0], random.choice(list(_places(lender[0])))) if lender else None)
        case 5:
            return _put(value, place, random.choice(([inner], [inner, inner], {"type": inner}, {"content": inner})))
        case 6 if isinstance(outer, list):
            shuffled = outer.copy()
            random.shuffle(shuffled)
            return _put(value, place[:-1], shuffled)
        case 7 if isinstance(inner, str):
            return _put(value, place, _change_text(inner, random))
        case 8 if isinstance(inner, dict) and inner:
            return _put(value, place, _spell(_doubled(inner, random), spelled))
        case 9 if isinstance(outer, dict):
            return _put(
                value, place[:-1], {(_renamed(key, random) if key == place[-1] else key): one for key, one in outer.items()}
            )
        case _:
            return _put(value, place, _spell(random.choice(ODD), spelled))


def _spell(words: str, spelled: list[str]) -> str:
    """A mark in whose place the words are put once everything else is written."""
    spelled.append(words)
    return _MARK.format(len(spelled) - 1)


def _doubled(value: dict[str, Any], random: Random) -> str:
    """An object in which a key comes twice."""
    key = random.choice(list(value))
    return f"{_dumps(value)[:-1]},{_dumps(key)}:{random.choice(ODD)}}}"


def _renamed(key: str, random: Random) -> str:
    return random.choice((key.upper(), f"{key}s", "", "type", "content", "\ud83d", f" {key}", "__class__", "\x00"))


def _change_text(text: str, random: Random) -> str:
    at = random.randrange(len(text) + 1)
    match random.randrange(6):
        case 0:
            return text[:at]
        case 1:
            return text * random.choice((2, 3, 100))
        case 2:
            return (
                text[:at]
                + random.choice(("\ud83d", "\x00", "\n", "\u202e", "\r\n", "```", "<", "{", "%", "\u2028", " "))
                + text[at:]
            )
        case 3:
            return text[at:] + text[:at]
        case 4:
            return text.swapcase()
        case _:
            return text[:at] + text[at + 1 :]


def _tear(case: bytes, random: Random, others: Sequence[bytes]) -> bytes:
    """The bytes cut, exchanged, repeated, glued together with others."""
    at, end = sorted((random.randrange(len(case) + 1), random.randrange(len(case) + 1)))
    match random.randrange(9):
        case 0:
            return case[:at]
        case 1:
            return case[at:]
        case 2:
            return case[:at] + random.choice(_BYTES) + case[at + 1 :]
        case 3:
            return case[:at] + random.choice(_BYTES) * random.choice((1, 2, 1000)) + case[at:]
        case 4:
            return case[:at] + case[end:]
        case 5:
            return case[:end] + case[at:end] * random.choice((1, 3)) + case[end:]
        case 6:
            return case.replace(b"\n", random.choice((b"", b"\r\n", b"\n\n", b"\x00")), random.randint(1, 3))
        case 7:
            return case[:at] + (random.choice(others) if others else b"")[at:]
        case _:
            return case[:at] + random.choice(ODD).encode() + case[end:]


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield above
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from _places(inner, (*above, key))


def _at(value: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        value = value[key]
    return value


def _put(value: Any, place: tuple[Any, ...], inner: Any) -> Any:
    if not place:
        return inner
    changed = value.copy()
    changed[place[0]] = _put(value[place[0]], place[1:], inner)
    return changed
