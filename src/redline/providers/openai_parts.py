"""What the two OpenAI formats share: content parts, failures told by words, ids, and how a call's input is held."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

import msgspec

from redline.providers.flaws import Flaw, stored_fields_in
from redline.providers.format import input_as_object, kind_of, split_data_url
from redline.values import payloads
from redline.values.messages import Media, Opaque, Part, Text, ToolCall, ToolResult
from redline.values.payloads import Path

Content = Text | Media | Opaque
"""What may be in a message's content, and inside a result."""

# --- reading


def read_content(native: dict[str, Any], key: str, read_part: Callable[[Any, Path], Content]) -> tuple[Content, ...]:
    """The parts under a key that holds a string, a list of parts, or nothing."""
    content = native.get(key)
    if isinstance(content, str):
        return (Text(content, (key,)),)
    if isinstance(content, list):
        return tuple([read_part(block, (key, position)) for position, block in enumerate(content)])
    return () if content is None else (Opaque("unknown", content, (key,)),)


def text_key(block: dict[str, Any]) -> str:
    """The key under which a content part holds its words."""
    kind = kind_of(block)
    return kind if kind in ("refusal", "logs") else "text"


def read_words(block: dict[str, Any], at: Path) -> Text | None:
    """A content part that says something."""
    words = block.get(text_key(block))
    return Text(words, at) if isinstance(words, str) else None


def media_from_url(url: str, media_type: str, at: Path) -> Media:
    """What is found at a URL. A base64 data URL is taken apart; the type given is for a URL that names none."""
    held = split_data_url(url)
    return Media(held[0] or media_type, held[1], "base64", at) if held else Media(media_type, url, "url", at)


def read_file(held: dict[str, Any], at: Path) -> Media | None:
    """A document by its content, its URL or its id, whichever is there."""
    match held:
        case {"file_data": str(content)}:
            media = media_from_url(content, "application/*", at)
            return media if media.source_type == "base64" else Media("application/*", content, "base64", at)
        case {"file_url": str(url)}:
            return media_from_url(url, "application/*", at)
        case {"file_id": str(file_id)}:
            return Media("application/*", file_id, "file", at)
    return None


def read_audio(block: dict[str, Any], at: Path) -> Media | None:
    """Recorded speech in an `input_audio` part."""
    match block.get("input_audio"):
        case {"data": str(sound), "format": str(encoding)}:
            return Media(f"audio/{encoding}", sound, "base64", at)
    return None


def is_failure(parts: Iterable[Part]) -> bool:
    """Whether the first word of a result says that it failed; the wire has no field for it."""
    for part in parts:
        if isinstance(part, Text) and (said := part.text.lstrip()):
            return said.startswith("Error:")
    return False


# --- the input of a call


def input_as_held(held: Any, replacement: Any) -> Any:
    """A call's new input the way the wire holds the old one: an object, or its JSON text."""
    if isinstance(replacement, str) or isinstance(held, dict | list):
        return replacement
    return payloads.encode(replacement).decode()


def input_as_text(held: Any) -> str:
    """A call's input as the JSON text of an object; text stays as it is, well formed or not."""
    return held if isinstance(held, str) else payloads.encode(input_as_object(held)).decode()


def arguments_text(call: ToolCall) -> str:
    """A call's input as the JSON text of an object, in its own spelling where it has one."""
    if not isinstance(call.input, str):
        return payloads.encode(call.arguments).decode()
    if not call.input.strip():
        return "{}"
    arguments = call.arguments
    return payloads.encode(arguments).decode() if arguments == {"input": call.input} else call.input


def call_flaws(called: dict[str, Any], input_key: str, at: Path = (), *, longest_name: int) -> Iterator[Flaw]:
    """What both APIs refuse in a call: an input that is not text, and a name of other characters or too long."""
    held, name = called.get(input_key), called.get("name")
    if not isinstance(held, str):
        found = f"the {input_key} are {type(held).__name__}, not text"
        yield Flaw("call_inputs", (*at, input_key), found, input_as_text(held))
    if not isinstance(name, str) or not 0 < len(name) <= longest_name or _REFUSED_IN_NAMES.search(name):
        accepted = _REFUSED_IN_NAMES.sub("_", name)[:longest_name] if isinstance(name, str) and name else "tool"
        yield Flaw("tool_names", (*at, "name"), f"the name {str(name)[:40]!r}", accepted)


def parts_flaws(content: Any, field: str, text_type: str, text_types: Set[str]) -> Iterator[Flaw]:
    """What both APIs refuse as content; of the types that words may have, `text_types`, only `text_type` is taken there."""
    if isinstance(content, dict | int | float):
        yield Flaw("block_shapes", (field,), f"the {field} is {type(content).__name__}", input_as_text(content))
    parts = content if isinstance(content, list) else []
    yield from stored_fields_in(parts, (field,))
    for position, part in enumerate(parts):
        at, kind = (field, position), kind_of(part)
        if isinstance(part, str):
            yield Flaw("block_shapes", at, "a string among the parts", {"type": text_type, "text": part})
        elif not isinstance(part, dict):
            yield Flaw("block_shapes", at, f"a {type(part).__name__} among the parts")
        elif kind in text_types:
            if kind != text_type:
                yield Flaw("block_shapes", (*at, "type"), f"the type {kind!r} where it is {text_type!r}", text_type)
            if not isinstance(part.get("text"), str):
                yield Flaw("block_shapes", (*at, "text"), "a text part without text", "")


_REFUSED_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


# --- composing


def with_ids(parts: Iterable[Part]) -> Iterator[Part]:
    """The parts, each call and result without an id given one of its tool's name and number, the same though composed apart."""
    calls: Counter[str] = Counter()
    results: Counter[str] = Counter()
    for part in parts:
        match part:
            case ToolCall(id=None, name=name):
                yield msgspec.structs.replace(part, id=_made_up_id(name, calls))
            case ToolResult(call_id=None, name=name):
                yield msgspec.structs.replace(part, call_id=_made_up_id(name or "", results))
            case _:
                yield part


def _made_up_id(name: str, seen: Counter[str]) -> str:
    seen[name] += 1
    return f"call_{name or 'tool'}" + (f"_{seen[name]}" if seen[name] > 1 else "")


def data_url(media: Media) -> str:
    """A data URL that carries base64 content of a type without `*`, which only says the kind."""
    return f"data:{media.media_type};base64,{media.source}"


def file_fields(media: Media) -> dict[str, str]:
    """A document by its content; the provider asks for a name beside it."""
    return {"file_data": data_url(media), "filename": f"file.{media.media_type.rpartition('/')[2]}"}
