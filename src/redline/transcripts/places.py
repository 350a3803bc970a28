"""Where agents keep their sessions on this machine: one row for each agent, with the variable that moves it elsewhere."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
    variable: str
    """The environment variable that names another place for `moved`."""
    moved: str
    """Below the home folder; empty where the variable names another home."""
    below: str
    pattern: str


_KNOWN = (
    _KnownPlace("Claude Code", "claude-code", "CLAUDE_CONFIG_DIR", ".claude", "projects", "**/*.jsonl"),
    _KnownPlace("Codex", "codex", "CODEX_HOME", ".codex", "sessions", "**/rollout-*.jsonl"),
    _KnownPlace("Gemini CLI", "gemini-cli", "GEMINI_CLI_HOME", "", ".gemini/tmp", "*/chats/**/*.json*"),
    _KnownPlace("opencode", "opencode-db", "XDG_DATA_HOME", ".local/share", "opencode", "opencode*.db"),
)
"""As these agents did it on Linux in November 2026."""


def session_places(home: Path | None = None, environ: Mapping[str, str] | None = None) -> tuple[SessionPlace, ...]:
    """Where each agent keeps its sessions, installed or not: those of this user and environment, unless others are given."""
    base = Path.home() if home is None else home
    variables = os.environ if environ is None else environ
    return tuple(
        SessionPlace(
            known.agent, known.format, Path(variables.get(known.variable) or base / known.moved) / known.below, known.pattern
        )
        for known in _KNOWN
    )
