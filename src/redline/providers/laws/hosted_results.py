"""What the provider ran itself has its result: in the same message, or at the latest in the assistant's next one."""

from collections.abc import Collection, Iterable, Iterator

from redline.providers.format import Format
from redline.providers.laws.law import Broken, Change, ExchangeDraft, History, Item, law
from redline.values.messages import Message, ToolCall, ToolResult


@law(anthropic="each server_tool_use must have its result block, each such result a server_tool_use before it")
def hosted_results(history: History) -> Iterator[Broken]:
    """A call that the provider runs has its result in this message or the assistant's next; such a result has its call."""
    pending: dict[str | None, Broken] = {}
    for index, message in enumerate(history.messages):
        if message.role != "assistant":
            if len(message.results) < len(message.parts) or not message.parts:
                yield from pending.values()
                pending = {}
            continue
        strays = stray_hosted_results(message, pending.keys())
        yield from (Broken(index, place, "a result of the provider's without its call") for place in strays)
        for part in message.parts:
            if type(part) is ToolResult and part.is_hosted:
                pending.pop(part.call_id, None)
        yield from pending.values()
        found = "the call that the provider ran has no result"
        pending = {own: Broken(index, place, found) for place, own in open_hosted_calls(message).items()}


def open_hosted_calls(message: Message) -> dict[int, str | None]:
    """The calls that the provider was to run, whose results are not in the message, by place."""
    found: dict[int, str | None] = {}
    for place, part in enumerate(message.parts):
        if type(part) is ToolCall and part.is_hosted:
            found[place] = part.id
        elif type(part) is ToolResult and part.is_hosted:
            found = {place: own for place, own in found.items() if own != part.call_id}
    return found


def stray_hosted_results(message: Message, pending: Iterable[str | None]) -> list[int]:
    """The places of results that the provider gave for a call that is neither before them in the message nor pending."""
    called: set[str | None] = set(pending)
    strays: list[int] = []
    for place, part in enumerate(message.parts):
        if type(part) is ToolCall and part.is_hosted:
            called.add(part.id)
        elif type(part) is ToolResult and part.is_hosted and part.call_id not in called:
            strays.append(place)
    return strays


def without_interrupted_hosted_calls(
    draft: ExchangeDraft, format: Format, *, pending: Collection[str | None], resolved: Collection[str | None] | None
) -> ExchangeDraft:
    """What was said, with a result for each call that the provider runs itself, and a call for each such result.

    Of the message before, those pending are still open. Those resolved have their result in the next message; None: nothing was
    said since, so that the provider may still go on with them.
    """
    if format.name not in hosted_results.rules:
        return draft
    changes: list[Change] = []
    said: list[Item] = []
    for item in draft.said:
        places = stray_hosted_results(item.message, pending)
        if resolved is not None:
            places += [place for place, own in open_hosted_calls(item.message).items() if own not in resolved]
        if not places:
            said.append(item)
            continue
        changes.append(Change(item.index, "what the provider itself ran was removed from it: it was interrupted"))
        said += item.without([item.message.parts[place] for place in places], format)
    return draft.changed(changes, said=said) if changes else draft
