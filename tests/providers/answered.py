"""One answer in the shape of each API, as its server sends it: thoughts, words, and a call with a null among its arguments."""

import anthropic.types as anthropic_types
import google.genai.types as gemini_types
import openai.types.chat as chat_types
import openai.types.responses as responses_types

from redline.providers.usage import Usage

ARGUMENTS = {"path": "a.py", "lines": None}
JSON_ARGUMENTS = '{"path":"a.py","lines":null}'

ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-6",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "text", "text": "I look.", "citations": None},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": ARGUMENTS, "caller": {"type": "direct"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "container": None,
    "usage": {"input_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 6, "output_tokens": 7},
}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": JSON_ARGUMENTS}}],
            },
            "logprobs": None,
            "finish_reason": "tool_calls",
        }
    ],
    "usage": {
        "prompt_tokens": 110,
        "completion_tokens": 7,
        "total_tokens": 117,
        "prompt_tokens_details": {"cached_tokens": 100},
    },
    "service_tier": "default",
}
RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5",
    "status": "completed",
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed", "content": None, "status": None},
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "I look.", "annotations": [], "logprobs": []}],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "call_id": "call_1",
            "name": "read",
            "arguments": JSON_ARGUMENTS,
            "status": "completed",
        },
        {
            "id": "ci_1",
            "type": "code_interpreter_call",
            "status": "completed",
            "container_id": "c1",
            "code": "1 + 1",
            "outputs": None,
        },
    ],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "usage": {
        "input_tokens": 110,
        "input_tokens_details": {"cached_tokens": 100, "cache_write_tokens": 0},
        "output_tokens": 7,
        "output_tokens_details": {"reasoning_tokens": 3},
        "total_tokens": 117,
    },
}
GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"text": "I look."},
                    {"functionCall": {"id": "f1", "name": "read", "args": ARGUMENTS}, "thoughtSignature": "+/+/AA=="},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 110,
        "cachedContentTokenCount": 100,
        "candidatesTokenCount": 7,
        "totalTokenCount": 117,
    },
    "modelVersion": "gemini-3-pro",
    "responseId": "r1",
}

BODIES = {"anthropic": ANTHROPIC, "openai_chat": CHAT, "openai_responses": RESPONSES, "gemini": GEMINI}
TYPES = {
    "anthropic": anthropic_types.Message,
    "openai_chat": chat_types.ChatCompletion,
    "openai_responses": responses_types.Response,
    "gemini": gemini_types.GenerateContentResponse,
}
SENDABLE = {
    "anthropic": (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "redacted_thinking", "data": "xyz"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": ARGUMENTS, "caller": {"type": "direct"}},
            ],
        },
    ),
    "openai_chat": (
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "read", "arguments": JSON_ARGUMENTS}}],
        },
    ),
    "openai_responses": (
        {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "sealed"},
        *RESPONSES["output"][1:],
    ),
    "gemini": (GEMINI["candidates"][0]["content"],),
}
"""What the API takes back."""

USAGES = {
    "anthropic": Usage(4, 7, 100, 6),
    "openai_chat": Usage(10, 7, 100),
    "openai_responses": Usage(10, 7, 100),
    "gemini": Usage(10, 7, 100),
}


def as_object(format):
    """The body as the SDK reads it from the wire, without checks of its own."""
    return TYPES[format].model_validate(BODIES[format])
