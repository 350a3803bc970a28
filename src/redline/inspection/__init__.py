"""Sessions looked at: found, added up, and played back request by request, for the command line and the inspector.

Read in this order: `session_files` (what an argument or a place means), `short_names` (what they are called in
listings), `read_session` (a log or an agent's file, and the past of each conversation in it), `summary` (what a file holds, in
numbers), `catalog` (a row for every session there is), `playback` (what each request showed, what was struck of it, its size
and cost), `exact_request` (what the repair changed in a request), `explanation` (why a part is sent or struck).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redline.inspection.summary import Inspection as Inspection
    from redline.inspection.summary import LargePart as LargePart
    from redline.inspection.summary import RepeatedRead as RepeatedRead
    from redline.inspection.summary import ToolUse as ToolUse
    from redline.inspection.summary import inspect_transcript as inspect_transcript

__all__ = ["Inspection", "LargePart", "RepeatedRead", "ToolUse", "inspect_transcript"]


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> object:
        """Loaded when first used: a shell that completes a number must not wait for the readers of all agents."""
        if name not in __all__:
            raise AttributeError(f"module 'redline.inspection' has no attribute {name!r}")
        from redline.inspection import summary

        return getattr(summary, name)
