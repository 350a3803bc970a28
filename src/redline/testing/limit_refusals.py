"""How the providers refuse a request that holds too much: status, type and words, each with where they were seen."""

from collections.abc import Sequence
from typing import Any

from redline.providers.apis import Provider
from redline.providers.limits.choice import refused_alone
from redline.providers.limits.surplus_tools import tool_count
from redline.providers.limits.table import RequestLimits
from redline.providers.limits.weights import HeavyPart, heavy_parts
from redline.values.messages import Message

_WORDS = {
    "anthropic": {
        # earendil-works/pi#401; anthropics/claude-code#24541; #4778, #15730; #19631
        "request_bytes": "Request exceeds the maximum size",
        "media": "Too much media: {pages} document pages + {pictures} images > {taken}",
        "pixels": "{at}.image.source.base64.data: At least one of the image dimensions exceed max allowed size: {taken} pixels",
        "many_pixels": "{at}.image.source.base64.data: At least one of the image dimensions exceed max allowed size for "
        "many-image requests: {taken} pixels",
        "picture_chars": "{at}.image.source.base64: image exceeds 5 MB maximum: {given} bytes > {taken} bytes",
        "tokens": "prompt is too long: {given} tokens > {taken} maximum",
    },
    "openai": {
        # what OpenAI says of too many bytes is not documented; Azure/azure-rest-api-specs#46145; zed-industries/zed#42393
        "request_bytes": "Request entity too large",
        "media": "Exceeded maximum number of images ({taken}) allowed in the request.",
        "tools": "Invalid 'tools': array too long. Expected an array with maximum length {taken}, but got an array with length "
        "{given} instead.",
        "tokens": "This model's maximum context length is {taken} tokens. However, your messages resulted in {given} tokens. "
        "Please reduce the length of the messages.",
    },
    "gemini": {
        # google-gemini/deprecated-generative-ai-android#26; bethington/ghidra-mcp#440; google-gemini/gemini-cli#19083, #6678
        "request_bytes": "Request payload size exceeds the limit: {taken} bytes.",
        "media": "Request contains an invalid argument.",
        "tools": "The GenerateContentRequest proto is invalid:\n  * tools[0].function_declarations: [FIELD_INVALID] At most "
        "{taken} function declarations can be specified.",
        "tokens": "The input token count ({given}) exceeds the maximum number of tokens allowed ({taken}).",
    },
}
_CODES = {"tools": "array_above_max_length", "tokens": "context_length_exceeded"}
"""Of OpenAI."""
_TOO_LARGE = "request_too_large"
"""Anthropic's type for 413: https://platform.claude.com/docs/en/api/errors."""


def limit_refusal(
    provider: Provider, body: dict[str, Any], messages: Sequence[Message], limits: RequestLimits, *, size: int, tokens: int
) -> tuple[int, dict[str, Any]] | None:
    """The status and the body with which a provider refuses a request for its size; None if it takes it."""

    def refusal(limit: str, status: int = 400, **told: object) -> tuple[int, dict[str, Any]]:
        words = _WORDS[provider.name][limit].format(taken=getattr(limits, limit), **told)
        answer = provider.error(status, words)
        if provider.name == "openai":
            answer["error"]["code"] = _CODES.get(limit)
        elif status == 413 and provider.name == "anthropic":
            answer["error"]["type"] = _TOO_LARGE
        return status, answer

    if 0 < limits.request_bytes < size:
        return refusal("request_bytes", 400 if provider.name == "gemini" else 413, given=size)
    tools = body.get("tools")
    if limits.tools and isinstance(tools, list) and (count := tool_count(tools)) > limits.tools:
        return refusal("tools", given=count)
    parts = [part for index, message in enumerate(messages) for part in heavy_parts(message, index)]
    pictures, pages = (sum(one.pages for one in parts if one.kind == kind) for kind in ("picture", "document"))
    if limits.media and pictures + pages > limits.media:
        return refusal("media", pictures=pictures, pages=pages)
    for part in parts:
        at = f"messages.{part.index}.{'.'.join(map(str, part.at))}"
        if refused_alone(part, limits):
            limit = "pixels" if max(part.width, part.height) > limits.pixels > 0 else "picture_chars"
            return refusal(limit, at=at, given=part.chars)
        if _is_one_of_many(part, pictures, limits):
            return refusal("many_pixels", at=at)
    return refusal("tokens", given=tokens) if 0 < limits.tokens < tokens else None


def _is_one_of_many(part: HeavyPart, pictures: int, limits: RequestLimits) -> bool:
    is_many = 0 < limits.many_media < pictures
    return is_many and part.kind == "picture" and max(part.width, part.height) > limits.many_pixels > 0
