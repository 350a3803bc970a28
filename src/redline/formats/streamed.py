"""What a stream said, as the API would have answered in one piece: joined from the events or chunks that were read from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from redline.values import payloads

__all__ = ["join_stream"]


def join_stream(events: Sequence[Any]) -> dict[str, Any] | None:
    """The whole response in the events of one stream, in their order; None if they are no such events.

    Taken are the raw events of Anthropic and of OpenAI's Responses, the chunks of Chat Completions and of Gemini, and also what
    the SDKs' own stream helpers give out while these come in.
    """
    given = [event for event in events if isinstance(event, dict)]
    if not given or len(given) < len(events):
        return None
    kinds = {str(event.get("type")) for event in given}
    if "message_start" in kinds:
        return _join_anthropic(given)
    if any(kind.startswith("response.") for kind in kinds):
        return _join_responses(given)
    chunks = [event["chunk"] for event in given if event.get("type") == "chunk" and isinstance(event.get("chunk"), dict)]
    if all(isinstance(chunk.get("choices"), list) for chunk in chunks or given):
        return _join_chat(chunks or given)
    if all(not _GEMINI_FIELDS.isdisjoint(event) for event in given):
        return _join_gemini(given)
    return None


_GEMINI_FIELDS = frozenset({"candidates", "usageMetadata", "usage_metadata", "promptFeedback", "prompt_feedback"})


def _join_anthropic(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {}
    blocks: dict[int, dict[str, Any]] = {}
    inputs: dict[int, str] = {}
    for event in events:
        match event:
            case {"type": "message_start", "message": dict(start)}:
                message = {**start}
            case {"type": "content_block_start", "index": int(place), "content_block": dict(block)}:
                blocks[place] = {**block}
            case {"type": "content_block_delta", "index": int(place), "delta": {"partial_json": str(piece)}}:
                inputs[place] = inputs.get(place, "") + piece
            case {"type": "content_block_delta", "index": int(place), "delta": dict(delta)} if place in blocks:
                _extend_block(blocks[place], delta)
            case {"type": "message_delta"}:
                message |= _present(event.get("delta"))
                message["usage"] = {**_present(message.get("usage")), **_present(event.get("usage"))}
    for place, written in inputs.items():
        if written and place in blocks:
            try:
                blocks[place]["input"] = payloads.decode_text(written)
            except (ValueError, RecursionError):  # cut off: kept as text, in the way that Anthropic asks for
                blocks[place]["input"] = {"INVALID_JSON": written}
    return {**message, "content": [blocks[place] for place in sorted(blocks)]}


def _extend_block(block: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Words come in pieces, citations one by one; anything else comes whole."""
    for name, piece in delta.items():
        before = block.get(name)
        if name == "citation":
            block["citations"] = [*(block.get("citations") or ()), piece]
        elif name in ("text", "thinking", "content") and isinstance(before, str) and isinstance(piece, str):
            block[name] = before + piece
        elif name != "type" and piece is not None:
            block[name] = piece


def _join_responses(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The response as it was at the end; its items as each was when it was done, where the end does not repeat them."""
    last: dict[str, Any] = {}
    done: dict[int, Any] = {}
    for number, event in enumerate(events):
        if isinstance(event.get("response"), dict):
            last = event["response"]
        if event.get("type") == "response.output_item.done":
            place = event.get("output_index")
            done[place if isinstance(place, int) else number] = event.get("item")
    return {**last, "output": last.get("output") or [done[place] for place in sorted(done)]}


def _join_chat(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first choice; the usage comes in a chunk of its own, which has none."""
    whole: dict[str, Any] = {}
    message: dict[str, Any] = {"role": "assistant", "content": None}
    for chunk in chunks:
        whole |= {name: held for name, held in chunk.items() if held is not None and name != "choices"}
        for choice in chunk["choices"]:
            if isinstance(choice, dict) and choice.get("index", 0) == 0 and isinstance(choice.get("delta"), dict):
                _extend_message(message, choice["delta"])
    listed = message.get("tool_calls")
    calls = [call for call in listed if isinstance(call, dict)] if isinstance(listed, list) else []
    named = [{name: held for name, held in call.items() if name != "index"} for call in calls]
    return {**whole, "choices": [{"index": 0, "message": {**message, "tool_calls": named or None}}]}


def _extend_message(held: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Words are appended, lists and objects filled in; ids, types and names come once, and some servers repeat them."""
    for name, piece in delta.items():
        before = held.get(name)
        match piece:
            case None:
                continue
            case str() if isinstance(before, str) and name not in ("id", "type", "role", "name"):
                held[name] = before + piece
            case dict():
                held[name] = {**before} if isinstance(before, dict) else {}
                _extend_message(held[name], piece)
            case list():
                held[name] = list(before) if isinstance(before, list) else []
                _extend_list(held[name], piece)
            case _:
                held[name] = piece


def _extend_list(held: list[Any], pieces: Sequence[Any]) -> None:
    """A piece of a call names the place of the call; where a server leaves that out, an id begins a new one."""
    for piece in pieces:
        if not isinstance(piece, dict):
            held.append(piece)
            continue
        place = piece.get("index")
        objects = [one for one in held if isinstance(one, dict)]
        known = next((one for one in objects if place is not None and one.get("index") == place), None)
        if known is None and place is None and objects and not piece.get("id"):
            known = objects[-1]
        if known is None:
            known = {}
            held.append(known)
        _extend_message(known, piece)


def _join_gemini(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first candidate, with words that belong together in one part; what else a chunk says counts as of the last one."""
    whole: dict[str, Any] = {}
    parts: list[dict[str, Any]] = []
    for chunk in chunks:
        whole |= {name: held for name, held in chunk.items() if held is not None and name != "candidates"}
        match chunk.get("candidates"):
            case [{"content": {"parts": list(pieces)}}, *_]:
                _extend_parts(parts, pieces)
    return {**whole, "candidates": [{"content": {"role": "model", "parts": parts}}]}


def _extend_parts(parts: list[dict[str, Any]], pieces: Sequence[Any]) -> None:
    """A part that is signed stays alone, because the signature is of that part."""
    for piece in map(_present, pieces):
        last = parts[-1] if parts else {}
        if _is_plain_text(last) and _is_plain_text(piece) and last.get("thought") == piece.get("thought"):
            parts[-1] = {**last, "text": last["text"] + piece["text"]}
        elif piece:
            parts.append(piece)


def _is_plain_text(part: dict[str, Any]) -> bool:
    return isinstance(part.get("text"), str) and part.keys() <= {"text", "thought"}


def _present(holder: Any) -> dict[str, Any]:
    """The fields that say something: a null in a stream means no news."""
    return {name: held for name, held in holder.items() if held is not None} if isinstance(holder, dict) else {}
