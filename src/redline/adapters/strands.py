"""Strands: a plugin that edits each call of the model, and never the messages of the agent or its session."""

import asyncio
import base64
import functools
import logging
import os
from collections.abc import AsyncGenerator, Hashable, Sequence
from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import SlidingWindowConversationManager
from strands.middleware import InvokeModelContext, InvokeModelStage, MiddlewareNext, ModelStopReason
from strands.plugins import Plugin
from strands.tools.decorator import DecoratedFunctionTool

from redline.adapters.framework_editor import CallSettings, FrameworkEditor, GivenMessages, rewritten_parts
from redline.editor import Editor
from redline.errors import FormatError
from redline.formats.sdk_objects import plain_value
from redline.formats.usage import Usage
from redline.policy import Policy
from redline.values import payloads

__all__ = ["RedlineAgentPlugin"]

_logger = logging.getLogger("redline.adapters")
Block = dict[str, Any]


class RedlineAgentPlugin(Plugin):
    """Strikes what is out of date from what the model is sent; `agent.messages` and the session stay whole.

    Agents may share one. `store` is a folder, the address of a database, or an Editor; without one a process that is started
    again cannot send the same bytes. Where results are offloaded, to an Editor's blobs, the agent gets a tool `recall` that
    reads them back.
    """

    name = "redline"

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | str | None = None,
        namespace: str = "",
    ) -> None:
        super().__init__()
        self._messages = FrameworkEditor[Block](
            store,
            policy,
            format="anthropic",
            read=_read,
            write=_write,
            fields=lambda message: message,
            key=_key,
            namespace=namespace,
        )
        self._has_warned = False

    @property
    def editor(self) -> Editor:
        """The Editor that is asked."""
        return self._messages.editor

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
    lifetime = getattr(config.get("cache_config"), "ttl", None)
    return CallSettings(
        model=config.get("model_id") or "",
        preamble={"system": context.system_prompt, "tools": context.tool_specs},
        session="|".join([agent.session_id, agent.agent_id, agent.name]),
        lifetime=lifetime if lifetime in ("5m", "1h") else "",
    )


def _usage_of(usage: Any) -> Usage | None:
    """Whether `inputTokens` hold those of the cache depends on the provider; `totalTokens` always do."""
    read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
    sent = usage["totalTokens"] - usage["outputTokens"]
    return Usage(max(sent - read - written, 0), usage["outputTokens"], read, written) if sent > 0 else None


# --- from a message, with blocks as Bedrock has them, to one of Anthropic's format


def _key(message: Block) -> Hashable:
    """Messages are copied for each call; their texts are not."""
    match message["content"]:
        case [{"text": str(text)}, *_]:
            return text
        case [{"toolUse": {"toolUseId": str(id)}}, *_]:
            return "toolUse", id
        case [{"toolResult": {"toolUseId": str(id)}}, *_]:
            return "toolResult", id
    return None


def _read(message: Block) -> Block:
    blocks = [block for _, block in _blocks(message) if block is not None]
    return {"role": message["role"], "content": blocks or [{"type": "text", "text": "(nothing)"}]}


def _blocks(message: Block) -> list[tuple[Block, Block | None]]:
    """Each part and the block that it is read as; None for what is not looked at, such as a mark for the cache: it stays."""
    return [(part, _block(part)) for part in message["content"]]


def _block(part: Block) -> Block | None:
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
    return _inner_block(part)


def _items(result: Block) -> list[tuple[Block, Block]]:
    return [(item, _inner_block(item)) for item in result["content"]]


def _inner_block(item: Block) -> Block:
    """What a result may hold, too."""
    match item:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"json": value}:
            return {"type": "text", "text": payloads.encode(value).decode()}
        case {"image": {"format": str(kind), "source": {"bytes": bytes(data)}}}:
            source = {"type": "base64", "media_type": f"image/{kind}", "data": base64.b64encode(data).decode()}
            return {"type": "image", "source": source}
    return {"type": "text", "text": f"({payloads.encode(plain_value(item)).decode()})"}


# --- and back, for a message that was changed

_NOTHING_GIVEN = GivenMessages[Block]()


def _write(message: Block | None, payload: Block, given: GivenMessages[Block] = _NOTHING_GIVEN) -> Sequence[Block]:
    content = payload["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    own = {"role": payload["role"], "content": []} if message is None else message
    compose = functools.partial(_composed, given=given)
    return [{**own, "content": rewritten_parts(_blocks(own), blocks, rewrite=_rewritten, compose=compose)}]


def _rewritten(part: Block, block: Block) -> Block:
    match part:
        case {"text": _}:
            return {**part, "text": block["text"]}
        case {"toolUse": use}:
            return {**part, "toolUse": {**use, "toolUseId": block["id"], "input": block["input"]}}
        case {"toolResult": result}:
            said = block["content"]
            blocks = [{"type": "text", "text": said}] if isinstance(said, str) else said
            items = rewritten_parts(_items(result), blocks, rewrite=lambda _, now: _composed(now), compose=_composed)
            return {**part, "toolResult": {**result, "toolUseId": block["tool_use_id"], "content": items}}
    raise FormatError(f"A block of Strands with {', '.join(part)} cannot be changed.")


def _composed(block: Block, given: GivenMessages[Block] = _NOTHING_GIVEN) -> Block:
    """A part for what the repair added: a result of another message, or the answer to a call that was left open, say."""
    match block:
        case {"type": "text"}:
            return {"text": block["text"]}
        case {"type": "tool_use"}:
            return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
        case {"type": "tool_result"} if found := given.result(block, _blocks):
            part, before = found
            return part if block == before else _rewritten(part, block)
        case {"type": "tool_result"}:
            empty: Block = {"toolUseId": "", "status": "error" if block.get("is_error") else "success", "content": []}
            return _rewritten({"toolResult": empty}, block)
    raise FormatError(f"A block of type {block['type']} cannot be written into a message of Strands.")
