"""Filter: keep the visible messages that meet every condition."""

import json
from dataclasses import dataclass
from typing import Any

from redline.errors import ValidationError
from redline.values import payloads
from redline.values.messages import Message, ToolCall
from redline.view.operations.operation import Context, OperationOutcome
from redline.view.operations.options import read_options

__all__ = ["Filter"]

_CONDITIONS = ("roles", "content_contains", "content_excludes")


@dataclass(frozen=True, slots=True)
class Filter:
    """Keeps a visible message if its role is listed, its content has a keyword, and none of the excluded ones.

    An empty list is no condition. Keywords are case-sensitive. Nothing is protected. Opens a batch.
    """

    roles: tuple[str, ...] = ()
    """As the message itself names its role; where it names none (an item of the Responses API), who said it."""
    content_contains: tuple[str, ...] = ()
    content_excludes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        conditions = {name: getattr(self, name) for name in _CONDITIONS}
        for name, words in conditions.items():
            if not isinstance(words, tuple) or not all(isinstance(word, str) for word in words):
                raise ValidationError(f"filter.{name} must be a list of strings, not {words!r}")
        if not any(conditions.values()):
            raise ValidationError(f"filter has no condition. Set at least one of {', '.join(_CONDITIONS)}.")

    @classmethod
    def parse(cls, section: object) -> "Filter":
        """The operation that a configuration describes."""
        return cls(**read_options("filter", section, _CONDITIONS))

    def apply(self, context: Context) -> OperationOutcome:
        """The view of the messages that meet the conditions."""
        kept = [index for index, message in context.visible() if self._keeps(message)]
        return OperationOutcome.of_new_batch(context.view.with_indices(kept), context.store)

    def _keeps(self, message: Message) -> bool:
        native = payloads.decode(message.native)
        if self.roles and (native.get("role") or message.role) not in self.roles:
            return False
        if not self.content_contains and not self.content_excludes:
            return True
        text = _content_text(message, native)
        is_wanted = not self.content_contains or any(word in text for word in self.content_contains)
        return is_wanted and not any(word in text for word in self.content_excludes)


def _content_text(message: Message, native: dict[str, Any]) -> str:
    """What keywords are looked for in: the content, or the fields that hold it where a format has none.

    Those are the fields that the parts were read from, calls aside: a message can have calls instead of content.
    """
    if native.get("content") is not None:
        return _as_text(native["content"])
    keys = dict.fromkeys(str(part.at[0]) for part in message.parts if part.at and not isinstance(part, ToolCall))
    return "\n".join(_as_text(native[key]) for key in keys if native.get(key) is not None)


def _as_text(content: object) -> str:
    if isinstance(content, str):
        return content
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"), default=repr)
