"""What the repair of an exchange must know of the messages before it."""

from collections.abc import Sequence

import msgspec

from redline.formats.base import Format
from redline.laws.hosted_results import HostedResults, open_hosted_calls
from redline.laws.reasoning_order import tied_length
from redline.laws.trailing_space import TrailingSpace, ends_in_space
from redline.values.messages import Message

__all__ = ["Preceding"]


class Preceding(msgspec.Struct, frozen=True, omit_defaults=True):
    """The messages that are settled, in short."""

    has_begun: bool = False
    """Whether somebody besides the system has spoken."""
    ends_with_assistant: bool = False
    """Whether the assistant spoke last."""
    ends_in_space: bool = False
    """Whether the last words are the assistant's and end in white space, which the provider refuses at the end of all."""
    has_input: bool = False
    """Whether the assistant was given anything yet, or reasoned: what it says then is not cut off from its reasoning."""
    open_hosted_ids: tuple[str | None, ...] = ()
    """Of the provider's own calls in the assistant's last message, those without a result."""
    has_lost_reasoning: bool = False
    """Whether reasoning was dropped whose outcome the assistant says next."""

    def followed_by(self, messages: Sequence[Message], format: Format, *, has_lost_reasoning: bool = False) -> "Preceding":
        """These messages and more; reasoning at the end of them may have been dropped."""
        if not messages:
            return msgspec.structs.replace(self, has_lost_reasoning=has_lost_reasoning or self.has_lost_reasoning)
        has_begun, ends_with_assistant, hosted_ids = self.has_begun, self.ends_with_assistant, self.open_hosted_ids
        for message in reversed(messages):
            if message.role != "system":
                has_begun, ends_with_assistant = True, message.role == "assistant"
                break
        spoken = next((message for message in reversed(messages) if message.role == "assistant"), None)
        if spoken is not None and format.name in HostedResults.rules:
            hosted_ids = tuple(open_hosted_calls(spoken).values())
        return Preceding(
            has_begun,
            ends_with_assistant,
            ends_in_space=format.name in TrailingSpace.rules and ends_in_space(messages[-1]),
            has_input=self.has_input or tied_length(messages, format) < len(messages),
            open_hosted_ids=hosted_ids,
            has_lost_reasoning=has_lost_reasoning or (self.has_lost_reasoning and spoken is None),
        )
