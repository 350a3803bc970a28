"""The system prompt is beside the messages, where the provider holds it so."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History

__all__ = ["SystemPlace"]


class SystemPlace:
    """The system prompt is beside the messages, not the first of them; with Gemini, none of them.

    Anthropic's newest models take system messages later in a history:
    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages.
    """

    name: ClassVar[str] = "system_place"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "the system prompt is the request's `system`, not its first message",
        "gemini": "the system prompt is the request's `systemInstruction`; contents know the roles user and model",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The messages of the system that have no place among the others."""
        has_begun = False
        for index, message in enumerate(history.messages):
            if history.format.is_apart(message, has_begun=has_begun):
                yield Broken(index, None, "a message of the system")
            else:
                has_begun = True
