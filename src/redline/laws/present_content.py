"""Every message says something."""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from redline.formats.base import Format
from redline.laws.law import Broken, History
from redline.values.messages import Message, Part, Text

__all__ = ["PresentContent", "is_blank", "may_end_empty"]


class PresentContent:
    """Every message says something.

    Anthropic also refuses texts of nothing but white space, alone or beside other blocks (anthropics/claude-code#23369), though
    its models write such blocks.
    """

    name: ClassVar[str] = "present_content"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "all messages must have non-empty content, and text content blocks must contain non-whitespace text",
        "openai_chat": "a message needs content, or tool_calls if it is the assistant's",
        "openai_responses": "a message item needs content",
        "gemini": "a content needs at least one part, and each part must hold data",
        "ai_sdk": "a message needs content",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Messages without parts, and texts without words where they are refused. Anthropic's prefilled answer may be empty."""
        last, refuses_blank_text = len(history.messages) - 1, history.format.refuses_blank_text
        for index, message in enumerate(history.messages):
            if not history.format.says_something(message):
                if index != last or not may_end_empty(message, history.format):
                    yield Broken(index, None, "the message is empty")
            elif refuses_blank_text:
                blank = [place for place, part in enumerate(message.parts) if is_blank(part)]
                yield from (Broken(index, place, "the text is blank") for place in blank)


def may_end_empty(message: Message, format: Format) -> bool:
    """Whether a message without content may be the last: an answer that the caller leaves the provider to write."""
    return format.takes_empty_answer and message.role == "assistant" and not message.parts


def is_blank(part: Part) -> bool:
    """Whether a part is a text of nothing but white space."""
    return type(part) is Text and (not part.text or part.text.isspace())
