"""Every message says something."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from redline.formats.base import Format
from redline.laws.law import Broken, History
from redline.values.messages import Message, Text

__all__ = ["PresentContent", "may_end_empty"]


class PresentContent:
    """Every message says something.

    Anthropic also refuses empty texts, and messages of nothing but white space. White space beside other blocks passes: the
    model itself writes such blocks, and recorded sessions went on with them.
    """

    name: ClassVar[str] = "present_content"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "all messages must have non-empty content, and text content must be non-empty",
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
                yield from _blank_texts(index, message)


def may_end_empty(message: Message, format: Format) -> bool:
    """Whether a message without content may be the last: an answer that the caller leaves the provider to write."""
    return format.takes_empty_answer and message.role == "assistant" and not message.parts


def _blank_texts(index: int, message: Message) -> Sequence[Broken]:
    blank = [
        (place, part.text)
        for place, part in enumerate(message.parts)
        if type(part) is Text and (not part.text or part.text.isspace())
    ]
    if not blank:
        return ()
    is_all_blank = len(blank) == len(message.parts)
    return [Broken(index, place, "the text is blank") for place, text in blank if is_all_blank or not text]
