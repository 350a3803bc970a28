"""LangChain: a middleware for `create_agent` that edits each call of the model, and never the state of the agent."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import StructuredTool

from redline.adapters.framework_editor import (
    CallSettings,
    EditedCall,
    FrameworkAdapter,
    MessageMapping,
    blocks_in,
    origins_of,
    reported_usage,
)
from redline.errors import FormatError
from redline.providers.usage import Usage

__all__ = ["RedlineMiddleware"]

Block = dict[str, Any]


class _LangChainMessages(MessageMapping[BaseMessage]):
    """Messages read in the AI SDK's format, which has a place for all that LangChain says."""

    format = "ai_sdk"

    def fields(self, message: BaseMessage) -> object:
        return vars(message)

    def read(self, message: BaseMessage) -> Block:
        if isinstance(message, AIMessage):
            return {"role": "assistant", "content": [block for _, _, block in _parts(message)]}
        blocks = [_block(item) for item in message.content] if isinstance(message.content, list) else []
        words = blocks[0]["text"] if len(blocks) == 1 and blocks[0]["type"] == "text" else None
        words = message.content if isinstance(message.content, str) else words
        if isinstance(message, ToolMessage):
            kind = "error-text" if message.status == "error" else "text"
            output = {"type": "content", "value": blocks} if words is None else {"type": kind, "value": words}
            result = {"type": "tool-result", "toolCallId": message.tool_call_id, "toolName": message.name or "tool"}
            return {"role": "tool", "content": [{**result, "output": output, "isError": message.status == "error"}]}
        role = "system" if isinstance(message, SystemMessage) else "user"
        return {"role": role, "content": blocks if words is None else words}

    def write(self, message: BaseMessage | None, payload: Block, _: object = None) -> Sequence[BaseMessage]:
        content = payload["content"]
        if message is None:
            return _compose(payload["role"], blocks_in(content))
        if isinstance(message, ToolMessage):  # with answers to calls that were left open beside it
            is_own = [len(content) == 1 or result["toolCallId"] == message.tool_call_id for result in content]
            return [_result(message if own else None, result) for own, result in zip(is_own, content, strict=True)]
        if isinstance(content, str):
            return [message.model_copy(update={"content": content})]
        items, calls = _rewritten(message, content)
        update: dict[str, Any] = {"content": "".join(items) if isinstance(message.content, str) else items}
        if isinstance(message, AIMessage):
            unsaid, more = ("tool_calls", "function_call"), message.additional_kwargs
            update["tool_calls"] = [call for call in calls if isinstance(call["args"], dict)]
            update["invalid_tool_calls"] = [call for call in calls if not isinstance(call["args"], dict)]
            update["additional_kwargs"] = {name: value for name, value in more.items() if name not in unsaid}
        return [message.model_copy(update=update)]


def _parts(message: BaseMessage) -> list[tuple[Any, Any, Block]]:
    """What a message says, in order: the item of its content if there is one, the call if it is one, and the block for it."""
    calls = [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []
    unsaid = {call["id"]: call for call in calls}
    parts: list[tuple[Any, Any, Block]] = []
    for item in [message.content] if isinstance(message.content, str) else message.content:
        call = unsaid.pop(item.get("call_id") or item.get("id"), None) if isinstance(item, dict) else None
        if call is not None or item != "" or not calls:
            parts.append((item, call, _block(item) if call is None else _call_block(call)))
    return [*parts, *((None, call, _call_block(call)) for call in unsaid.values())]


def _call_block(call: Any) -> Block:
    return {"type": "tool-call", "toolCallId": call["id"], "toolName": call["name"] or "tool", "input": call["args"]}


def _block(item: Any) -> Block:
    """Text, reasoning and pictures as what they are; anything else is carried, and never changed."""
    if isinstance(item, str):
        return {"type": "text", "text": item}
    match item:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "thinking"}:
            return {"type": "reasoning", "text": item.get("thinking") or "", "signature": item.get("signature")}
        case {"type": "redacted_thinking"}:
            return {"type": "redacted-reasoning", "data": item.get("data")}
        case {"type": "image_url", "image_url": {"url": str(url)}} | {"type": "image_url", "image_url": str(url)}:
            return {"type": "image", "image": url}
        case {"type": "image", "url": str(source)} | {"type": "image", "base64": str(source)}:
            return {"type": "image", "image": source, "mediaType": item.get("mime_type")}
        case {"type": "image", "source": {"data": str(source)} | {"url": str(source)}}:
            return {"type": "image", "image": source, "mediaType": item["source"].get("media_type")}
    return {"type": f"langchain-{item.get('type')}", "item": item}


def _rewritten(message: BaseMessage, blocks: Sequence[Block]) -> tuple[list[Any], list[Any]]:
    """The items of the content and the calls that say the blocks: the message's own where nothing was changed."""
    parts = _parts(message)
    items: list[Any] = []
    calls: list[Any] = []
    for block, place in zip(blocks, origins_of(blocks, [said for _, _, said in parts]), strict=True):
        item, call, before = parts[place] if place is not None else (None, None, {})
        if call is not None:
            calls.append({**call, "id": block["toolCallId"], "args": block["input"]})
            if item is not None:
                items.append(item if block == before else _renewed_call(item, block))
        elif block == before:
            items.append(item)
        elif block["type"] != "text":
            raise FormatError(f"A block of type {block['type']} cannot be written into a message of LangChain.")
        else:
            items.append({**item, "text": block["text"]} if isinstance(item, dict) and "text" in item else block["text"])
    return items, calls


def _renewed_call(item: Block, block: Block) -> Block:
    """A call within the content, as Anthropic and OpenAI's Responses have it: what `tool_calls` says, it says again."""
    id_key = "call_id" if "call_id" in item else "id"
    input_key = next((key for key in ("input", "args") if key in item), None)
    kept = {key: value for key, value in item.items() if key not in ("partial_json", "arguments")}
    return {**kept, id_key: block["toolCallId"], **({input_key: block["input"]} if input_key else {})}


def _result(message: ToolMessage | None, block: Block) -> ToolMessage:
    """The message with what the result says now; a new one for a result that has none of its own."""
    value = block["output"]["value"]
    if message is not None:
        said = value if isinstance(value, str) else _rewritten(message, value)[0]
        return message.model_copy(update={"content": said, "tool_call_id": block["toolCallId"]})
    status = "error" if block["output"]["type"] == "error-text" or block.get("isError") else "success"
    said = value if isinstance(value, str) else [_item(one) for one in value]
    return ToolMessage(content=said, tool_call_id=block["toolCallId"], name=block["toolName"], status=status)


def _item(block: Block) -> Any:
    """An item of LangChain's content for a block that has none: the inverse of `_block`."""
    match block:
        case {"type": "text"}:
            return block
        case {"type": "image", "image": str(source)}:
            is_address = source.startswith(("http://", "https://", "data:"))
            url = source if is_address else f"data:{block.get('mediaType') or 'image/png'};base64,{source}"
            return {"type": "image_url", "image_url": {"url": url}}
        case {"item": item}:
            return item
    raise FormatError(f"A block of type {block['type']} cannot be written into a message of LangChain.")


def _compose(role: str, blocks: Sequence[Block]) -> Sequence[BaseMessage]:
    """New messages for what the repair added, or made of several."""
    if role == "tool":
        return [_result(None, block) for block in blocks]
    calls = [block for block in blocks if block["type"] == "tool-call"]
    items = [_item(block) for block in blocks if block["type"] != "tool-call"]
    if role == "assistant":
        made = [{"type": "tool_call", "id": one["toolCallId"], "name": one["toolName"], "args": one["input"]} for one in calls]
        return [AIMessage(content=items, tool_calls=made)]
    return [HumanMessage(content=items)]


_mapping = _LangChainMessages()


class RedlineMiddleware(FrameworkAdapter[BaseMessage], AgentMiddleware):
    """Strikes what is out of date from what the model is sent; what the agent keeps stays whole.

    Put it last in the list of middleware, so that it sees what the others made of the messages. `store` is a folder, the
    address of a database, or an Editor; without one a process that is started again cannot send the same bytes. Where results
    are offloaded, to an Editor's blobs, the agent gets a tool `recall` that reads them back.
    """

    mapping = _mapping

    @functools.cached_property
    def tools(self) -> Sequence[StructuredTool]:
        """The tool `recall`, where there is something to read back."""
        if self.editor.blobs is None:
            return []
        return [StructuredTool.from_function(self._messages.recall, name="recall", parse_docstring=True)]

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Edit the messages, call the model, record what it reported."""
        call = self._edit(request)
        try:
            response = handler(request.override(messages=list(call.messages)))
        except Exception as problem:
            self._messages.failed(call, problem)
            raise
        self._messages.answered(call, lambda: _usage_of(response))
        return response

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """As `wrap_model_call`, with the Editor's work in a thread."""
        call = await asyncio.to_thread(self._edit, request)
        try:
            response = await handler(request.override(messages=list(call.messages)))
        except Exception as problem:
            await asyncio.to_thread(self._messages.failed, call, problem)
            raise
        await asyncio.to_thread(self._messages.answered, call, lambda: _usage_of(response))
        return response

    def _edit(self, request: ModelRequest) -> EditedCall[BaseMessage]:
        return self._messages.edit(request.messages, lambda: _settings_of(request))


def _settings_of(request: ModelRequest) -> CallSettings:
    model, settings = request.model, request.model_settings
    named = (settings.get("model"), getattr(model, "model_name", None), getattr(model, "model", None))
    tools = [tool if isinstance(tool, dict) else [tool.name, tool.description] for tool in request.tools]
    cached, place = settings.get("cache_control"), getattr(request.runtime, "execution_info", None)
    session = ""
    if place is not None and place.thread_id is not None:
        # The thread, and within it the graph: the last step of its name is the node, with an id that is new each time.
        session = "|".join([str(place.thread_id), *place.checkpoint_ns.split("|")[:-1]])
    return CallSettings(
        model=next((name for name in named if isinstance(name, str)), ""),
        preamble={"system": request.system_prompt, "tools": tools},
        session=session,
        lifetime=cached.get("ttl") if isinstance(cached, dict) else "",
    )


def _usage_of(response: object) -> Usage | None:
    """What the provider reported, whose `input_tokens` hold those of the cache."""
    said = getattr(getattr(response, "model_response", response), "result", [response])
    report = next((one.usage_metadata for one in said if isinstance(one, AIMessage) and one.usage_metadata), None)
    if report is None:
        return None
    details = {name: count for name, count in report.get("input_token_details", {}).items() if isinstance(count, int)}
    read = details.get("cache_read", 0)
    written_1h = details.get("ephemeral_1h_input_tokens", 0)
    written = details.get("cache_creation", 0) + details.get("ephemeral_5m_input_tokens", 0) + written_1h
    return reported_usage(report["input_tokens"], report["output_tokens"], read, written, written_1h)
