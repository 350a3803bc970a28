"""Pictures are dear and age quickly: one from long ago gives way to a line that says what it was."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from redline.messages import Media, Message
from redline.placeholders import ZH, check_template
from redline.rules.rule import Fold, Mark, TimelessFold
from redline.rules.settings import check_at_least
from redline.view.facts import Seen

__all__ = ["OldImages"]

_ADDRESS_CHARS = 120


@dataclass(frozen=True, slots=True)
class OldImages:
    """Images of the latest messages stay; an older one, said or given as a result, may go.

    Unlike for words, the length of what stands there says nothing: a picture behind a short address costs as much.
    """

    name: ClassVar[str] = "old_images"

    keep_messages: int = 10
    """How many messages keep their images, the present one included."""
    placeholder: str = ZH.old_image
    """What stands in the place of an image. Fields: `media_type`, and `size` (of a linked one: where it lies)."""

    def __post_init__(self) -> None:
        check_at_least(0, self.name, keep_messages=self.keep_messages)
        check_template(self.placeholder, self.name, "media_type", "size")

    def fold(self) -> Fold:
        """A fresh fold."""
        return _OldImagesFold(self)


class _OldImagesFold(TimelessFold):
    def __init__(self, rule: OldImages) -> None:
        self._rule = rule
        self._images: deque[tuple[int, int, Media]] = deque()
        """The number of the message among those seen, its index, the image."""
        self._messages = 0
        self._present: Message | None = None

    def see(self, seen: Seen) -> Iterator[Mark]:
        if seen.message is not self._present:
            self._present = seen.message
            self._messages += 1
        self._images.extend((self._messages, seen.index, image) for image in _images(seen))
        while self._images and self._messages - self._images[0][0] >= self._rule.keep_messages:
            _, index, image = self._images.popleft()
            stub = self._rule.placeholder.format(media_type=image.media_type, size=_size(image))
            yield Mark(
                self._rule.name,
                index,
                image.at,
                stub,
                f"image from before the last {self._rule.keep_messages} messages",
            )


def _images(seen: Seen) -> Iterator[Media]:
    if seen.is_error:
        return
    for part in seen.result.parts if seen.result is not None else (seen.part,):
        if isinstance(part, Media) and part.media_type.startswith("image/"):
            yield part


def _size(image: Media) -> str:
    if image.source_type != "base64":
        return image.source[:_ADDRESS_CHARS]
    return f"{len(image.source) * 3 / 4 / 1000:.1f} kB"
