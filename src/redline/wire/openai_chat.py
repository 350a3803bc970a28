"""OpenAI's Chat Completions, which many servers speak: the system prompt is a message like the others."""

import re

import msgspec

from redline.wire.base import ABSENT, Api, Cut, read_raw
from redline.wire.body import Body

__all__ = ["OpenAIChatApi", "OpenAIChatCut"]


class OpenAIChatCut(Cut, kw_only=True):
    """The fields of a body of Chat Completions that Redline looks at."""

    tools: msgspec.Raw = ABSENT
    functions: msgspec.Raw = ABSENT
    response_format: msgspec.Raw = ABSENT
    reasoning_effort: msgspec.Raw = ABSENT
    verbosity: msgspec.Raw = ABSENT
    prompt_cache_key: msgspec.Raw = ABSENT


class OpenAIChatApi(Api):
    """`POST /v1/chat/completions`, also of deployments on Azure."""

    name = "openai_chat"
    provider = "openai"
    path = re.compile(r"(?:^|/)chat/completions$")
    fields = OpenAIChatCut

    def _read(self, raw: bytes, messages: tuple[bytes, ...], cut: OpenAIChatCut, path: str) -> Body:  # noqa: ARG002 - not said there
        preamble = {name: read_raw(getattr(cut, name)) for name in _IN_CACHE_KEY}
        model, session = read_raw(cut.model), read_raw(cut.prompt_cache_key)
        return Body(
            raw,
            self.name,
            messages,
            model if isinstance(model, str) else "",
            {name: held for name, held in preamble.items() if held is not None},
            session if isinstance(session, str) else "",
            is_streamed=read_raw(cut.stream) is True,
        )


_IN_CACHE_KEY = ("tools", "functions", "response_format", "reasoning_effort", "verbosity")
