"""OpenAI's Chat Completions, which many servers speak: the system prompt is a message like the others."""

import re

import msgspec

from redline.wire.base import ABSENT, Api, Cut

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
    in_cache_key = ("tools", "functions", "response_format", "reasoning_effort", "verbosity")
