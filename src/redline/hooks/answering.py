"""`redline hook run`: reads an event from standard input and prints the folded output; whatever fails, it prints nothing."""

import contextlib
import gc
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from redline.hooks import HOOKED_AGENTS

MOST_BYTES = 8 << 20
"""A larger event is not looked at; Claude Code itself moves outputs of more than 30,000 characters to files."""
DEFAULT_STORE = "~/.redline"
USUAL_AGENT = "claude-code"
"""Whose events are answered where no agent is named."""
_LEAST_CHARS = 200
"""A shorter text is not worth a look."""


def run(store: str = DEFAULT_STORE, agent: str = USUAL_AGENT) -> None:
    """Answer the event on standard input. A failure is silent: the output then passes as it was."""
    gc.disable()  # the process is over in a moment, and collecting would take a tenth of it
    with contextlib.suppress(BaseException):
        event = sys.stdin.buffer.read(MOST_BYTES + 1)
        while len(event) > MOST_BYTES and sys.stdin.buffer.read(1 << 20):
            pass  # the agent may wait until all of it was taken
        sys.stdout.buffer.write(answer_to(event, store, agent))
        sys.stdout.buffer.flush()


def answer_to(event: bytes, store: str = DEFAULT_STORE, agent: str = USUAL_AGENT) -> bytes:
    """What to print for an event; nothing where the model is to be sent the output as it is."""
    hooked = import_module(HOOKED_AGENTS[agent])
    told = json.loads(event) if len(event) <= MOST_BYTES else None
    told = hooked.event_of(told) if isinstance(told, dict) else None
    if told is None or not isinstance(told.get("tool_name"), str):
        return b""
    place = Path(store).expanduser()
    if not place.is_absolute():  # an agent goes from folder to folder
        return b""
    folding = _Folding(told, place, agent)
    output = hooked.change_output(told["tool_name"], told.get("tool_response"), folding.fold)
    if output is None:
        return b""
    with contextlib.suppress(Exception):  # the account is only for the user's information
        folding.write_account()
    return json.dumps(hooked.answer(output)).encode()


def whole_folder(store: Path) -> Path:
    """Where hooks keep whole results: apart from a proxy's, which go when no conversation of the store names them."""
    return store / "hooks"


def accounts_file(store: Path) -> Path:
    """A line for each output that a hook made smaller."""
    return store / "hooks.accounts"


class _Folding:
    """The folds of one event. Modules are imported as late as possible: most outputs are too short to need any."""

    def __init__(self, told: dict[str, Any], store: Path, agent: str) -> None:
        self._agent, self._tool = agent, str(told["tool_name"])
        given = told.get("tool_input")
        self._input: dict[str, Any] = given if isinstance(given, dict) else {}
        self._output, self._session = told.get("tool_response"), str(told.get("session_id") or "")
        self._store = store
        self._before = self._after = 0

    def fold(self, text: str) -> str | None:
        """The smaller text; None if there is none, or if the rule `folded` would leave this text as it is."""
        folder = str(whole_folder(self._store))
        if len(text) < _LEAST_CHARS or self._is_read_back(folder):
            return None
        from redline.folds import fold_text
        from redline.record.blobs.whole_results import whole_content, whole_file
        from redline.tools.shell import last_program

        command = self._input.get("command")
        program = last_program(command) if self._tool.lower() == "bash" and isinstance(command, str) else ""
        folded = fold_text(text, program, whole=whole_file(folder, text))
        if folded is None or self._must_stay(text):
            return None
        if not folded.is_exact:
            from redline.record.blobs.whole_results import WholeResults

            try:
                WholeResults(folder).put(whole_content(text))
            except Exception:  # no room, or no permission: then no line is left out
                folded = fold_text(text, program)
                if folded is None:
                    return None
        self._before += len(text)
        self._after += len(folded.text)
        return folded.text

    def _is_read_back(self, folder: str) -> bool:
        """Whether the call names whole results, in a path or a command: what was left out must not be left out again."""
        return "/".join(Path(folder).parts[-2:]) in json.dumps(self._input, ensure_ascii=False)

    def _must_stay(self, text: str) -> bool:
        """Whether the text reports a failure, or is a file that a command shows, or belongs to an edit."""
        from redline.tools import DEFAULT, describe
        from redline.tools.failures import KNOWN_SIGNS, Origin
        from redline.tools.kinds import kind_of_actions
        from redline.values.messages import Text, ToolCall, ToolResult

        if kind_of_actions(describe(ToolCall(None, self._tool, self._input))) in ("file read", "edit"):
            return True
        tool = DEFAULT.find(self._tool, self._input)
        origin: Origin = "unknown" if tool is None else "command" if tool.is_terminal else "known tool"
        errors = self._output.get("stderr") if isinstance(self._output, dict) else ""
        said = f"{text}\n{errors}" if isinstance(errors, str) and errors else text
        return KNOWN_SIGNS.in_result(ToolResult(None, (Text(said),)), origin)

    def write_account(self) -> None:
        """Append what was saved, as one write, so that lines of several hooks do not mix."""
        from redline.files import create_private, open_private

        entry = {
            "at": round(time.time(), 3),
            "agent": self._agent,
            "session": self._session[:200],
            "tool": self._tool[:200],
            "chars": self._before,
            "sent_chars": self._after,
        }
        path = accounts_file(self._store)
        handle, is_writable = open_private(path)
        if handle is None:
            handle = create_private(path)
        try:
            if is_writable:
                os.write(handle, json.dumps(entry).encode() + b"\n")
        finally:
            os.close(handle)
