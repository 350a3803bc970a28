"""What Claude Code says in the event `PostToolUse`, and the answers that it takes: an output of the shape that it gave."""

from collections.abc import Callable
from typing import Any

MATCHER = "Bash|Grep|Glob|mcp__.*"
"""The tools whose output may be folded. Reads and edits are not asked about, so they stay byte for byte."""

_NO_PLAIN_OUTPUT = ("interrupted", "isImage", "persistedOutputPath", "backgroundTaskId", "backgroundedByUser")
"""Fields of a command's output without which all that it printed is in `stdout`: what was cut off or moved stays as it is."""


def change_output(tool: str, output: Any, change: Callable[[str], str | None]) -> Any:
    """The output with its words changed, in the shape that it had; None where nothing changes.

    Claude Code ignores an output of any other shape: of its own tools an object with the same fields.
    """
    match output:
        case {"stdout": str(text)} if tool == "Bash" and not any(output.get(name) for name in _NO_PLAIN_OUTPUT):
            changed = change(text)
            return None if changed is None else {**output, "stdout": changed}
        case {"mode": "content", "content": str(text)} if tool == "Grep":
            changed = change(text)
            return None if changed is None else {**output, "content": changed}
        case {"filenames": [str(), *_] as names} if tool in ("Grep", "Glob"):
            changed = change("\n".join(map(str, names)))
            return None if changed is None else {**output, "filenames": changed.split("\n")}
        case str(text) if tool.startswith("mcp__"):
            return change(text)
        case list(blocks) if tool.startswith("mcp__"):
            changed_blocks = [_changed_block(block, change) for block in blocks]
            return None if changed_blocks == blocks else changed_blocks
    return None


def _changed_block(block: Any, change: Callable[[str], str | None]) -> Any:
    """A block of an MCP tool's output with its words changed."""
    match block:
        case {"type": "text", "text": str(text)}:
            changed = change(text)
            return block if changed is None else {**block, "text": changed}
    return block


def answer(output: Any) -> dict[str, Any]:
    """What a hook prints so that the model is sent another output."""
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}
