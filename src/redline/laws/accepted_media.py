"""Pictures are of a type that the provider takes, and where it takes them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from redline.formats.base import Format
from redline.laws.law import Broken, FlawLaw, History
from redline.values.messages import Media, Message

__all__ = ["AcceptedMedia", "refused_media"]


class AcceptedMedia(FlawLaw):
    """Pictures are of a type that the provider takes, and where it takes them."""

    name: ClassVar[str] = "accepted_media"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "a base64 picture is image/jpeg, image/png, image/gif or image/webp",
        "openai_chat": "pictures are only in messages of the user; a tool message holds text",
    }

    def broken(self, history: History) -> Iterator[Broken]:
        """Pictures of other types, and media in results that must be text."""
        yield from super().broken(history)
        for index, message in enumerate(history.messages):
            yield from (Broken(index, 0, f"{media.media_type} in a result") for media in refused_media(message, history.format))


def refused_media(message: Message, format: Format) -> Sequence[Media]:
    """The media that results of a message hold although they must be text; not what agents store beside the content."""
    if not format.results_are_text or message.role != "tool":
        return ()
    held = [part for result in message.results for part in result.parts if isinstance(part, Media)]
    return [part for part in held if part.at[:1] == ("content",)]
