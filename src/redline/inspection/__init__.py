"""Sessions looked at: found, added up, and played back request by request, for the command line and the inspector.

Read in this order: `session_files` (what an argument or a place means), `log_transcript` (a log as an agent's session),
`summary` (what a file holds, in numbers), `playback` (what was visible and what was struck at each request).
"""

from redline.inspection.summary import Inspection, LargePart, RepeatedRead, ToolUse, inspect_transcript

__all__ = ["Inspection", "LargePart", "RepeatedRead", "ToolUse", "inspect_transcript"]
