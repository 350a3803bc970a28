"""What a message holds has the shape that the provider asks for."""

from collections.abc import Mapping
from typing import ClassVar

from redline.laws.law import FlawLaw

__all__ = ["BlockShapes"]


class BlockShapes(FlawLaw):
    """Content and blocks have the shape that the provider asks for."""

    name: ClassVar[str] = "block_shapes"
    rules: ClassVar[Mapping[str, str]] = {
        "anthropic": "content is a string or a list of blocks with a type; pictures and documents are the user's",
        "openai_chat": "content is a string or a list of parts, not null in a result; each call has a type and a function",
        "openai_responses": "content and output are text or parts: output_text from the model, input_text from others",
        "gemini": "each part must hold data; a functionResponse's response is an object",
        "ai_sdk": "content is a string (the system's always) or a list of parts with a type",
    }
