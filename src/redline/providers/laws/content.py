"""Messages say something, what their side may say, and end no more caches than may be; refused parts and empty messages go."""

from collections.abc import Iterator, Sequence

from redline.providers.anthropic.cache_control import MOST_BREAKPOINTS, mark_paths
from redline.providers.format import Format
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, law
from redline.providers.laws.reasoning_order import ends_in_reasoning, reasoning_order
from redline.values import payloads
from redline.values.messages import Message, Part, Reasoning, Role, Text, ToolCall, ToolResult


@law(
    anthropic="all messages must have non-empty content, and text content blocks must contain non-whitespace text",
    openai_chat="a message needs content, or tool_calls if it is the assistant's",
    openai_responses="a message item needs content",
    gemini="a content needs at least one part, and each part must hold data",
    ai_sdk="a message needs content",
)
def present_content(history: History) -> Iterator[Broken]:
    """Every message says something, but for an answer that is left to Anthropic to write.

    Anthropic also refuses texts of nothing but white space, alone or beside other blocks (anthropics/claude-code#23369), though
    its models write such blocks.
    """
    last, refuses_blank_text = len(history.messages) - 1, history.format.refuses_blank_text
    for index, message in enumerate(history.messages):
        if not history.format.says_something(message):
            if index != last or not _may_end_empty(message, history.format):
                yield Broken(index, None, "the message is empty")
        elif refuses_blank_text:
            blank = [place for place, part in enumerate(message.parts) if type(part) is Text and _is_blank(part)]
            yield from (Broken(index, place, "the text is blank") for place in blank)


@law(
    anthropic="tool_use, server_tool_use and thinking are only in assistant messages, tool_result only in user messages",
    openai_chat="tool_calls can only be in assistant messages",
    gemini="functionCall parts belong to the model, functionResponse parts to the user",
    ai_sdk="tool-call and reasoning parts belong to the assistant, tool-result parts to a tool message",
)
def parts_by_role(history: History) -> Iterator[Broken]:
    """Calls and reasoning are the assistant's; results come from the user or a tool."""
    for index, message in enumerate(history.messages):
        suspects = _RESULTS if message.role == "assistant" else _OF_ONE_SIDE
        for place, part in enumerate(message.parts):
            if type(part) in suspects and _is_misplaced(part, message.role):
                yield Broken(index, place, f"{type(part).__name__} in a message of the {message.role}")


@law(anthropic="final assistant content cannot end with trailing whitespace")
def trailing_space(history: History) -> Iterator[Broken]:
    """An answer that the caller begins, the last message, does not end in white space (langchain-ai/langchain#35071)."""
    if history.messages and ends_in_space(history.messages[-1]):
        last = history.messages[-1]
        yield Broken(len(history.messages) - 1, len(last.parts) - 1, "the last words end in white space")


@law(anthropic="a maximum of 4 blocks with cache_control may be provided")
def cache_breakpoints(history: History) -> Iterator[Broken]:
    """A request has four cache breakpoints at most, the last ones. Those of tools and system prompt are not seen here."""
    marks = [index for index, message in enumerate(history.messages) for _ in mark_paths(payloads.decode(message.native))]
    for index in dict.fromkeys(marks[: max(len(marks) - MOST_BREAKPOINTS, 0)]):
        yield Broken(index, None, f"{len(marks)} cache breakpoints in all")


def ends_in_space(message: Message) -> bool:
    """Whether a message of the assistant ends in white space."""
    if message.role != "assistant" or not message.parts:
        return False
    last = message.parts[-1]
    return isinstance(last, Text) and last.text != last.text.rstrip()


def _may_end_empty(message: Message, format: Format) -> bool:
    """Whether a message without content may be the last: an answer that the caller leaves the provider to write."""
    return format.takes_empty_answer and message.role == "assistant" and not message.parts


def _is_blank(part: Part) -> bool:
    return type(part) is Text and (not part.text or part.text.isspace())


_OF_ONE_SIDE = frozenset({Reasoning, ToolCall, ToolResult})
_RESULTS = frozenset({ToolResult})


def _is_misplaced(part: Part, role: Role) -> bool:
    """Whether a part is not for this side to say; what the provider ran itself is the assistant's, results included."""
    if isinstance(part, ToolResult) and not part.is_hosted:
        return role in ("assistant", "system")
    return role != "assistant" and type(part) in _OF_ONE_SIDE


def without_refused_content(draft: ExchangeDraft, format: Format, *, is_end: bool, has_begun: bool = True) -> ExchangeDraft:
    """The exchange without empty messages, blank texts, reasoning that nothing follows, calls of the user; nothing is added."""
    if is_end and has_begun and not draft.heard and draft.said and _may_end_empty(draft.said[-1].message, format):
        return draft
    changes: list[Change] = []
    said, heard = _without_refused_parts(draft.said, format, changes), _without_refused_parts(draft.heard, format, changes)
    if is_end and said and not heard and format.name in trailing_space.rules:
        said = _without_last_space(said, format, changes)
    kept = len(said)
    if format.items_are_messages and format.name in reasoning_order.rules:
        while kept and ends_in_reasoning(said[kept - 1].message):
            kept -= 1
        changes += [Change(item.index, "dropped: nothing follows the reasoning") for item in said[kept:]]
    after = draft._replace(has_lost_reasoning=kept < len(said))
    return after.changed(changes, said=said[:kept], heard=heard) if changes else draft


def _without_refused_parts(items: Sequence[Item], format: Format, changes: list[Change]) -> Sequence[Item]:
    if all(_refused_parts(item.message, format) is None for item in items):
        return items
    kept: list[Item] = []
    for item in items:
        parts, role = _refused_parts(item.message, format), item.message.role
        if parts is None:
            kept.append(item)
            continue
        rest = item.without(parts, format)
        kept += [item] if rest and not parts else rest
        reasons = [
            "a blank text"
            if isinstance(part, Text)
            else "reasoning that nothing follows"
            if isinstance(part, Reasoning) and role == "assistant"
            else f"a {type(part).__name__} that is not for the {role} to say"
            for part in parts
        ]
        why = "; ".join(dict.fromkeys(reasons)) or "it is empty"
        changes.append(Change(item.index, f"{'removed from it' if rest else 'dropped'}: {why}"))
    return kept


def _refused_parts(message: Message, format: Format) -> Sequence[Part] | None:
    """The parts that must go, all of them if the message says nothing; None if it stays as it is."""
    parts, role = message.parts, message.role
    if not parts:
        return None if format.says_something(message) else ()
    refuses_blank, checks_roles = format.refuses_blank_text, role != "assistant" and format.name in parts_by_role.rules
    refused: list[Part] = []
    for part in parts:
        if type(part) is Text:
            if refuses_blank and _is_blank(part):
                refused.append(part)
        elif checks_roles and type(part) in _OF_ONE_SIDE and _is_misplaced(part, role):
            refused.append(part)
    if not refused and type(parts[-1]) is not Reasoning:
        return None
    places = {part.at for part in refused}
    kept = [part for part in parts if part.at not in places]
    if role == "assistant" and not format.items_are_messages and format.name in reasoning_order.rules:
        while kept and type(kept[-1]) is Reasoning:
            refused.append(kept.pop())
    return refused or None


def _without_last_space(said: Sequence[Item], format: Format, changes: list[Change]) -> Sequence[Item]:
    """An answer that the caller begins, without the white space it ends in."""
    item = said[-1]
    trimmed: Message | None = item.message
    while trimmed is not None and ends_in_space(trimmed):
        last = trimmed.parts[-1]
        words = last.text.rstrip() if isinstance(last, Text) else ""
        trimmed = format.rewrite(trimmed, last, words) if words else format.remove(trimmed, [last])
    if trimmed is item.message:
        return said
    changes.append(Change(item.index, "the white space at its end was removed"))
    kept = [*said[:-1], Item(trimmed, item.source)] if trimmed is not None else said[:-1]
    return _without_refused_parts(kept, format, changes)
