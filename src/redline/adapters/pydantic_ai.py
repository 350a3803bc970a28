"""pydantic-ai: a capability that edits each attempt at a model request, and never the history of the agent."""

import asyncio
import functools
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

from redline.adapters.framework_editor import (
    CallSettings,
    FrameworkAdapter,
    PartMessages,
    blocks_in,
    reported_usage,
)
from redline.errors import FormatError

__all__ = ["Redline"]

Block = dict[str, Any]
_FAILURES = ("failed", "retried")
"""The outcomes that providers are told of as errors."""


class _PydanticMessages(PartMessages[ModelMessage, Any]):
    """Messages read in Anthropic's format, where results and words of the user may share a message, too."""

    format = "anthropic"

    def fields(self, message: ModelMessage) -> object:
        parts = message.parts
        return vars(parts[0]) if len(parts) == 1 else [message.timestamp, *map(vars, parts)]

    def nothing(self, message: ModelMessage) -> str:
        return " ".join(["(", *(part.part_kind for part in message.parts), ")"])

    def role(self, message: ModelMessage) -> str:
        return "user" if isinstance(message, ModelRequest) else "assistant"

    def parts(self, message: ModelMessage) -> list[tuple[Any, Block | None]]:
        return [(part, _block(part)) for part in message.parts]

    def rewrite(self, part: Any, block: Block) -> Any:
        match part:
            case ToolReturnPart() | RetryPromptPart():
                return replace(part, content=_words(block), tool_call_id=block["tool_use_id"])
            case ToolCallPart():  # with its item's id, OpenAI would use its own copy of the call
                return replace(part, args=block["input"], tool_call_id=block["id"], id=None)
            case UserPromptPart() | TextPart():
                return replace(part, content=block["text"])
        raise FormatError(f"A part of kind {part.part_kind} cannot be changed.")

    def compose(self, block: Block, role: str = "", tool: str = "tool") -> Any:
        match block["type"]:
            case "text":
                return TextPart(block["text"]) if role == "assistant" else UserPromptPart(block["text"])
            case "tool_use":
                return ToolCallPart(block["name"], block["input"], block["id"])
        return ToolReturnPart(tool, _words(block), block["tool_use_id"])  # Gemini is told the names of tools

    def make(self, message: ModelMessage | None, role: str, parts: list[Any]) -> ModelMessage:
        if message is not None:
            return replace(message, parts=parts)
        return ModelResponse(parts) if role == "assistant" else ModelRequest(parts)


def _words(result: Block) -> str:
    return "\n".join(one["text"] for one in blocks_in(result["content"]))


def _block(part: Any) -> Block | None:
    """The block that a part is read as; None for a system prompt, say."""
    match part:
        case UserPromptPart():
            items = [part.content] if isinstance(part.content, str) else part.content
            # A picture, a file, a mark: by what it is known when it comes again.
            said = "\n".join(
                one
                if isinstance(one, str)
                else str(getattr(one, "content", None) or f"({getattr(one, 'kind', '')} {getattr(one, 'identifier', '')})")
                for one in items
            )
            return {"type": "text", "text": said or "(nothing)"}
        case ToolReturnPart():
            words = part.content if isinstance(part.content, str) else part.model_response_str()
            failed = {"is_error": True} if part.outcome in _FAILURES else {}
            return {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": words, **failed}
        case RetryPromptPart() if part.tool_name is not None:
            words = part.model_response()
            return {"type": "tool_result", "tool_use_id": part.tool_call_id, "content": words, "is_error": True}
        case TextPart() if part.content.strip():
            return {"type": "text", "text": part.content}
        case ToolCallPart():
            return {"type": "tool_use", "id": part.tool_call_id, "name": part.tool_name, "input": part.args_as_dict()}
        case ThinkingPart() if part.signature and part.provider_name in (None, "anthropic", "bedrock"):
            if part.id == "redacted_thinking":
                return {"type": "redacted_thinking", "data": part.signature}
            return {"type": "thinking", "thinking": part.content, "signature": part.signature}
    return None


_mapping = _PydanticMessages()


class Redline(FrameworkAdapter[ModelMessage], AbstractCapability[Any]):
    """Strikes what is out of date from what the model is sent; `all_messages()` and what you store of it stay whole.

    Put it last in the list of capabilities, so that it sees what the others made of the messages. `store` is a folder, the
    address of a database, or an Editor; without one a process that is started again cannot send the same bytes. Where results
    are offloaded, to an Editor's blobs, the agent gets a tool `recall` that reads them back.
    """

    mapping = _mapping

    def get_toolset(self) -> AgentToolset[Any] | None:
        """The tool `recall`, where there is something to read back."""
        return FunctionToolset([self._messages.recall]) if self.editor.blobs is not None else None

    async def prepare_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        """Edit the messages of one attempt."""
        told = functools.partial(_settings_of, ctx, request_context)
        call = await asyncio.to_thread(self._messages.edit, request_context.messages, told)
        self._messages.begin((ctx.run_id, ctx.run_step), call)
        return replace(request_context, messages=list(call.messages))

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Record what the provider reported."""
        call, usage = self._messages.end((ctx.run_id, ctx.run_step)), response.usage
        counts = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens)
        await asyncio.to_thread(self._messages.answered, call, lambda: reported_usage(*counts))
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Leave a history alone whose changed form the provider refused; the error goes on."""
        await asyncio.to_thread(self._messages.failed, self._messages.end((ctx.run_id, ctx.run_step)), error)
        raise error


def _settings_of(ctx: RunContext[Any], request_context: ModelRequestContext) -> CallSettings:
    messages, asked = request_context.messages, request_context.model_request_parameters
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    system = [part.content for message in requests for part in message.parts if isinstance(part, SystemPromptPart)]
    settings: Any = request_context.model_settings or {}
    return CallSettings(
        model=request_context.model.model_name,
        preamble={
            "system": [*system, *(part.content for part in asked.instruction_parts or ())],
            "tools": [[tool.name, tool.description, tool.parameters_json_schema] for tool in asked.function_tools],
        },
        session="|".join(filter(None, [ctx.conversation_id, getattr(ctx.agent, "name", None)])),
        lifetime=settings.get("anthropic_cache_messages") or settings.get("anthropic_cache"),
        time_of=_time_of,
    )


def _time_of(message: ModelMessage) -> float | None:
    stamps = (message.timestamp, *(getattr(part, "timestamp", None) for part in message.parts))
    return next((stamp.timestamp() * 1000 for stamp in stamps if stamp is not None), None)
