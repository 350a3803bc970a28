"""What the providers' servers say: where each listens, how it answers, whole or streamed, and how it refuses."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, ClassVar

from redline.conversation.lists import check
from redline.errors import FormatError
from redline.providers import find_format
from redline.providers.apis import ANTHROPIC, GEMINI, OPENAI, Provider
from redline.providers.usage import Usage
from redline.values import payloads
from redline.values.messages import Part, Reasoning, ToolCall

_PIECE_CHARS = 24
"""How much of a text is streamed at once."""


class Endpoint(ABC):
    """One API of one provider."""

    format: ClassVar[str]
    provider: ClassVar[Provider]
    path: ClassVar[str]
    """How the address ends at which it listens."""
    names_events: ClassVar[bool] = False
    binds_reasoning: ClassVar[bool] = False
    """Whether a signature of reasoning holds for the messages before it."""
    end_of_stream: ClassVar[bytes] = b""
    stream_path: ClassVar[str | None] = None
    """Where it streams its answers, if that is another address; else the request asks for a stream."""

    @abstractmethod
    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """The body of a response in which the model says these parts."""

    def complaint(self, body: dict[str, Any]) -> str | None:
        """Why the provider would refuse a request; None if it would take it."""
        field = find_format(self.format).messages_field
        messages = body.get(field)
        if not isinstance(messages, list) or not messages:
            return f"{field}: at least one message is required"
        try:
            # what is too much has words of its own: see `limit_refusals`
            problems = [one for one in check(messages, format=self.format) if one.law != "request_limits"]
        except FormatError as problem:
            return f"{field}: {problem}"
        return f"{field}.{problems[0].index}: {problems[0].found} ({problems[0].rule})" if problems else None

    @abstractmethod
    def events(self, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The chunks or events in which a whole answer to a request is streamed."""

    def stream(self, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[bytes]:
        """A whole answer to a request as server-sent events, one after the other."""
        for event in self.events(answer, body):
            # In ASCII, because some readers take more characters than the standard says for the end of a line.
            name = f"event: {event['type']}\n" if self.names_events else ""
            yield f"{name}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()
        if self.end_of_stream:
            yield self.end_of_stream

    def _said(self, parts: Sequence[Part]) -> tuple[dict[str, Any], ...]:
        return find_format(self.format).compose("assistant", parts).payloads


class Messages(Endpoint):
    """Anthropic's Messages API."""

    format = "anthropic"
    provider = ANTHROPIC
    binds_reasoning = True
    path = "/messages"
    names_events = True

    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """A message, and why it ends there."""
        blocks: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Reasoning):  # it is signed; what the signature says is up to the provider
                blocks.append({"type": "thinking", "thinking": part.text, "signature": "signed"})
            else:
                blocks += [block for message in self._said([part]) for block in message["content"]]
        return {
            "id": "msg_fake",
            "type": "message",
            "role": "assistant",
            "content": blocks,
            "model": model,
            "stop_reason": "tool_use" if _has_calls(parts) else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage.fresh_tokens,
                "cache_creation_input_tokens": usage.cache_write_tokens,
                "cache_read_input_tokens": usage.cache_read_tokens,
                "output_tokens": usage.output_tokens,
            },
        }

    def events(self, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:  # noqa: ARG002 - for those who look
        """The chunks or events of an answer, in the order in which the API sends them."""
        started = {**answer, "content": [], "stop_reason": None, "usage": {**answer["usage"], "output_tokens": 1}}
        yield {"type": "message_start", "message": started}
        for place, block in enumerate(answer["content"]):
            begun: dict[str, Any] = block
            deltas: list[dict[str, Any]] = []
            match block:
                case {"type": "text", "text": str(text)}:
                    begun = {**block, "text": ""}
                    deltas = [{"type": "text_delta", "text": piece} for piece in _pieces(text)]
                case {"type": "thinking", "thinking": str(text), "signature": signature}:
                    begun = {**block, "thinking": "", "signature": ""}
                    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in _pieces(text)]
                    deltas.append({"type": "signature_delta", "signature": signature})
                case {"type": "tool_use", "input": arguments}:
                    begun = {**block, "input": {}}
                    pieces = ["", *_pieces(payloads.encode(arguments).decode())]
                    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            yield {"type": "content_block_start", "index": place, "content_block": begun}
            if place == 0:
                yield {"type": "ping"}
            yield from ({"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas)
            yield {"type": "content_block_stop", "index": place}
        stopped = {"stop_reason": answer["stop_reason"], "stop_sequence": answer["stop_sequence"]}
        yield {"type": "message_delta", "delta": stopped, "usage": answer["usage"]}
        yield {"type": "message_stop"}


class ChatCompletions(Endpoint):
    """OpenAI's Chat Completions, and the many servers that speak it."""

    format = "openai_chat"
    provider = OPENAI
    path = "/chat/completions"
    end_of_stream = b"data: [DONE]\n\n"

    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """One choice, with all words in one text; thoughts are not shown."""
        message = next(iter(self._said(parts)), {"role": "assistant", "content": ""})
        if isinstance(message["content"], list):
            message["content"] = "\n".join(block["text"] for block in message["content"])
        reason = "tool_calls" if _has_calls(parts) else "stop"
        return {
            "id": "chatcmpl_fake",
            "object": "chat.completion",
            "created": 0,
            "model": model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}],
            "usage": {
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "total_tokens": usage.input_tokens + usage.output_tokens,
                "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens, "audio_tokens": 0},
            },
        }

    def events(self, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The usage comes last, in a chunk without choices, and only to those who ask for it."""
        options = body.get("stream_options")
        wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        base = {**{name: answer[name] for name in ("id", "created", "model")}, "object": "chat.completion.chunk"}
        unsaid = {"usage": None} if wants_usage else {}
        choice = answer["choices"][0]
        content = choice["message"].get("content")
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": None if content is None else "", "refusal": None}]
        deltas += [{"content": piece} for piece in _pieces(content or "")]
        for place, call in enumerate(choice["message"].get("tool_calls") or []):
            deltas.append({"tool_calls": [{**call, "index": place, "function": {**call["function"], "arguments": ""}}]})
            for piece in _pieces(call["function"]["arguments"]):
                deltas.append({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        for delta in deltas:
            yield {**base, "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}], **unsaid}
        end = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": choice["finish_reason"]}
        yield {**base, "choices": [end], **unsaid}
        if wants_usage:
            yield {**base, "choices": [], "usage": answer["usage"]}


class Responses(Endpoint):
    """OpenAI's Responses API."""

    format = "openai_responses"
    provider = OPENAI
    path = "/responses"
    names_events = True

    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """A response with one output item for each part."""
        said: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Reasoning):  # it is given in a summary and sealed
                summary = [{"type": "summary_text", "text": part.text}]
                said.append({"type": "reasoning", "summary": summary, "encrypted_content": "c2VhbGVk"})
            else:
                said += self._said([part])
        output = []
        for number, item in enumerate(said):  # as the model says it: with an id and a status, and its words in a list
            kind = item.get("type", "message")
            done = {**item, "id": f"{_ID_PREFIXES.get(kind, 'item')}_{number}", "status": "completed"}
            if kind == "reasoning":
                del done["status"]
            if isinstance(done.get("content"), str):
                done["content"] = [{"type": "output_text", "text": done["content"], "annotations": []}]
            output.append(done)
        return {
            "id": "resp_fake",
            "object": "response",
            "created_at": 0,
            "model": model,
            "status": "completed",
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": usage.cache_read_tokens, "cache_write_tokens": 0},
                "output_tokens": usage.output_tokens,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.input_tokens + usage.output_tokens,
            },
        }

    def events(self, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:  # noqa: ARG002 - for those who look
        """The chunks or events of an answer, in the order in which the API sends them."""
        numbers = count()
        begun = {**answer, "status": "in_progress", "output": [], "usage": None}
        yield {"type": "response.created", "sequence_number": next(numbers), "response": begun}
        yield {"type": "response.in_progress", "sequence_number": next(numbers), "response": begun}
        for place, item in enumerate(answer["output"]):
            for event in _item_events(item):
                yield {**event, "sequence_number": next(numbers), "output_index": place}
        yield {"type": "response.completed", "sequence_number": next(numbers), "response": answer}


class GenerateContent(Endpoint):
    """The Gemini API."""

    format = "gemini"
    provider = GEMINI
    path = ":generateContent"
    stream_path = ":streamGenerateContent"

    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """A response with one candidate, whose words after a thought are signed."""
        said: list[dict[str, Any]] = []
        for part in parts:
            if isinstance(part, Reasoning):
                said.append({"text": part.text, "thought": True})
            else:
                said += [inner for content in self._said([part]) for inner in content["parts"]]
        if len(said) > 1 and "thought" in said[0]:
            said[1]["thoughtSignature"] = "c2lnbmVk"
        return {
            "candidates": [{"content": {"role": "model", "parts": said}, "finishReason": "STOP", "index": 0}],
            "usageMetadata": {
                "promptTokenCount": usage.input_tokens,
                "cachedContentTokenCount": usage.cache_read_tokens,
                "candidatesTokenCount": usage.output_tokens,
                "totalTokenCount": usage.input_tokens + usage.output_tokens,
            },
            "modelVersion": model,
            "responseId": "response_fake",
        }

    def events(self, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:  # noqa: ARG002 - for those who look
        """Chunks in the shape of a whole answer; only the last one says why it ends, and counts what was said."""
        candidate, usage = answer["candidates"][0], answer["usageMetadata"]
        parts: list[dict[str, Any]] = []
        for part in candidate["content"]["parts"]:
            if not isinstance(part.get("text"), str):  # a call comes whole
                parts.append(part)
                continue
            marks = {name: held for name, held in part.items() if name == "thought"}
            parts += [{"text": piece, **marks} for piece in _pieces(part["text"])]
            if "thoughtSignature" in part:  # it comes in an empty piece after the words that it signs
                parts.append({"text": "", "thoughtSignature": part["thoughtSignature"]})
        so_far = {name: usage[name] for name in usage if name != "candidatesTokenCount"}
        for number, part in enumerate(parts, start=1):
            is_last = number == len(parts)
            said = {"content": {"parts": [part], "role": "model"}, "index": candidate["index"]}
            if is_last:
                said["finishReason"] = candidate["finishReason"]
            yield {**answer, "candidates": [said], "usageMetadata": usage if is_last else so_far}


ENDPOINTS: tuple[Endpoint, ...] = (Messages(), ChatCompletions(), Responses(), GenerateContent())


def endpoint_at(path: str) -> Endpoint | None:
    """The API that listens at an address, streaming or not."""
    return next((one for one in ENDPOINTS if path.endswith((one.path, one.stream_path or one.path))), None)


def stream_answer(format: str, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[bytes]:
    """The events in which the provider of a format gives a whole answer to a request, one after the other."""
    return next(one for one in ENDPOINTS if one.format == format).stream(answer, body)


def _has_calls(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, ToolCall) for part in parts)


_ID_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS)]


def _item_events(item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An item as it begins, its words in pieces, and the item as a whole."""
    of_item = {"item_id": item["id"]}
    match item:
        case {"type": "message", "content": list(blocks)}:
            yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "content": []}}
            for place, block in enumerate(blocks):
                where = {**of_item, "content_index": place}
                yield from _words("content_part", "output_text", where, block, {"logprobs": []})
        case {"type": "function_call", "arguments": str(arguments)}:
            yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "arguments": ""}}
            kind = "response.function_call_arguments"
            yield from ({"type": f"{kind}.delta", **of_item, "delta": piece} for piece in _pieces(arguments))
            yield {"type": f"{kind}.done", **of_item, "name": item["name"], "arguments": arguments}
        case {"type": "reasoning", "summary": list(summary)}:
            yield {"type": "response.output_item.added", "item": {**item, "summary": []}}
            for place, part in enumerate(summary):
                where = {**of_item, "summary_index": place}
                yield from _words("reasoning_summary_part", "reasoning_summary_text", where, part, {})
    yield {"type": "response.output_item.done", "item": item}


def _words(
    holder: str, kind: str, where: dict[str, Any], part: dict[str, Any], extra: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """A part that holds words: as it begins, piece by piece, and as a whole."""
    yield {"type": f"response.{holder}.added", **where, "part": {**part, "text": ""}}
    for piece in _pieces(part["text"]):
        yield {"type": f"response.{kind}.delta", **where, "delta": piece, **extra}
    yield {"type": f"response.{kind}.done", **where, "text": part["text"], **extra}
    yield {"type": f"response.{holder}.done", **where, "part": part}
