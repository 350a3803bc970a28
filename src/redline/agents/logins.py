"""Whether a subscription pays for an agent's requests, as far as its files and variables tell before it starts."""

from redline.agents.agent import Agent, Launch, read_json
from redline.errors import ValidationError

__all__ = ["subscription_note"]

_KEYS = {
    "claude": ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
    "codex": ("OPENAI_API_KEY", "CODEX_API_KEY"),
}
"""Variables with which an agent does not use its login."""


def subscription_note(agent: Agent, launch: Launch) -> str:
    """What to say before an agent starts that is logged in with a subscription; empty if a key pays, or nobody can tell."""
    if agent.program not in _KEYS or any(launch.environment.get(name) for name in _KEYS[agent.program]):
        return ""
    try:
        is_login = _claude_login(launch) if agent.program == "claude" else _codex_login(launch)
    except ValidationError:  # a file of the agent's that is not JSON
        return ""
    if not is_login:
        return ""
    return (
        f"{agent.name} is logged in with a subscription: its requests are only observed, and nothing is struck. "
        "--edit-subscriptions edits them, too."
    )


def _claude_login(launch: Launch) -> bool:
    folder = launch.environment.get("CLAUDE_CONFIG_DIR")
    held = read_json((launch.home.joinpath(folder) if folder else launch.home / ".claude") / ".credentials.json")
    return isinstance(held, dict) and bool(held.get("claudeAiOauth"))


def _codex_login(launch: Launch) -> bool:
    folder = launch.environment.get("CODEX_HOME")
    held = read_json((launch.home.joinpath(folder) if folder else launch.home / ".codex") / "auth.json")
    return isinstance(held, dict) and bool(held.get("tokens")) and not held.get("OPENAI_API_KEY")
