"""What the providers' servers say: where each listens, how it answers, and how it refuses."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from redline.errors import FormatError
from redline.formats import find_format
from redline.formats.usage import Usage
from redline.lists.check import check
from redline.values.messages import Part, Reasoning, ToolCall

__all__ = ["ENDPOINTS", "ChatCompletions", "Endpoint", "GenerateContent", "Messages", "Responses", "endpoint_at"]


class Endpoint(ABC):
    """One API of one provider."""

    format: ClassVar[str]
    path: ClassVar[str]
    """How the address ends at which it listens."""
    stream_path: ClassVar[str | None] = None
    """Where it streams its answers, if that is another address; else the request asks for a stream."""

    @abstractmethod
    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """The body of a response in which the model says these parts."""

    def refusal(self, message: str) -> dict[str, Any]:
        """The body of the response with status 400."""
        return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}

    def complaint(self, body: dict[str, Any]) -> str | None:
        """Why the provider would refuse a request; None if it would take it."""
        field = find_format(self.format).messages_field
        messages = body.get(field)
        if not isinstance(messages, list) or not messages:
            return f"{field}: at least one message is required"
        try:
            problems = check(messages, format=self.format)
        except FormatError as problem:
            return f"{field}: {problem}"
        return f"{field}.{problems[0].index}: {problems[0].found} ({problems[0].rule})" if problems else None

    def _said(self, parts: Sequence[Part]) -> tuple[dict[str, Any], ...]:
        return find_format(self.format).compose("assistant", parts).payloads


class Messages(Endpoint):
    """Anthropic's Messages API."""

    format = "anthropic"
    path = "/messages"

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

    def refusal(self, message: str) -> dict[str, Any]:
        """An error within an object that says so."""
        return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


class ChatCompletions(Endpoint):
    """OpenAI's Chat Completions, and the many servers that speak it."""

    format = "openai_chat"
    path = "/chat/completions"

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


class Responses(Endpoint):
    """OpenAI's Responses API."""

    format = "openai_responses"
    path = "/responses"

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


class GenerateContent(Endpoint):
    """The Gemini API."""

    format = "gemini"
    path = ":generateContent"
    stream_path = ":streamGenerateContent"

    def answer(self, model: str, parts: Sequence[Part], usage: Usage) -> dict[str, Any]:
        """One candidate. What it says after a thought is signed."""
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

    def refusal(self, message: str) -> dict[str, Any]:
        """An error with the name of its status."""
        return {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}


ENDPOINTS: tuple[Endpoint, ...] = (Messages(), ChatCompletions(), Responses(), GenerateContent())


def endpoint_at(path: str) -> Endpoint | None:
    """The API that listens at an address, streaming or not."""
    return next((one for one in ENDPOINTS if path.endswith((one.path, one.stream_path or one.path))), None)


def _has_calls(parts: Sequence[Part]) -> bool:
    return any(isinstance(part, ToolCall) for part in parts)


_ID_PREFIXES = {"function_call": "fc", "message": "msg", "reasoning": "rs"}
