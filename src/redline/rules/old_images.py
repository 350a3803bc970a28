"""Pictures are dear and age quickly: one from long ago gives way to a line that says what it was."""

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from redline.rules.facts import Seen
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_counts, make_texts, text_of
from redline.values.messages import Media
from redline.values.payloads import Path
from redline.values.words import TEMPLATE_FIELDS, Words, check_template

__all__ = ["OldImages"]

_ADDRESS_CHARS = 120


@dataclass(frozen=True, slots=True)
class OldImages:
    """Images of the latest messages stay; an older one, said or given as a result, may go.

    Unlike for words, the length of what is there says nothing: a picture with a short address costs as much.
    """

    name = "old_images"

    keep_messages: int = 10
    """How many messages keep their images, the present one included."""
    placeholder: str | None = None
    """What is put in the place of an image; None for `old_image` of the words.

    Fields: `media_type`, and `size` (of a linked one: its address).
    """
    words: Words | None = None
    """The language of it; None for that of the conversation, or else the documents'."""

    def __post_init__(self) -> None:
        check_counts(0, self.name, keep_messages=self.keep_messages)
        make_texts(self, placeholder=self.placeholder)
        check_template(text_of(self.placeholder, self.words, "old_image"), self.name, *TEMPLATE_FIELDS["old_image"])

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OldImagesFold(self)


class _OldImagesMemory(msgspec.Struct):
    images: list[tuple[int, int, Path, str]] = []
    """The number of the message among those seen, its index, the image's place, the words for it."""
    messages: int = 0
    present: int | None = None
    """The index of the message that was seen last."""


class _OldImagesFold(TimelessFold):
    def __init__(self, rule: OldImages) -> None:
        self._rule = rule
        self._placeholder = text_of(rule.placeholder, rule.words, "old_image")
        self.memory = _OldImagesMemory()

    def see(self, seen: Seen) -> Iterator[Mark]:
        rule, memory = self._rule, self.memory
        if seen.index != memory.present:
            memory.present = seen.index
            memory.messages += 1
        parts = seen.result.parts if seen.result is not None else (seen.part,)
        images = [part for part in parts if isinstance(part, Media) and part.media_type.startswith("image/")]
        if images and not seen.is_error:
            memory.images += [(memory.messages, seen.index, image.at, self._words_for(image)) for image in images]
        while memory.images and memory.messages - memory.images[0][0] >= rule.keep_messages:
            _, index, at, words = memory.images.pop(0)
            yield Mark(rule.name, index, at, words, f"image from before the last {rule.keep_messages} messages")

    def _words_for(self, image: Media) -> str:
        kilobytes = len(image.source) * 3 / 4 / 1000
        size = f"{kilobytes:.1f} kB" if image.source_type == "base64" else image.source[:_ADDRESS_CHARS]
        return self._placeholder.format(media_type=image.media_type[:_ADDRESS_CHARS], size=size)
