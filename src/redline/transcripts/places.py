"""Where agents keep their sessions on this machine: one row for each agent, with the variable that moves it elsewhere."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import NamedTuple

__all__ = ["SessionPlace", "session_places"]


@dataclass(frozen=True, slots=True)
class SessionPlace:
    """A folder, and what session files in it are called."""

    agent: str
    """The agent in words."""
    format: str
    """The format of its transcripts."""
    folder: Path
    pattern: str
    """For `Path.glob`, below the folder."""

    def files(self) -> Iterator[Path]:
        """The session files that are there now, in the order of their names; none where there is no such folder."""
        return iter(sorted(path for path in self.folder.glob(self.pattern) if path.is_file()))


class _KnownPlace(NamedTuple):
    agent: str
    format: str
    folder: str
    """Below the home folder."""
    moved_by: tuple[tuple[str, str], ...]
    """Environment variables that name another place, and the folder below it; the first that is set counts."""
    pattern: str


_KNOWN = (
    _KnownPlace("Claude Code", "claude-code", ".claude/projects", (("CLAUDE_CONFIG_DIR", "projects"),), "**/*.jsonl"),
    _KnownPlace(
        "Cline",
        "cline-sdk",
        ".cline/data/sessions",
        (("CLINE_SESSION_DATA_DIR", ""), ("CLINE_DATA_DIR", "sessions"), ("CLINE_DIR", "data/sessions")),
        "*/*.messages.json",
    ),
    _KnownPlace("Codex", "codex", ".codex/sessions", (("CODEX_HOME", "sessions"),), "**/rollout-*.jsonl"),
    _KnownPlace("Copilot CLI", "copilot-cli", ".copilot/session-state", (("COPILOT_HOME", "session-state"),), "*/events.jsonl"),
    _KnownPlace("Gemini CLI", "gemini-cli", ".gemini/tmp", (("GEMINI_CLI_HOME", ".gemini/tmp"),), "*/chats/**/*.json*"),
    _KnownPlace("Neovate", "neovate", ".neovate/projects", (), "*/*.jsonl"),
    _KnownPlace("opencode", "opencode-db", ".local/share/opencode", (("XDG_DATA_HOME", "opencode"),), "opencode*.db"),
    _KnownPlace(
        "pi",
        "pi",
        ".pi/agent/sessions",
        (("PI_CODING_AGENT_SESSION_DIR", ""), ("PI_CODING_AGENT_DIR", "sessions")),
        "**/*.jsonl",
    ),
    _KnownPlace("Redline", "redline", ".redline", (), "*.jsonl"),
)
"""As these agents did it in November 2026; the last is the store of `redline proxy`."""

_OPENCODE_FILE = "OPENCODE_DB"
"""Names the database itself: a path, or a file in opencode's folder."""


def session_places(home: Path | None = None, environ: Mapping[str, str] | None = None) -> tuple[SessionPlace, ...]:
    """Where each agent keeps its sessions, installed or not, and Redline its own (format `redline`).

    Those of this user and environment, unless others are given.
    """
    base = Path.home() if home is None else home
    variables = os.environ if environ is None else environ
    places = []
    for known in _KNOWN:
        moved = (Path(variables[name]) / below for name, below in known.moved_by if variables.get(name))
        folder, pattern = next(moved, base / known.folder), known.pattern
        if known.format == "opencode-db" and variables.get(_OPENCODE_FILE, ":memory:") not in ("", ":memory:"):
            file = folder / variables[_OPENCODE_FILE]
            folder, pattern = file.parent, escape(file.name)
        places.append(SessionPlace(known.agent, known.format, folder, pattern))
    return tuple(places)
