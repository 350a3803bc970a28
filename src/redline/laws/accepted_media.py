"""Pictures are of a type that the provider takes."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["AcceptedMedia"]


class AcceptedMedia(FlawLaw):
    """Pictures are of a type that the provider takes."""

    name: ClassVar[str] = "accepted_media"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "a base64 picture is image/jpeg, image/png, image/gif or image/webp",
    }
