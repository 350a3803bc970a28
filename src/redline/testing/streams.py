"""How the providers stream an answer: server-sent events, in the order and the shapes of each API."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from redline.values import payloads

__all__ = ["stream_answer"]

_PIECE_CHARS = 24
"""How much of a text comes at once."""


def stream_answer(format: str, answer: dict[str, Any], body: dict[str, Any]) -> Iterator[bytes]:
    """The events in which the provider of a format gives a whole answer to a request, one after the other."""
    match format:
        case "anthropic":
            yield from (_named_event(event) for event in _anthropic_events(answer))
        case "openai_responses":
            yield from (_named_event(event) for event in _response_events(answer))
        case "openai_chat":
            yield from (_event(chunk) for chunk in _chat_chunks(answer, body))
            yield b"data: [DONE]\n\n"
        case "gemini":
            yield from (_event(chunk) for chunk in _gemini_chunks(answer))


def _event(data: dict[str, Any]) -> bytes:
    """In ASCII, because some readers take more characters than the standard says for the end of a line."""
    return f"data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def _named_event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\n".encode() + _event(data)


def _pieces(text: str) -> list[str]:
    return [text[start : start + _PIECE_CHARS] for start in range(0, len(text), _PIECE_CHARS)]


# --- Anthropic: https://docs.claude.com/en/docs/build-with-claude/streaming


def _anthropic_events(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
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


# --- OpenAI, Chat Completions


def _chat_chunks(answer: dict[str, Any], body: dict[str, Any]) -> Iterator[dict[str, Any]]:
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


# --- OpenAI, Responses


def _response_events(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
    numbers = count()
    begun = {**answer, "status": "in_progress", "output": [], "usage": None}
    yield {"type": "response.created", "sequence_number": next(numbers), "response": begun}
    yield {"type": "response.in_progress", "sequence_number": next(numbers), "response": begun}
    for place, item in enumerate(answer["output"]):
        for event in _item_events(item):
            yield {**event, "sequence_number": next(numbers), "output_index": place}
    yield {"type": "response.completed", "sequence_number": next(numbers), "response": answer}


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


# --- Gemini


def _gemini_chunks(answer: dict[str, Any]) -> Iterator[dict[str, Any]]:
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
