"""The Gemini API: the history is under `contents`, the model and whether it streams are in the path."""

import re

import msgspec

from redline.wire.base import ABSENT, Api, Cut, read_raw
from redline.wire.body import Body

__all__ = ["GeminiApi", "GeminiCut"]


class GeminiCut(Cut, kw_only=True):
    """The fields of a body of generateContent that Redline looks at; the API takes both spellings of a name."""

    messages: list[msgspec.Raw] = msgspec.field(name="contents")
    systemInstruction: msgspec.Raw = ABSENT  # noqa: N815 - as it is on the wire
    system_instruction: msgspec.Raw = ABSENT
    tools: msgspec.Raw = ABSENT
    toolConfig: msgspec.Raw = ABSENT  # noqa: N815 - as it is on the wire
    tool_config: msgspec.Raw = ABSENT
    cachedContent: msgspec.Raw = ABSENT  # noqa: N815 - as it is on the wire
    cached_content: msgspec.Raw = ABSENT


class GeminiApi(Api):
    """`POST …/models/<model>:generateContent` and `:streamGenerateContent`, of AI Studio and of Vertex."""

    name = "gemini"
    provider = "gemini"
    path = re.compile(r"(?:^|/)(?:models|tunedModels|endpoints)/([^/:]+):(generateContent|streamGenerateContent)$")
    fields = GeminiCut

    def _read(self, raw: bytes, messages: tuple[bytes, ...], cut: GeminiCut, path: str) -> Body:
        preamble = {
            names[0]: next((held for name in names if (held := read_raw(getattr(cut, name))) is not None), None)
            for names in _IN_CACHE_KEY
        }
        asked = self.path.search(path)
        return Body(
            raw,
            self.name,
            messages,
            asked[1] if asked else "",
            {name: held for name, held in preamble.items() if held is not None},
            is_streamed=asked is not None and asked[2] == "streamGenerateContent",
        )


_IN_CACHE_KEY = (
    ("systemInstruction", "system_instruction"),
    ("tools",),
    ("toolConfig", "tool_config"),
    ("cachedContent", "cached_content"),
)
