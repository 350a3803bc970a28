"""The causes of a lost cache, each with its author, a sentence, and advice."""

from typing import NamedTuple


class Cause(NamedTuple):
    """One kind of cause."""

    by: str
    """`client`, `redline`, `provider`, `time` or `unknown`."""
    says: str
    """What happened; `{place}` is filled in."""


CAUSES: dict[str, Cause] = {
    "model": Cause("client", "another model was asked"),
    "header": Cause("client", "{place} changed"),
    "key": Cause("client", "the cache key changed"),
    "tool": Cause("client", "{place} changed"),
    "tool_added": Cause("client", "{place} was added"),
    "tool_removed": Cause("client", "{place} was removed"),
    "tool_order": Cause("client", "the tools came in another order"),
    "system": Cause("client", "{place} changed"),
    "system_added": Cause("client", "{place} was added"),
    "system_removed": Cause("client", "{place} was removed"),
    "attestation": Cause("client", "{place} changed, and nothing else did"),
    "field": Cause("client", "{place} changed"),
    "message": Cause("client", "{place} was changed"),
    "compaction": Cause("client", "the client summed the history up"),
    "rewind": Cause("client", "the conversation went back to before {place}"),
    "strike": Cause("redline", "Redline struck in {place}"),
    "unstruck": Cause("redline", "{place} was sent whole again"),
    "spelling": Cause("client", "{place} says the same in other bytes"),
    "key_order": Cause("client", "the keys of {place} came in another order"),
    "no_breakpoints": Cause("client", "{place}"),
    "breakpoints_moved": Cause("client", "{place}"),
    "breakpoint_lifetime": Cause("client", "the breakpoint asks for {place}"),
    "expired": Cause("time", "it came {place}, and the cache had expired"),
    "too_short": Cause("provider", "the prompt was too short to be cached: {place}"),
    "provider": Cause("provider", "{place} differs: the provider no longer had it"),
    "unknown": Cause("unknown", "{place} says why"),
}
"""By the kind of a difference."""

_STABLE = "Say it in the last message instead, or once at the start and keep that text."
_TOOLS = "Offer the same tools in the same order in every request; connect MCP servers before the first one."
_SETTING = "Choose it at the start of a session; switch between sessions, not in them."

ADVICE: dict[str, str] = {
    "model": _SETTING,
    "header": "Send the same beta headers with every request of a session.",
    "key": "Send one prompt_cache_key for a session: it chooses the machine that has the cache.",
    "tool": _TOOLS,
    "tool_added": _TOOLS,
    "tool_removed": _TOOLS,
    "tool_order": "Sort the tools by name before sending them.",
    "system": _STABLE,
    "system_added": _STABLE,
    "system_removed": _STABLE,
    "attestation": "Anthropic leaves that line out of its cache key; other servers do not. Switch it off for them.",
    "field": _SETTING,
    "message": "Leave messages that were sent as they are, and add new ones after them.",
    "compaction": "Compact when a task is done, and seldom: each time writes a new history.",
    "rewind": "A provider finds only the beginnings that it was asked to keep: leave marks where they were.",
    "strike": "It is weighed against what it saves: redline explain shows both.",
    "unstruck": "A strike was undone, or the client's own bytes were sent: redline explain says why.",
    "spelling": "Send messages in the form in which they were sent first.",
    "key_order": "Write JSON with its keys in one order.",
    "no_breakpoints": "Anthropic caches nothing without it: put a cache_control on the system prompt and the last message.",
    "breakpoints_moved": "Anthropic looks 20 blocks back from a breakpoint: keep one where the last request had it.",
    "breakpoint_lifetime": "Ask for one lifetime in a session.",
    "expired": "Where pauses are long, ask for the one-hour cache.",
    "too_short": "Nothing to set: a longer prompt is cached by itself.",
    "provider": "Nothing to set: it happens when a request reaches another machine of the provider.",
    "unknown": "Start the agent with redline run: it sees the system prompt and the tools, and names the place.",
}
"""By the same kind, what anybody can do against it."""

_CLAUDE_CODE = "Claude Code"
_PER_AGENT: dict[tuple[str, str, str], str] = {
    (_CLAUDE_CODE, "system", "the git state"): '"includeGitInstructions": false in its settings leaves the git state out; '
    "claude --exclude-dynamic-system-prompt-sections moves it to the first message.",
    (_CLAUDE_CODE, "system", "the working directory"): "claude --exclude-dynamic-system-prompt-sections moves it to the first "
    "message.",
    (_CLAUDE_CODE, "system", "the date"): "claude --exclude-dynamic-system-prompt-sections moves what differs by machine and "
    "day to the first message.",
    (_CLAUDE_CODE, "attestation", ""): "CLAUDE_CODE_ATTRIBUTION_HEADER=0 leaves that line out.",
    (_CLAUDE_CODE, "expired", ""): "ENABLE_PROMPT_CACHING_1H=1 asks for the one-hour cache.",
    (_CLAUDE_CODE, "tool_added", ""): "ENABLE_TOOL_SEARCH=true keeps tools of MCP servers out of the list.",
    (_CLAUDE_CODE, "compaction", ""): "/clear between tasks costs nothing; /compact writes a new history.",
    (_CLAUDE_CODE, "model", ""): "/model at the start of a session.",
}
"""By agent, kind and words: flags and settings that were found in its program (Claude Code 2.1.197)."""

_CLIENTS = (("claude-cli", _CLAUDE_CODE), ("claude-code", _CLAUDE_CODE), ("codex", "Codex"), ("gemini", "Gemini CLI"))


def agent_of(user_agent: str) -> str:
    """The name of an agent by how its requests call it; empty where it is not known."""
    said = user_agent.lower()
    return next((name for beginning, name in _CLIENTS if beginning in said), "")


def words_of(kind: str, place: str, what: str) -> str:
    """What happened, in words."""
    cause = CAUSES.get(kind)
    said = cause.says.format(place=place) if cause is not None else place
    return f"{said}: {what}" if what else said


def advice_for(kind: str, what: str, agent: str) -> str:
    """What to set: the agent's own flag where one is known, else what anybody can do."""
    if known := _PER_AGENT.get((agent, kind, what)) or _PER_AGENT.get((agent, kind, "")):
        return f"{agent}: {known}"
    return ADVICE.get(kind, "")
