"""Side calls of real agents, as they arrive at a provider, cut down to what tells them from a turn; and turns that are near."""

import json
from dataclasses import dataclass, field

__all__ = ["SIDE_CALLS", "TURNS", "WireCase"]


@dataclass(frozen=True)
class WireCase:
    """One request: who sends it, where to, and what it says."""

    name: str
    path: str
    body: dict
    headers: dict = field(default_factory=dict)
    keeps_strikes: bool = False

    @property
    def raw(self) -> bytes:
        return json.dumps(self.body).encode()


_MESSAGES, _RESPONSES = "/v1/messages", "/v1/responses"
_FLASH = "/v1beta/models/gemini-3-flash-preview:generateContent"
_READ = {"name": "Read", "description": "Reads a file.", "input_schema": {"type": "object"}}
_CALL = {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "/a"}}]}
_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "one line"}]}
_GEMINI_CALL = {"role": "model", "parts": [{"functionCall": {"name": "read_file", "args": {"file_path": "/a"}}}]}
_GEMINI_RESULT = {"role": "user", "parts": [{"functionResponse": {"name": "read_file", "response": {"output": "one line"}}}]}
_JSON = {"temperature": 0, "responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}
_ITEMS = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": '{"cmd": "ls"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "one line"},
]
_FUNCTION = {"type": "function", "name": "exec_command", "parameters": {"type": "object"}}


def _said(text: str) -> dict:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


SIDE_CALLS = (
    WireCase(
        "Gemini CLI: loop check",
        _FLASH,
        {
            "systemInstruction": {
                "role": "user",
                "parts": [
                    {
                        "text": "You are a diagnostic agent that determines whether a conversational AI assistant is stuck in "
                        "an unproductive loop. Analyze the conversation history"
                    }
                ],
            },
            "contents": [
                _GEMINI_CALL,
                _GEMINI_RESULT,
                {"role": "user", "parts": [{"text": "Please analyze the conversation history to determine the possibility"}]},
            ],
            "generationConfig": _JSON,
        },
        {"user-agent": "GeminiCLI-tui/0.61.0/gemini-3.1-pro-preview (linux; x64; terminal)"},
    ),
    WireCase(
        "Gemini CLI: next speaker",
        _FLASH,
        {
            "contents": [
                {"role": "user", "parts": [{"text": "go"}]},
                {"role": "model", "parts": [{"text": "Done."}]},
                {
                    "role": "user",
                    "parts": [{"text": "Analyze *only* the content and structure of your immediately preceding response "}],
                },
            ],
            "generationConfig": _JSON,
        },
    ),
    WireCase(
        "Gemini CLI: choice of model",
        "/v1beta/models/gemini-3.5-flash-lite:generateContent",
        {
            "systemInstruction": {
                "parts": [{"text": "\nYou are a specialized Task Routing AI. Your sole function is to analyze"}]
            },
            "contents": [{"role": "user", "parts": [{"text": "go"}]}],
            "generationConfig": _JSON,
        },
    ),
    WireCase(
        "Claude Code: summary",
        _MESSAGES,
        {
            "system": [{"type": "text", "text": "You are Claude Code."}],
            "tools": [_READ],
            "messages": [
                _said("go"),
                _CALL,
                {
                    "role": "user",
                    "content": [
                        *_RESULT["content"],
                        {
                            "type": "text",
                            "text": "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nYour task is to "
                            "create a detailed summary of the conversation so far, paying close attention",
                        },
                    ],
                },
            ],
        },
        {"x-claude-code-session-id": "s"},
        keeps_strikes=True,
    ),
    WireCase(
        "Claude Code: prompt suggestion",
        _MESSAGES,
        {
            "tools": [_READ],
            "messages": [
                _said("go"),
                _CALL,
                _RESULT,
                _said("[SUGGESTION MODE: Suggest what the user might naturally type next]"),
            ],
        },
        {"x-claude-code-session-id": "s"},
        keeps_strikes=True,
    ),
    WireCase(
        "Claude Code: title",
        _MESSAGES,
        {
            "system": [
                {"type": "text", "text": "Generate a concise, sentence-case title (3-7 words) that captures the main topic"}
            ],
            "messages": [_said("go")],
        },
        {"x-claude-code-session-id": "s"},
    ),
    WireCase(
        "opencode: title",
        _MESSAGES,
        {
            "system": [{"type": "text", "text": "You are a title generator. You output ONLY a thread title. Nothing else."}],
            "messages": [_said("Generate a title for this conversation:\n")],
        },
        {"x-session-id": "ses_1"},
    ),
    WireCase(
        "opencode: summary",
        "/v1/chat/completions",
        {
            "messages": [
                {
                    "role": "system",
                    "content": "You are a context summarization agent. You are given a conversation between a user",
                },
                {"role": "user", "content": "<conversation>go</conversation>"},
            ]
        },
        {"x-session-id": "ses_1"},
    ),
    WireCase(
        "Codex: summary",
        _RESPONSES,
        {
            "instructions": "You are Codex.",
            "tools": [_FUNCTION],
            "input": [
                *_ITEMS,
                {
                    "type": "message",
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff"}
                    ],
                },
            ],
        },
        {"session-id": "t"},
        keeps_strikes=True,
    ),
    WireCase(
        "Codex: summary",
        _RESPONSES,
        {"tools": [_FUNCTION], "input": [*_ITEMS, {"type": "compaction_trigger"}]},
        {"session-id": "t"},
        keeps_strikes=True,
    ),
)
"""What agents ask besides their conversation."""

TURNS = (
    WireCase("an agent's turn", _MESSAGES, {"tools": [_READ], "messages": [_said("go"), _CALL, _RESULT]}),
    WireCase(
        "a tool printed the words of a summary request",
        _MESSAGES,
        {
            "tools": [_READ],
            "messages": [
                _said("go"),
                _CALL,
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "tool_use_id": "c1",
                            "content": "Your task is to create a detailed summary of the conversation so far",
                        }
                    ],
                },
            ],
        },
    ),
    WireCase(
        "the user asked for a summary, and tools were called since",
        _MESSAGES,
        {
            "tools": [_READ],
            "messages": [_said("Your task is to create a detailed summary of the repository."), _CALL, _RESULT],
        },
    ),
    WireCase(
        "an agent that writes titles with tools",
        _MESSAGES,
        {
            "system": "You are a title generator.",
            "tools": [_READ],
            "messages": [_said("go"), _CALL, _RESULT],
        },
    ),
    WireCase(
        "an agent that wants JSON in every answer",
        "/v1/chat/completions",
        {
            "tools": [{"type": "function", "function": {"name": "Read", "parameters": {"type": "object"}}}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
            "messages": [
                {"role": "user", "content": "go"},
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "one line"},
            ],
        },
    ),
    WireCase(
        "a chat without tools", _MESSAGES, {"messages": [_said("go"), {"role": "assistant", "content": "Done."}, _said("more")]}
    ),
    WireCase(
        "a history of calls from a client that never offers tools",
        _MESSAGES,
        {"messages": [_said("go"), _CALL, _RESULT]},
    ),
    WireCase(
        "Gemini with tools",
        _FLASH,
        {
            "tools": [{"functionDeclarations": [{"name": "read_file"}]}],
            "contents": [{"role": "user", "parts": [{"text": "go"}]}, _GEMINI_CALL, _GEMINI_RESULT],
        },
    ),
    WireCase(
        "Codex with its tools as an item",
        _RESPONSES,
        {"input": [{"type": "additional_tools", "role": "developer", "tools": [_FUNCTION]}, *_ITEMS]},
    ),
)
"""Turns of conversations, some of which look like side calls."""
