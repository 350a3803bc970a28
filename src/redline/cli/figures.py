"""Times, sums of money and sizes, in the words that every page of a session has."""

from datetime import datetime

__all__ = ["date_and_time", "dollars", "share"]


def date_and_time(time_ms: float | None) -> str:
    """Where the user is; nothing for a time that no calendar has."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000):%Y-%m-%d %H:%M:%S}" if time_ms else ""
    except (OverflowError, OSError, ValueError):
        return ""


def dollars(cost: float | None) -> str:
    """Cents where there are few, fractions of one where there is less; a loss has its sign, nothing has none."""
    if cost is None:
        return ""
    if 0 < cost < 0.0001:
        return "<$0.0001"
    size = round(abs(cost), 4)
    return f"{'-' if cost < 0 and size else ''}${size:,.{4 if 0 < size < 0.1 else 2}f}"


def share(part: float) -> str:
    """Of a hundred."""
    return f"{part:.0%}" if part >= 0.1 or part == 0 else f"{part:.1%}"
