"""A request's body with no more tools than the provider takes."""

from collections.abc import Mapping

from redline.providers import find_format
from redline.providers.api import Body
from redline.providers.limits.surplus_tools import called_tools, tool_count, tool_name, without_surplus_tools
from redline.providers.limits.table import limits_of
from redline.values import payloads

_CHOICES = ("tool_choice", "toolConfig")


def with_fewer_tools(sent: bytes, body: Body, learned: Mapping[str, int]) -> tuple[bytes, tuple[str, ...]]:
    """The bytes with the tools left out that the history never calls, as many as are too many, and the names of these."""
    most, declared = limits_of(body.format, body.model).lowered(learned).tools, body.preamble.get("tools")
    if not most or not isinstance(declared, list) or tool_count(declared) <= most:
        return sent, ()
    whole = payloads.decode(sent)
    chosen = str([whole.get(field) for field in _CHOICES])
    needed = called_tools(body.messages, find_format(body.format)) | {
        name for name in map(tool_name, declared) if name and repr(name) in chosen
    }
    kept, dropped = without_surplus_tools(whole["tools"], most, needed)
    return (payloads.replace(sent, ("tools",), kept) if dropped else sent), dropped  # type: ignore[return-value]
