"""OpenAI chat as several recorders need it: a call, an answer and a token report made from what they keep instead."""

from typing import Any

import msgspec

from redline.agents.transcripts import Usage
from redline.agents.transcripts.heads import CacheCreation, TokenCount
from redline.values import payloads


def chat_call(call_id: str | None, name: str, arguments: object) -> dict[str, Any]:
    """A call whose arguments the recorder keeps as an object; the provider has them as JSON text."""
    text = arguments if isinstance(arguments, str) else payloads.encode(arguments).decode()
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}


def chat_answer(call_id: str | None, content: object, *, failed: bool = False) -> dict[str, Any]:
    """The answer to a call. A failure has no field at the provider: where the words do not tell it, one is added."""
    answer = {"role": "tool", "tool_call_id": call_id, "content": content}
    is_told = isinstance(content, str) and content.lstrip().startswith("Error:")
    return {**answer, "messageStatus": "error"} if failed and not is_told else answer


class CacheDetails(msgspec.Struct):
    """How much of the prompt came from the cache; LiteLLM also says for how long the rest was written to it."""

    cached_tokens: TokenCount | None = None
    cache_creation_token_details: CacheCreation | None = None


class ChatTokens(msgspec.Struct):
    """The `usage` of a chat completion; the last two fields are LiteLLM's, for providers that report them apart."""

    prompt_tokens: TokenCount | None = None
    """All that was sent, cached or not."""
    completion_tokens: TokenCount | None = None
    prompt_tokens_details: CacheDetails | None = None
    cache_read_input_tokens: TokenCount | None = None
    cache_creation_input_tokens: TokenCount | None = None


def chat_usage(tokens: ChatTokens | None) -> Usage | None:
    """The tokens of one request; None where nothing was reported."""
    if tokens is None or (tokens.prompt_tokens is None and tokens.completion_tokens is None):
        return None
    details = tokens.prompt_tokens_details or CacheDetails()
    read = details.cached_tokens or tokens.cache_read_input_tokens or 0
    written = tokens.cache_creation_input_tokens or 0
    fresh = max(0, (tokens.prompt_tokens or 0) - read - written)
    split = details.cache_creation_token_details or CacheCreation()
    return Usage(fresh, tokens.completion_tokens or 0, read, written, split.ephemeral_1h_input_tokens or 0)
