"""pydantic-ai: a capability that edits each attempt at a model request, and never the history of the agent."""

import asyncio
import functools
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RetryPromptPart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.toolsets import AgentToolset, FunctionToolset

from redline.adapters.framework_editor import CallSettings, CallsUnderWay, FrameworkEditor, GivenMessages, rewritten_parts
from redline.editor import Editor
from redline.errors import FormatError
from redline.formats.usage import Usage
from redline.policy import Policy

__all__ = ["Redline"]

Block = dict[str, Any]
_FAILURES = ("failed", "retried")
"""The outcomes that providers are told of as errors."""


class Redline(AbstractCapability[Any]):
    """Strikes what is out of date from what the model is sent; `all_messages()` and what you store of it stay whole.

    Put it last in the list of capabilities, so that it sees what the others made of the messages. `store` is a folder, the
    address of a database, or an Editor; without one a process that is started again cannot send the same bytes. Where results
    are offloaded, to an Editor's blobs, the agent gets a tool `recall` that reads them back.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | str | None = None,
        namespace: str = "",
    ) -> None:
        super().__init__()
        self._messages = FrameworkEditor[ModelMessage](
            store, policy, format="anthropic", read=_read, write=_write, fields=_fields, namespace=namespace
        )
        self._calls = CallsUnderWay[tuple[str | None, int], ModelMessage]()
        """By run and step."""

    @property
    def editor(self) -> Editor:
        """The Editor that is asked."""
        return self._messages.editor

    def get_toolset(self) -> AgentToolset[Any] | None:
        """The tool `recall`, where there is something to read back."""
        return FunctionToolset([self._messages.recall]) if self.editor.blobs is not None else None

    async def prepare_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        """Edit the messages of one attempt."""
        told = functools.partial(_settings_of, ctx, request_context)
        call = await asyncio.to_thread(self._messages.edit, request_context.messages, told)
        self._calls.begin((ctx.run_id, ctx.run_step), call)
        return replace(request_context, messages=list(call.messages))

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record what the provider reported."""
        if (call := self._calls.end((ctx.run_id, ctx.run_step))) is not None:
            await asyncio.to_thread(self._messages.answered, call, lambda: _usage_of(response))
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Leave a history alone whose changed form the provider refused; the error goes on."""
        if (call := self._calls.end((ctx.run_id, ctx.run_step))) is not None:
            await asyncio.to_thread(self._messages.failed, call, error)
        raise error


def _settings_of(ctx: RunContext[Any], request_context: ModelRequestContext) -> CallSettings:
    messages, asked = request_context.messages, request_context.model_request_parameters
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    system = [part.content for message in requests for part in message.parts if isinstance(part, SystemPromptPart)]
    settings: Any = request_context.model_settings or {}
    lifetime = settings.get("anthropic_cache_messages") or settings.get("anthropic_cache")
    return CallSettings(
        model=request_context.model.model_name,
        preamble={
            "system": [*system, *(part.content for part in asked.instruction_parts or ())],
            "tools": [[tool.name, tool.description, tool.parameters_json_schema] for tool in asked.function_tools],
        },
        session="|".join(filter(None, [ctx.conversation_id, getattr(ctx.agent, "name", None)])),
        lifetime=lifetime if lifetime in ("5m", "1h") else "",
        time_of=_time_of,
    )


def _usage_of(response: ModelResponse) -> Usage | None:
    """What the provider reported, whose `input_tokens` hold those of the cache."""
    usage = response.usage
    read, written = usage.cache_read_tokens, usage.cache_write_tokens
    fresh = max(usage.input_tokens - read - written, 0)
    return Usage(fresh, usage.output_tokens, read, written) if usage.input_tokens else None


def _time_of(message: ModelMessage) -> float | None:
    stamps = (message.timestamp, *(getattr(part, "timestamp", None) for part in message.parts))
    return next((stamp.timestamp() * 1000 for stamp in stamps if stamp is not None), None)


# --- from a message to one of Anthropic's format, where results and words of the user may share a message, too


def _fields(message: ModelMessage) -> object:
    parts = message.parts
    return vars(parts[0]) if len(parts) == 1 else [message.timestamp, *map(vars, parts)]


def _read(message: ModelMessage) -> Block:
    blocks = [block for _, block in _blocks(message) if block is not None]
    if not blocks:
        blocks = [{"type": "text", "text": " ".join(["(", *(part.part_kind for part in message.parts), ")"])}]
    return {"role": "user" if isinstance(message, ModelRequest) else "assistant", "content": blocks}


def _blocks(message: ModelMessage) -> list[tuple[Any, Block | None]]:
    """Each part and the block that it is read as; None for what is not looked at, such as a system prompt: it always stays."""
    return [(part, _block(part)) for part in message.parts]


def _block(part: Any) -> Block | None:
    match part:
        case UserPromptPart():
            items = [part.content] if isinstance(part.content, str) else part.content
            said = "\n".join(one if isinstance(one, str) else _described(one) for one in items)
            return {"type": "text", "text": said or "(nothing)"}
        case ToolReturnPart():
            words = part.content if isinstance(part.content, str) else part.model_response_str()
            return _result(part, words, is_error=part.outcome in _FAILURES)
        case RetryPromptPart() if part.tool_name is not None:
            return _result(part, part.model_response(), is_error=True)
        case TextPart() if part.content.strip():
            return {"type": "text", "text": part.content}
        case ToolCallPart():
            return {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": part.args_as_dict()}
        case ThinkingPart() if part.signature and part.provider_name in (None, "anthropic", "bedrock"):
            if part.id == "redacted_thinking":
                return {"type": "redacted_thinking", "data": part.signature}
            return {"type": "thinking", "thinking": part.content, "signature": part.signature}
    return None


def _result(part: Any, words: str, *, is_error: bool) -> Block:
    block = {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": words}
    return {**block, "is_error": True} if is_error else block


def _described(item: Any) -> str:
    """A picture, a file, a mark in a prompt: by what it is known when it comes again."""
    return str(getattr(item, "content", None) or f"({getattr(item, 'kind', '')} {getattr(item, 'identifier', '')})")


# --- and back, for a message that was changed

_NOTHING_GIVEN = GivenMessages[ModelMessage]()


def _write(
    message: ModelMessage | None, payload: Block, given: GivenMessages[ModelMessage] = _NOTHING_GIVEN
) -> Sequence[ModelMessage]:
    content = payload["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    compose = functools.partial(_composed, payload["role"], given)
    if message is None:
        parts = [compose(block) for block in blocks]
        return [ModelResponse(parts) if payload["role"] == "assistant" else ModelRequest(parts)]
    return [replace(message, parts=rewritten_parts(_blocks(message), blocks, rewrite=_rewritten, compose=compose))]


def _rewritten(part: Any, block: Block) -> Any:
    match part:
        case ToolReturnPart() | RetryPromptPart():
            return replace(part, content=_words(block["content"]), tool_call_id=block["tool_use_id"])
        case ToolCallPart():  # with its item's id, OpenAI would use its own copy of the call
            return replace(part, args=block["input"], tool_call_id=block["id"], id=None)
        case UserPromptPart() | TextPart():
            return replace(part, content=block["text"])
    raise FormatError(f"A part of kind {part.part_kind} cannot be changed.")


def _words(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(one["text"] for one in content)


def _composed(role: str, given: GivenMessages[ModelMessage], block: Block) -> Any:
    """A part for what the repair added: a result of another message, or the answer to a call that was left open, say."""
    match block["type"]:
        case "text":
            return TextPart(block["text"]) if role == "assistant" else UserPromptPart(block["text"])
        case "tool_use":
            return ToolCallPart(block["name"], block["input"], block["id"])
    found = given.result(block, _blocks)
    if found is None:  # Gemini is told the names of tools
        return ToolReturnPart(given.tool_of(block, _blocks), _words(block["content"]), block["tool_use_id"])
    part, before = found
    return part if block == before else _rewritten(part, block)
