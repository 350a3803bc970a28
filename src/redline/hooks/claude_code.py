"""Claude Code: what it says in the event `PostToolUse`, the answers that it takes, and the hook in its settings files."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redline.agents.launching import Launch
    from redline.hooks.installation import SettingsChange

PROGRAM = "claude"
IS_FOR_RUNS = True
MATCHER = "Bash|Grep|Glob|mcp__.*"
"""The tools whose output may be folded. Reads and edits are not asked about, so they stay byte for byte."""

_NO_PLAIN_OUTPUT = ("interrupted", "isImage", "persistedOutputPath", "backgroundTaskId", "backgroundedByUser")
"""Fields of a command's output without which all that it printed is in `stdout`: what was cut off or moved stays as it is."""


def event_of(told: dict[str, Any]) -> dict[str, Any] | None:
    """The event after a tool has answered."""
    return told if told.get("hook_event_name") == "PostToolUse" else None


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
            return change_blocks(blocks, change)
    return None


def change_blocks(blocks: list[Any], change: Callable[[str], str | None]) -> list[Any] | None:
    """The blocks of an MCP tool's output with their words changed; None where nothing changes."""
    changed = [_changed_block(block, change) for block in blocks]
    return None if changed == blocks else changed


def _changed_block(block: Any, change: Callable[[str], str | None]) -> Any:
    match block:
        case {"type": "text", "text": str(text)}:
            changed = change(text)
            return block if changed is None else {**block, "text": changed}
    return block


def answer(output: Any) -> dict[str, Any]:
    """What a hook prints so that the model is sent another output."""
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": output}}


# --- its settings; what they need is imported here, as the agent waits for the event's answer


def settings_path(environment: Mapping[str, str], home: Path, project: Path | None) -> Path:
    """The user's settings file, or that of a project which is not shared: the hook names a program of this machine."""
    if project is not None:
        return project / ".claude" / "settings.local.json"
    return Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "settings.json"


def hook_items(store: str) -> list[tuple[tuple[str, ...], Any]]:
    """The hook and the permission to read whole results without a question, and the lists that they belong to."""
    from redline.hooks.installation import TIMEOUT_SECONDS, shell_command, whole_results_of

    hook = {"type": "command", "command": shell_command("claude-code", store), "timeout": TIMEOUT_SECONDS}
    permission = f"Read(/{whole_results_of(store).as_posix()}/**)"
    return [
        (("hooks", "PostToolUse"), {"matcher": MATCHER, "hooks": [hook]}),
        (("permissions", "allow"), permission),
    ]


def command_in(item: Any) -> str:
    """The command of an item of its list of hooks; empty where there is not exactly one."""
    match item:
        case {"hooks": [{"command": str(command)}]}:
            return command
    return ""


def installed(path: Path, store: str) -> "SettingsChange":
    """The settings with the hook for a store."""
    from redline.hooks.installation import with_items

    return with_items(path, hook_items, command_in, store)


def uninstalled(path: Path) -> "SettingsChange":
    """The settings without the hook. A file in which nothing else was is deleted."""
    from redline.hooks.installation import without_items

    return without_items(path, hook_items, command_in)


def launched(launch: "Launch", store: str) -> "Launch":
    """With the hook in the flag `--settings`."""
    from redline.agents.claude_code.launch import ClaudeCodeAgent
    from redline.hooks.installation import added_items

    return ClaudeCodeAgent().with_settings(launch, lambda settings: added_items(settings, hook_items(store)))
