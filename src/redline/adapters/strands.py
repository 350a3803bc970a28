"""Strands: a plugin that edits each call of the model, and never the messages of the agent or its session."""

import asyncio
import base64
import functools
import logging
from collections.abc import AsyncGenerator, Hashable
from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.middleware import InvokeModelContext, InvokeModelStage, MiddlewareNext, ModelStopReason
from strands.plugins import Plugin
from strands.tools.decorator import DecoratedFunctionTool

from redline.adapters.framework_editor import (
    CallSettings,
    FrameworkAdapter,
    PartMessages,
    blocks_in,
    reported_usage,
    rewritten_parts,
)
from redline.errors import FormatError
from redline.providers.sdk_objects import plain_value
from redline.providers.usage import Usage
from redline.values import payloads

__all__ = ["RedlineAgentPlugin"]

_logger = logging.getLogger("redline.adapters")
Block = dict[str, Any]


class _StrandsMessages(PartMessages[Block, Block]):
    """Messages with blocks as Bedrock has them, read in Anthropic's format."""

    format = "anthropic"

    def key(self, message: Block) -> Hashable:  # messages are copied for each call; their texts are not
        match message["content"]:
            case [{"text": str(text)}, *_]:
                return text
            case [{"toolUse": {"toolUseId": str(id)}}, *_]:
                return "toolUse", id
            case [{"toolResult": {"toolUseId": str(id)}}, *_]:
                return "toolResult", id
        return None

    def role(self, message: Block) -> str:
        role: str = message["role"]
        return role

    def parts(self, message: Block) -> list[tuple[Block, Block | None]]:
        return [(part, _block(part)) for part in message["content"]]

    def rewrite(self, part: Block, block: Block) -> Block:
        match part:
            case {"text": _}:
                return {**part, "text": block["text"]}
            case {"toolUse": use}:
                return {**part, "toolUse": {**use, "toolUseId": block["id"], "input": block["input"]}}
            case {"toolResult": result}:
                blocks = blocks_in(block["content"])
                items = rewritten_parts(_items(result), blocks, rewrite=lambda _, now: self.compose(now), compose=self.compose)
                return {**part, "toolResult": {**result, "toolUseId": block["tool_use_id"], "content": items}}
        raise FormatError(f"A block of Strands with {', '.join(part)} cannot be changed.")

    def compose(self, block: Block, role: str = "", tool: str = "tool") -> Block:
        match block:
            case {"type": "text"}:
                return {"text": block["text"]}
            case {"type": "tool_use"}:
                return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
            case {"type": "tool_result"}:
                status = "error" if block.get("is_error") else "success"
                return self.rewrite({"toolResult": {"toolUseId": "", "status": status, "content": []}}, block)
        raise FormatError(f"A block of type {block['type']} cannot be written into a message of Strands.")

    def make(self, message: Block | None, role: str, parts: list[Block]) -> Block:
        return {**({"role": role} if message is None else message), "content": parts}


def _block(part: Block) -> Block | None:
    """The block that a part is read as; None for a mark for the cache, say."""
    match part:
        case {"text": str(text)}:
            return {"type": "text", "text": text} if text.strip() else None
        case {"toolUse": use}:
            return {"type": "tool_use", "id": use["toolUseId"], "name": use["name"], "input": use["input"]}
        case {"toolResult": result}:
            inner = [block for _, block in _items(result)]
            words = inner[0]["text"] if len(inner) == 1 and inner[0]["type"] == "text" else None
            block = {"type": "tool_result", "tool_use_id": result["toolUseId"], "content": inner if words is None else words}
            return {**block, "is_error": True} if result.get("status") == "error" else block
        case {"reasoningContent": {"reasoningText": {"signature": str(signature), **rest}}}:
            return {"type": "thinking", "thinking": rest.get("text", ""), "signature": signature}
        case {"reasoningContent": {"redactedContent": bytes(data)}}:
            return {"type": "redacted_thinking", "data": base64.b64encode(data).decode()}
        case {"reasoningContent": _} | {"cachePoint": _}:
            return None
    return _item(part)


def _items(result: Block) -> list[tuple[Block, Block]]:
    return [(item, _item(item)) for item in result["content"]]


def _item(item: Block) -> Block:
    """The block for what a result may hold, too."""
    match item:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"json": value}:
            return {"type": "text", "text": payloads.encode(value).decode()}
        case {"image": {"format": str(kind), "source": {"bytes": bytes(data)}}}:
            source = {"type": "base64", "media_type": f"image/{kind}", "data": base64.b64encode(data).decode()}
            return {"type": "image", "source": source}
    return {"type": "text", "text": f"({payloads.encode(plain_value(item)).decode()})"}


_mapping = _StrandsMessages()


class RedlineAgentPlugin(FrameworkAdapter[Block], Plugin):
    """Strikes what is out of date from what the model is sent; `agent.messages` and the session stay whole.

    Agents may share one. `store` is a folder, the address of a database, or an Editor; without one a process that is started
    again cannot send the same bytes. Where results are offloaded, to an Editor's blobs, the agent gets a tool `recall` that
    reads them back.
    """

    name = "redline"

    mapping = _mapping
    _has_warned = False

    @property
    def tools(self) -> list[DecoratedFunctionTool]:
        """The tool `recall`, where there is something to read back."""
        return [tool(self._messages.recall)] if self.editor.blobs is not None else []

    def init_agent(self, agent: Agent) -> None:
        """Become part of each call of the model; look for what else shortens the history."""
        agent.add_middleware(InvokeModelStage, self._invoke)
        if isinstance(agent.conversation_manager, SlidingWindowConversationManager) and not self._has_warned:
            self._has_warned = True
            _logger.warning(
                "The agent's sliding window drops messages as well, and the prompt cache with them: "
                "pass conversation_manager=NullConversationManager() or SummarizingConversationManager() to Agent."
            )

    async def _invoke(self, context: InvokeModelContext, next_fn: MiddlewareNext) -> AsyncGenerator[Any, None]:
        """Edit the messages, call the model, record what it reported; unless the service keeps the history."""
        if context.model.stateful:
            async for event in next_fn(context):
                yield event
            return
        call = await asyncio.to_thread(self._messages.edit, context.messages, lambda: _settings_of(context))
        try:
            async for event in next_fn(context.replace(messages=list(call.messages))):
                if isinstance(event, ModelStopReason):
                    await asyncio.to_thread(self._messages.answered, call, functools.partial(_usage_of, event.usage))
                yield event
        except Exception as problem:
            await asyncio.to_thread(self._messages.failed, call, problem)
            raise


def _settings_of(context: InvokeModelContext) -> CallSettings:
    agent, config = context.agent, context.model.get_config()
    return CallSettings(
        model=config.get("model_id") or "",
        preamble={"system": context.system_prompt, "tools": context.tool_specs},
        session="|".join([agent.session_id, agent.agent_id, agent.name]),
        lifetime=getattr(config.get("cache_config"), "ttl", None),
    )


def _usage_of(usage: Any) -> Usage | None:
    """Whether `inputTokens` hold those of the cache depends on the provider; `totalTokens` always do."""
    read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    return reported_usage(usage["totalTokens"] - usage["outputTokens"], usage["outputTokens"], read, written)
