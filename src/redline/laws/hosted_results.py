"""What the provider ran itself has its result: in the same message, or at the latest in the assistant's next one."""

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History
from redline.values.messages import Message, ToolCall, ToolResult

__all__ = ["HostedResults", "open_hosted_calls", "stray_hosted_results"]


class HostedResults:
    """A call that the provider runs has its result before the user speaks again, and each such result has its call.

    The result may come in the assistant's next message: after a pause, or after results that the client gave in between.
    """

    name: ClassVar[str] = "hosted_results"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "each server_tool_use must have its result block, each such result a server_tool_use before it",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Calls that were interrupted, and results without their call."""
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
