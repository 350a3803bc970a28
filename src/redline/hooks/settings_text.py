"""An item put into a list of a JSON settings file, and taken out again, with every other byte of the file left as it is."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from redline.errors import ValidationError

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"
_UNIT = "  "


class _Span(NamedTuple):
    """A value of a container: where its text, with its key, begins and ends, and where the value alone begins."""

    start: int
    end: int
    value: int
    key: str = ""


def with_item(text: str, path: Sequence[str], item: Any) -> str:
    """The settings with an item at the end of the list at a path of keys; the list is made where it is missing."""
    _check(text, path)
    if not text.strip():
        made = "{\n" + _UNIT + _member(path, item, 1) + "\n}"
        return text + made
    at = _skip(text, 0)
    for depth, key in enumerate(path):
        spans = [*_spans(text, at)]
        found = next((one for one in reversed(spans) if one.key == key), None)
        if found is None:
            return _inserted(text, at, spans, _member(path[depth:], item, depth + 1), depth + 1)
        at = found.value
    return _inserted(text, at, [*_spans(text, at)], _written(item, len(path) + 1), len(path) + 1)


def items_at(text: str, path: Sequence[str]) -> list[Any]:
    """The items of the list at a path of keys; none where there is no such list."""
    _check(text, path)
    found = json.loads(text) if text.strip() else {}
    for key in path:
        found = found.get(key, {})
    return list(found)


def without_item(text: str, path: Sequence[str], item: Any) -> str:
    """The settings without an item of the list at a path, and without the list if `with_item` made it."""
    if item not in items_at(text, path):
        return text
    containers = [_skip(text, 0)]
    for key in path:
        containers.append(next(one.value for one in reversed([*_spans(text, containers[-1])]) if one.key == key))
    items = [*_spans(text, containers[-1])]
    at = next(number for number, one in enumerate(items) if json.loads(text[one.value : one.end]) == item)
    text = _removed(text, containers[-1], items, at)
    for depth in range(len(path), 0, -1):
        if not _was_made(text, containers[depth], depth):
            return text
        spans = [*_spans(text, containers[depth - 1])]
        number = next(number for number, one in enumerate(spans) if one.value == containers[depth])
        text = _removed(text, containers[depth - 1], spans, number)
    return text.replace("{\n}", "") if text.strip() == "{\n}" else text


def _check(text: str, path: Sequence[str]) -> None:
    """Refuse a text that is no JSON, or that has something else where the objects and the list are to be."""
    if not text.strip():
        return
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise ValidationError(f"it is not JSON ({problem})") from None
    for depth in range(len(path) + 1):
        kind = list if depth == len(path) else dict
        if not isinstance(value, kind):
            where = ".".join(path[:depth]) or "the whole"
            raise ValidationError(f"{where} is not {'a list' if kind is list else 'an object'} in it")
        if isinstance(value, dict):
            if path[depth] not in value:
                return
            value = value[path[depth]]


def _spans(text: str, at: int) -> Iterator[_Span]:
    """The values of the object or list that begins at a place."""
    is_object, place = text[at] == "{", _skip(text, at + 1)
    while text[place] not in "}]":
        start, key = place, ""
        if is_object:
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
        _, end = _DECODER.raw_decode(text, place)
        yield _Span(start, end, place, key)
        place = _skip(text, end)
        if text[place] == ",":
            place = _skip(text, place + 1)


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACE:
        place += 1
    return place


def _written(value: Any, depth: int) -> str:
    return json.dumps(value, indent=_UNIT, ensure_ascii=False).replace("\n", "\n" + _UNIT * depth)


def _member(path: Sequence[str], item: Any, depth: int) -> str:
    """The first key of a path with all that is below it, as it is written at a depth."""
    value: Any = [item]
    for key in reversed(path[1:]):
        value = {key: value}
    return f"{json.dumps(path[0])}: {_written(value, depth)}"


def _inserted(text: str, at: int, spans: list[_Span], added: str, depth: int) -> str:
    """The added text after the last value of a container."""
    place = spans[-1].end if spans else at + 1
    return f"{text[:place]}{',' if spans else ''}\n{_UNIT * depth}{added}{text[place:]}"


def _removed(text: str, at: int, spans: list[_Span], number: int) -> str:
    """The text without a value of a container, and without what `_inserted` put before it."""
    if number == 0 and len(spans) > 1:
        return text[: spans[0].start] + text[spans[1].start :]
    start = spans[number - 1].end if number else at + 1
    return text[:start] + text[spans[number].end :]


def _was_made(text: str, at: int, depth: int) -> bool:
    """Whether a container is empty as `with_item` leaves it, with its end in a line of its own."""
    return text[at + 1 :].startswith((f"\n{_UNIT * depth}]", f"\n{_UNIT * depth}}}"))
