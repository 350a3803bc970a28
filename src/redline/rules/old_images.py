"""Pictures are dear and age quickly: one from long ago gives way to a line that says what it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from redline.rules.facts import Seen
from redline.rules.placeholders import fill_shortly, template_for, way_back
from redline.rules.rule import Fold, Mark, MarkQueue, RuleFold
from redline.rules.settings import CheckedRule
from redline.values.messages import Media
from redline.values.words import Placeholders

_ADDRESS_CHARS, _TYPE_CHARS = 120, 40


@dataclass(frozen=True, slots=True)
class OldImages(CheckedRule):
    """Images of the latest messages stay; an older one, said or given as a result, may go.

    Unlike for words, the length of what is there says nothing: a picture with a short address costs as much.
    """

    name = "old_images"
    texts: ClassVar = {"placeholder": "old_image"}

    keep_messages: int = 10
    """How many messages keep their images, the present one included."""
    placeholder: str | None = None
    """What is put in the place of an image; None for `old_image` of the words.

    Fields: `what` (of a message: the role), `media_type`, `size` (of a linked one: its address), and `again`.
    """
    words: Placeholders | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OldImagesFold(self, _OldImagesMemory())


class _OldImagesMemory(MarkQueue):
    messages: int = 0
    present: int | None = None
    """The index of the message that was seen last."""


class _OldImagesFold(RuleFold[OldImages, _OldImagesMemory]):
    def see(self, seen: Seen) -> Sequence[Mark]:
        rule, memory = self._rule, self.memory
        if seen.index != memory.present:
            memory.present = seen.index
            memory.messages += 1
        for image in seen.result.parts if seen.result is not None else (seen.part,):
            if isinstance(image, Media) and image.media_type.startswith("image/") and not seen.is_error:
                line = self._line(seen, image)
                because = f"image from before the last {rule.keep_messages} messages"
                memory.waiting.append((memory.messages, Mark(rule.name, seen.index, image.at, line, because)))
        return memory.due(memory.messages - rule.keep_messages)

    def _line(self, seen: Seen, image: Media) -> str:
        address = "" if image.source_type == "base64" else " ".join(image.source.split())[:_ADDRESS_CHARS]
        again, fields = way_back(seen, self._words), {"media_type": " ".join(image.media_type.split())[:_TYPE_CHARS]}
        fields |= {"size": address or f"{len(image.source) * 3 / 4 / 1000:.1f} kB", "again": again}
        template = template_for(self._text, again)
        if seen.result is None:
            return template.format(what=seen.message.role, **fields)
        return fill_shortly(seen, lambda what: template.format(what=what, **fields), whole=address)
