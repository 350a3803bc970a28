"""Sessions looked at: found, added up, and played back request by request, for the command line and the inspector.

Read in this order: `session_files` (what an argument or a place means), `last_listing` (what they are called in
listings), `read_session` (a log or an agent's file, and the past of each conversation in it), `summary` (what a file holds, in
numbers), `catalog` (a row for every session there is), `playback` (what each request showed, what was struck of it, its size
and cost), `to_json` (all of it as plain values, with what the repair changed), `explain` (why a part is sent or struck).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.sessions.summary import Inspection as Inspection
    from redline.sessions.summary import LargePart as LargePart
    from redline.sessions.summary import RepeatedRead as RepeatedRead
    from redline.sessions.summary import ToolUse as ToolUse
    from redline.sessions.summary import inspect_transcript as inspect_transcript

__all__ = ["Inspection", "LargePart", "RepeatedRead", "ToolUse", "inspect_transcript"]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        """Loaded when first used: a shell that completes a number must not wait for the readers of all agents."""
        if name not in __all__:
            raise AttributeError(f"module 'redline.sessions' has no attribute {name!r}")
        from redline.sessions import summary

        return getattr(summary, name)
