"""What is told of a request that met a limit of its provider, or whose history would without strikes."""

from redline.engine.limits import LIMITS
from redline.prices.find import price_of
from redline.providers.usage import Usage
from redline.transport.editing import Edited

LEARNED, LEFT_OUT, FEWER_TOOLS, WINDOW_NEAR = "learned", "left out", "fewer tools", "window near"
_NEAR = 0.9
"""So much of the window the client's own history has, without strikes, when that is told."""


def limit_note(edited: Edited | None, usage: Usage | None, model: str) -> str:
    """A word for the accounts; empty where no limit was met."""
    request = edited.request if edited is not None else None
    if edited is None or request is None:
        return ""
    if edited.learned:
        return LEARNED
    if edited.is_changed and any(strike.rule == LIMITS for strike in request.new_strikes):
        return LEFT_OUT
    if edited.dropped_tools:
        return FEWER_TOOLS
    price = price_of(model or None)
    saved = request.bill.saved.total if edited.is_changed else 0
    if usage is None or price is None or not price.window_tokens or not saved:
        return ""
    unstruck = usage.input_tokens + usage.output_tokens + saved
    return WINDOW_NEAR if unstruck >= _NEAR * price.window_tokens else ""
