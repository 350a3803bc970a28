"""The MCP server: an agent looks at its own session, reads back what was taken out of it, and undoes strikes."""

from redline.mcp_server.own_session import NamedSession, RunSession, SessionBinding, UnknownSession
from redline.mcp_server.server import make_server
from redline.mcp_server.tools import SessionReport, SessionTools, StrikeList, StrikeRow

__all__ = [
    "NamedSession",
    "RunSession",
    "SessionBinding",
    "SessionReport",
    "SessionTools",
    "StrikeList",
    "StrikeRow",
    "UnknownSession",
    "make_server",
]
