"""Microsoft Agent Framework: a chat middleware that edits each call of the model, and never the history of the session."""

import asyncio
import copy
import logging
import os
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any

from agent_framework import ChatContext, ChatMiddleware, ChatResponse, Content, FunctionTool, Message, tool

from redline.adapters.framework_editor import (
    CallSettings,
    EditedCall,
    FrameworkAdapter,
    PartMessages,
    blocks_in,
    reported_usage,
    rewritten_parts,
)
from redline.conversation.editor import Editor
from redline.errors import FormatError
from redline.policy.policy import Policy
from redline.policy.presets import PresetName
from redline.providers.usage import Usage
from redline.values import payloads

__all__ = ["RedlineChatMiddleware"]

_logger = logging.getLogger("redline.adapters")
Block = dict[str, Any]


_content_fields = attrgetter(
    *("type", "id", "text", "protected_data", "uri", "call_id", "name", "arguments", "result", "exception", "items"),
)


class _AgentMessages(PartMessages[Message, Content]):
    """Messages read in the AI SDK's format, which has the same roles."""

    format = "ai_sdk"

    def fields(self, message: Message) -> object:
        return message.role, *map(_content_fields, message.contents)

    def role(self, message: Message) -> str:
        if message.role in ("system", "developer"):
            return "system"
        return message.role if message.role in ("assistant", "tool") else "user"

    def read(self, message: Message) -> Block:
        payload = super().read(message)
        if payload["role"] == "system":
            said = (block for _, block in self.parts(message) if block is not None)
            payload["content"] = "\n".join(block["text"] for block in said if block["type"] == "text")
        return payload

    def parts(self, message: Message) -> list[tuple[Content, Block | None]]:
        return [(content, _block(content)) for content in message.contents]

    def rewrite(self, part: Content, block: Block) -> Content:
        written = copy.copy(part)
        written.raw_representation = None
        match part.type:
            case "text":
                written.text = block["text"]
            case "function_call":
                is_text = isinstance(part.arguments, str)
                written.arguments = payloads.encode(block["input"]).decode() if is_text else block["input"]
                written.call_id = block["toolCallId"]
            case "function_result":
                blocks = blocks_in(block["output"]["value"])
                written.call_id = block["toolCallId"]
                written.items = rewritten_parts(_items(part), blocks, rewrite=self.rewrite, compose=self.compose)
                written.result = "\n".join(item.text for item in written.items if item.type == "text" and item.text)
            case _:
                raise FormatError(f"A content of type {part.type} cannot be changed.")
        return written

    def compose(self, block: Block, role: str = "", tool: str = "tool") -> Content:
        match block["type"]:
            case "text":
                return Content.from_text(block["text"])
            case "tool-call":
                return Content.from_function_call(block["toolCallId"], block["toolName"], arguments=block["input"])
            case "tool-result":
                said = block["output"]["value"]
                failure = said if block.get("isError") else None
                return Content.from_function_result(block["toolCallId"], result=said, exception=failure)
        raise FormatError(f"A block of type {block['type']} cannot be written into a message of Agent Framework.")

    def make(self, message: Message | None, role: str, parts: list[Content]) -> Message:
        if message is None:
            return Message(role, parts)
        written = copy.copy(message)
        written.additional_properties = dict(message.additional_properties)
        written.contents = parts
        return written


def _block(content: Content) -> Block | None:
    """The block that a content is read as; None for what is not looked at: it stays."""
    match content.type:
        case "text":
            return {"type": "text", "text": content.text} if content.text else None
        case "text_reasoning":  # with an id it is an item of OpenAI's Responses, which belongs to the one after it
            signed = {"signature": content.protected_data} if content.protected_data else {}
            return None if content.id else {"type": "reasoning", "text": content.text or "", **signed}
        case "function_call":
            given = content.parse_arguments()
            return {"type": "tool-call", "toolCallId": content.call_id, "toolName": content.name, "input": given or {}}
        case "function_result":
            failed = content.exception is not None
            inner = [block for _, block in _items(content) if block is not None]
            output: Block = {"type": "content", "value": inner}
            if all(block["type"] == "text" for block in inner):
                output = {"type": "error-text" if failed else "text", "value": "".join(block["text"] for block in inner)}
            result = {"type": "tool-result", "toolCallId": content.call_id, "toolName": "tool"}
            return {**result, "output": output, "isError": failed}
        case "data" | "uri" if (content.media_type or "").startswith("image/"):
            return {"type": "image", "image": content.uri, "mediaType": content.media_type}
    return {"type": f"agent-framework-{content.type}", "item": content.to_dict(exclude={"raw_representation"})}


def _items(content: Content) -> list[tuple[Content, Block | None]]:
    """What a result holds; one that was made by hand may have its words only."""
    said = content.result
    words = said or "" if said is None or isinstance(said, str) else payloads.encode(said).decode()
    return [(item, _block(item)) for item in content.items or [Content.from_text(words)]]


_mapping = _AgentMessages()


class RedlineChatMiddleware(FrameworkAdapter[Message], ChatMiddleware):
    """Strikes what is out of date from what the model is sent; what history providers keep stays whole.

    Put it last in the list of middleware, so that it sees what the others made of the messages. `store` is a folder, the
    address of a database, or an Editor; without one a process that is started again cannot send the same bytes. `name` tells
    agents apart that share a session, which is all that a middleware is told.
    """

    mapping = _mapping

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | PresetName | None = None,
        namespace: str = "",
        name: str = "",
    ) -> None:
        super().__init__(store, policy=policy, namespace=namespace)
        self._name = name
        self._warned: set[str] = set()

    @property
    def recall_tool(self) -> FunctionTool:
        """The tool that reads offloaded results back, for `Agent(tools=[…])`; the Editor needs blobs."""
        return tool(self._messages.recall, name="recall", approval_mode="never_require")

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Edit the messages, call the model, record what it reported; unless only what is new is sent."""
        if self._is_partial(context):
            await call_next()
            return
        call = await asyncio.to_thread(self._messages.edit, context.messages, lambda: _settings_of(context, self._name))
        _replace_messages(context, call)

        async def hear(response: ChatResponse) -> ChatResponse:
            await asyncio.to_thread(self._messages.answered, call, lambda: _usage_of(response))
            return response

        if context.stream:
            context.stream_result_hooks.append(hear)
        try:
            await call_next()
        except Exception as problem:
            cause = problem.__cause__  # the framework's errors do not say what was answered
            await asyncio.to_thread(self._messages.failed, call, cause if isinstance(cause, Exception) else problem)
            raise
        if isinstance(context.result, ChatResponse):
            await hear(context.result)

    def _is_partial(self, context: ChatContext) -> bool:
        """Whether the service keeps the history, or a provider adds it after us; look for compaction, too."""
        if _compacts(context):
            self._warn_once("A compaction strategy shortens the history as well: leave it out, or raise its threshold.")
        is_partial = bool((context.options or {}).get("conversation_id") or context.kwargs.get("conversation_id"))
        if is_partial or (context.messages and context.messages[0].role == "tool"):
            self._warn_once(
                "Only new messages are handed over, and they pass as they are: let the agent keep the history itself, "
                'with default_options={"store": False} and without require_per_service_call_history_persistence.'
            )
            return True
        return False

    def _warn_once(self, said: str) -> None:
        if said not in self._warned:
            self._warned.add(said)
            _logger.warning(said)


def _compacts(context: ChatContext) -> bool:
    return bool(getattr(context.client, "compaction_strategy", None) or context.kwargs.get("compaction_strategy"))


def _replace_messages(context: ChatContext, call: EditedCall[Message]) -> None:
    """Put the messages into the call, and tell what they stand for, so that summaries made of them reach the history.

    The framework takes its time over that, and without a compaction strategy there are no summaries.
    """
    given, context.messages = context.messages, list(call.messages)
    record = getattr(context, "record_message_replacement", None)  # not in the first versions
    if record is None or call.request is None or not call.request.is_changed or not _compacts(context):
        return
    for message, position in zip(call.messages, call.request.positions, strict=True):
        if position is not None and message is not given[position]:
            record(message, given[position])


def _settings_of(context: ChatContext, name: str) -> CallSettings:
    options = context.options or {}
    tools = [[getattr(one, "name", None), getattr(one, "description", None)] for one in options.get("tools") or ()]
    model = options.get("model") or getattr(context.client, "model", None)
    session = context.session.session_id if context.session is not None else ""
    return CallSettings(
        model=model if isinstance(model, str) else "",
        preamble={"system": options.get("instructions"), "tools": tools},
        session="|".join(filter(None, [session, name])),
    )


def _usage_of(response: ChatResponse) -> Usage | None:
    """What the provider reported: of Anthropic without what was cached, of others with it."""
    usage: dict[str, Any] = {name: count for name, count in (response.usage_details or {}).items() if isinstance(count, int)}
    read, written = (next((usage[name] for name in names if name in usage), 0) for names in (_READ_NAMES, _WRITE_NAMES))
    sent = usage.get("input_token_count", 0)
    if sent and any(name.startswith("anthropic.") for name in usage):
        sent += read + written
    return reported_usage(sent, usage.get("output_token_count", 0), read, written)


_READ_NAMES = (
    *("cache_read_input_token_count", "anthropic.cache_read_input_tokens"),
    *("openai.cached_input_tokens", "prompt/cached_tokens"),
)
_WRITE_NAMES = ("cache_creation_input_token_count", "anthropic.cache_creation_input_tokens", "openai.cache_write_tokens")
