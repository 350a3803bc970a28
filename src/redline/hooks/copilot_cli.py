"""Copilot CLI: what it says in the event `postToolUse`, the result that it takes instead, and the hook in a file of its own."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from redline.agents.launching import Launch
    from redline.hooks.installation import SettingsChange

PROGRAM = "copilot"
IS_FOR_RUNS = False
_ASKED_ABOUT = ("bash", "grep", "rg", "glob")
_DONE = " completed with exit code 0>"
"""How the last line of a command's output ends, if the command has ended, and well: that line stays."""
_COMPACTED = "Shell output was automatically compacted."
"""How an output begins that Copilot CLI has made smaller itself; it is not all that the command printed, and stays."""
_FRESH = '{\n  "version": 1\n}\n'
"""A file with no hook in it."""


def event_of(told: dict[str, Any]) -> dict[str, Any] | None:
    """The event after a tool has answered, by the names that Copilot CLI gives to its fields."""
    if not isinstance(told.get("toolResult"), dict):
        return None
    names = {"toolName": "tool_name", "toolArgs": "tool_input", "toolResult": "tool_response", "sessionId": "session_id"}
    return {ours: told.get(theirs) for theirs, ours in names.items()}


def change_output(tool: str, output: Any, change: Callable[[str], str | None]) -> Any:
    """The result with its words changed; None where nothing changes."""
    match output:
        case {"resultType": "success", "textResultForLlm": str(text)} if tool in _ASKED_ABOUT:
            words, line, last = text.rpartition("\n") if tool == "bash" else (text, "", "")
            if text.startswith(_COMPACTED) or (tool == "bash" and not last.endswith(_DONE)):
                return None
            changed = change(words)
            return None if changed is None else {**output, "textResultForLlm": changed + line + last}
    return None


def answer(output: Any) -> dict[str, Any]:
    """What a hook prints so that the model is sent another result."""
    return {"modifiedResult": output}


# --- its settings


def settings_path(environment: Mapping[str, str], home: Path, project: Path | None) -> Path:
    """A file beside other hooks of the user."""
    from redline.hooks.installation import no_project

    if project is not None:
        raise no_project("Copilot CLI")
    return Path(environment.get("COPILOT_HOME") or home / ".copilot") / "hooks" / "redline.json"


def hook_items(store: str) -> list[tuple[tuple[str, ...], Any]]:
    """The hook, and the list that it belongs to."""
    from redline.hooks.installation import TIMEOUT_SECONDS, shell_command

    hook = {"type": "command", "bash": shell_command("copilot", store), "timeoutSec": TIMEOUT_SECONDS}
    return [(("hooks", "postToolUse"), hook)]


def command_in(item: Any) -> str:
    """The command of an item of its list of hooks."""
    match item:
        case {"bash": str(command)}:
            return command
    return ""


def installed(path: Path, store: str) -> "SettingsChange":
    """The file with the hook for a store."""
    from redline.hooks.installation import with_items

    return with_items(path, hook_items, command_in, store, fresh=_FRESH)


def uninstalled(path: Path) -> "SettingsChange":
    """The file without the hook; it is deleted if nothing else is in it."""
    from redline.hooks.installation import without_items

    return without_items(path, hook_items, command_in, fresh=_FRESH)


def launched(launch: "Launch", store: str) -> "Launch":  # noqa: ARG001
    """Not possible."""
    from redline.errors import ValidationError

    raise ValidationError(
        "Copilot CLI takes hooks from files alone, not for one run. Leave --hooks out: redline hook install copilot adds the "
        "hook for all runs."
    )
