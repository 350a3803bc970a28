"""The tools under the names, words and hints by which a model finds them, with the official SDK."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations

from redline.errors import RedlineError
from redline.mcp_server.tools import SessionReport, SessionTools, StrikeList

__all__ = ["make_server"]

_INSTRUCTIONS = (
    "Redline leaves outdated tool results out of what you are sent. Where you need one that was struck or stored elsewhere, "
    "call recall with the reference from its stub; list_strikes names the references of all that was struck, and why."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)

P = ParamSpec("P")
R = TypeVar("R")


def make_server(tools: SessionTools, *, can_undo: bool = True) -> MCPServer:
    """The server; `run()` speaks over standard input and output."""
    server: MCPServer = MCPServer("redline", instructions=_INSTRUCTIONS, log_level="WARNING")

    @server.tool(annotations=_READS)
    def recall(reference: str, lines: str = "", grep: str = "", session: str = "") -> str:
        """Reads back a tool result that was left out or stored elsewhere. Its stub, or list_strikes, names the reference.

        Ask for some lines (10-40, 10-, or -20 for the last twenty) or a pattern rather than for all of it.
        """
        return _told(tools.recall, reference, lines=lines, grep=grep, session=session)

    @server.tool(annotations=_READS)
    def list_strikes(limit: int = 20, offset: int = 0, session: str = "") -> StrikeList:
        """What Redline has struck from what you are sent, the latest first: why, how many tokens, the reference for recall."""
        return _told(tools.strikes, limit=limit, offset=offset, session=session)

    @server.tool(annotations=_READS)
    def session_report(session: str = "") -> SessionReport:
        """Tokens sent and struck, what the session has cost in input, and what striking has saved."""
        return _told(tools.report, session=session)

    if can_undo:

        @server.tool(annotations=_WRITES)
        def undo_strike(number: int, session: str = "") -> str:
            """Has a struck part sent again, in full, from the next request on. To read it once, recall is cheaper."""
            return _told(tools.undo, number, session=session)

    return server


def _told(work: Callable[P, R], *args: P.args, **settings: P.kwargs) -> R:
    """Only the words of a ToolError reach the model."""
    try:
        return work(*args, **settings)
    except RedlineError as problem:
        raise ToolError(str(problem)) from problem
