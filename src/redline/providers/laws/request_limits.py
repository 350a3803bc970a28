"""A request holds no more bytes, pictures, pixels and pages than its provider takes; the oldest pictures give way to a line."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from redline.errors import ValidationError
from redline.providers.format import Format
from redline.providers.laws.law import Broken, Change, History, Item, Repair, law
from redline.providers.limits.choice import parts_to_leave_out, problems_with
from redline.providers.limits.table import limits_of
from redline.providers.limits.weights import HeavyPart, heavy_parts, may_hold_media, sent_bytes
from redline.values.messages import Media, Message, ToolResult
from redline.values.words import EN


@law(
    anthropic="32 MB; 600 pictures and pages, 100 with a window of 200,000 tokens; 8,000 pixels, 2,000 if they are over 20",
    openai_chat="50 MB and 1,500 pictures a request",
    openai_responses="50 MB and 1,500 pictures a request",
    gemini="100 MB and 3,600 pictures a request",
)
def request_limits(history: History) -> Iterator[Broken]:
    """The numbers, and where they are from, are in `redline/providers/limits/limits.toml`."""
    limits, parts = limits_of(history.format.name, history.model), _weighed(history.messages)
    size = sum(map(sent_bytes, history.messages))
    for number, found in problems_with(parts, size, limits):
        if number is None:
            yield Broken(max(len(history.messages) - 1, 0), None, found)
            continue
        held = parts[number]
        places = enumerate(history.messages[held.index].parts)
        yield Broken(held.index, next((place for place, part in places if held.at[: len(part.at)] == part.at), None), found)


def within_request_limits(repair: Repair, format: Format, model: str = "") -> Repair:
    """A repaired history that its provider takes as one request; what gives way is said in the changes."""
    limits, messages = limits_of(format.name, model), [item.message for item in repair.items]
    parts = _weighed(messages)
    chosen = parts_to_leave_out(parts, sum(map(sent_bytes, messages)), limits)
    if not chosen:
        return repair
    items, changes = list(repair.items), list(repair.changes)
    tools = {call.id: call.name for message in messages for call in message.calls}
    for number, why in sorted(chosen.items(), reverse=True):  # from the end on: what is removed moves what comes after it
        held = parts[number]
        item, line = items[held.index], _line(messages[held.index], held, tools)
        message = _without(item.message, held, line, format)
        if message is None:
            continue
        items[held.index] = Item(message, item.source)
        changes.append(Change(item.index, f"{line} ({why})"))
    return Repair(tuple(items), (*repair.changes, *changes[len(repair.changes) :][::-1]))


def _weighed(messages: Sequence[Message]) -> list[HeavyPart]:
    """All parts of the messages that may give way; those of the assistant stay."""
    return [
        part
        for index, message in enumerate(messages)
        if message.role != "assistant" and (message.results or _has_media(message))
        for part in heavy_parts(message, index)
    ]


def _has_media(message: Message) -> bool:
    native = message.native
    return may_hold_media(native) if isinstance(native, bytes) else any(isinstance(part, Media) for part in message.parts)


def _line(message: Message, held: HeavyPart, tools: dict[str | None, str]) -> str:
    """The line left of a part: its tool or its speaker, its type and its size."""
    result = next((part for part in message.parts if isinstance(part, ToolResult) and held.at[: len(part.at)] == part.at), None)
    what = f"from the {message.role}" if result is None else result.name or tools.get(result.call_id) or "a tool's result"
    template = EN.over_limit.replace("; {again}", "")
    return template.format(what=what, media_type=held.media_type or "text", size=held.size_words)


def _without(message: Message, held: HeavyPart, line: str, format: Format) -> Message | None:
    """The message with a line in the place of a part, or without the part where the format has no place for words; None where
    it can do neither."""
    part = next(part for part in message.walk() if part.at == held.at and isinstance(part, Media | ToolResult))
    try:
        rest: Message | None = format.rewrite(message, part, line)
    except ValidationError:
        rest = format.remove(message, [part])
    return rest and replace(rest, timestamp_ms=message.timestamp_ms)
