"""Where each agent looks for its sessions, and how it is told to go on with one."""

from dataclasses import dataclass

__all__ = ["AGENT_PLACES", "AgentPlace"]


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """How an agent whose files can be repaired finds a session again."""

    name: str
    looks_at: str
    resumes_by: str
    """The command that goes on with a session."""

    def __str__(self) -> str:
        return f"{self.name} looks for its sessions at {self.looks_at}, and goes on with one by: {self.resumes_by}"


AGENT_PLACES = {
    "claude-code": AgentPlace("Claude Code", "~/.claude/projects/PROJECT/SESSION-ID.jsonl", "claude --resume SESSION-ID"),
    "codex": AgentPlace("Codex", "~/.codex/sessions/YEAR/MONTH/DAY/rollout-TIME-SESSION-ID.jsonl", "codex resume SESSION-ID"),
    "gemini-cli": AgentPlace("Gemini CLI", "~/.gemini/tmp/PROJECT/chats/", "gemini --resume SESSION-ID"),
    "neovate": AgentPlace("Neovate", "~/.neovate/projects/PROJECT/SESSION-ID.jsonl", "neovate --resume SESSION-ID"),
    "opencode": AgentPlace("opencode", "its database", "opencode import FILE, then opencode --session SESSION-ID"),
}
"""By the name of the reader. Capitals are what differs from session to session."""
