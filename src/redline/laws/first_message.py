"""The first message is the user's."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.laws.law import Broken, History

__all__ = ["FirstMessage"]


class FirstMessage:
    """The first message, system messages aside, is the user's."""

    name: ClassVar[str] = "first_message"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "the first message must use the user role",
        "gemini": "the first content must have the role user",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """The first message, if the assistant said it."""
        for index, message in enumerate(history.messages):
            if message.role == "system":
                continue
            if message.role == "assistant":
                yield Broken(index, None, "the assistant speaks first")
            return
