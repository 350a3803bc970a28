"""Runs of agents without native tools: conversations with calls told anew, each result as words of the user."""

import json
from collections.abc import Iterator, Mapping

from redline.testing import Turn
from redline.values.messages import Text, ToolCall, ToolResult

AGENTS = ("mini-swe-agent", "swe-agent", "react", "openhands")
"""The shapes that `observations="auto"` knows."""


def as_text(turns: list[Turn], agent: str) -> list[Turn]:
    """The turns as such an agent would have sent them; of several calls in a turn, each is asked and answered by itself."""
    return list(_told(turns, agent))


def _told(turns: list[Turn], agent: str) -> Iterator[Turn]:
    waiting: dict[str | None, tuple[str, ToolCall]] = {}
    for role, parts in turns:
        words = "\n".join(part.text for part in parts if isinstance(part, Text))
        calls = [part for part in parts if isinstance(part, ToolCall)]
        waiting |= {call.id: (words, call) for call in calls}
        for result in (part for part in parts if isinstance(part, ToolResult)):
            said, call = waiting.pop(result.call_id)
            yield "assistant", (Text(f"{said}\n\n{_action(call, agent)}".strip()),)
            yield "user", (Text(_observation(result, call, agent)),)
        if words and not calls:
            yield role, tuple(part for part in parts if not isinstance(part, ToolResult))


def command_of(call: ToolCall) -> str:
    """The call as a command, for agents that have only a shell."""
    given: Mapping[str, object] = call.arguments
    path = given.get("path", given.get("file_path"))
    return str(given.get("command") or (f"cat {path}" if path else f"{call.name} {json.dumps(dict(given))}"))


def _action(call: ToolCall, agent: str) -> str:
    match agent:
        case "mini-swe-agent":
            return f"```bash\n{command_of(call)}\n```"
        case "swe-agent":
            return f"```\n{command_of(call)}\n```"
        case "react":
            return f"Action: {call.name}\nAction Input: {json.dumps(call.arguments)}"
        case _:
            given = "".join(f"<parameter={key}>{value}</parameter>\n" for key, value in call.arguments.items())
            return f"<function={call.name}>\n{given}</function>"


def _observation(result: ToolResult, call: ToolCall, agent: str) -> str:
    match agent:
        case "mini-swe-agent":
            return f"<returncode>{int(result.is_error)}</returncode>\n<output>\n{result.text}\n</output>"
        case "swe-agent":
            return f"{result.text}\n(Open file: n/a)\n(Current directory: /work)\nbash-$"
        case "react":
            return f"Observation: {result.text}"
        case _:
            return f"EXECUTION RESULT of [{call.name}]:\n{result.text}"
