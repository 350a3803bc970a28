"""The tables of the providers and their APIs: what transport, proxy and SDK loops ask about any of them.

To follow a request: `api` (a body is cut into its messages, and put together again), the `api` of each provider (what else it
says), `sessions` (whose it is), `redline.transport.editing` (the Editor asked), `answers` (what the provider reported).
"""

from collections.abc import Container

from redline.providers.anthropic.api import ANTHROPIC, AnthropicApi
from redline.providers.api import Api, Body, Provider
from redline.providers.gemini.api import GEMINI, GeminiApi
from redline.providers.openai_chat.api import OPENAI, OpenAIChatApi
from redline.providers.openai_responses.api import OpenAIResponsesApi

__all__ = ["ANTHROPIC", "APIS", "GEMINI", "OPENAI", "PROVIDERS", "Api", "Body", "Provider", "api_of", "find_api", "provider_of"]

APIS: tuple[Api, ...] = (AnthropicApi(), OpenAIChatApi(), OpenAIResponsesApi(), GeminiApi())

PROVIDERS: dict[str, Provider] = {api.provider.name: api.provider for api in APIS}
"""By name."""


def find_api(method: str, path: str) -> Api | None:
    """The API that is asked at a path, which has neither query nor label; None where no model is asked with a history."""
    return next((api for api in APIS if api.takes(method, path)), None)


def api_of(format: str) -> Api | None:
    """The API whose messages are of a format; None for a format that no API takes."""
    return next((api for api in APIS if api.name == format), None)


def provider_of(path: str, headers: Container[str]) -> Provider:
    """The provider that a request is for, where its path names no API: by its headers, else its path, else OpenAI."""
    by_header = (one for one in PROVIDERS.values() if any(name in headers for name in one.own_headers))
    by_path = (one for one in PROVIDERS.values() if one.own_paths and one.own_paths.search(path))
    return next(by_header, None) or next(by_path, OPENAI)
