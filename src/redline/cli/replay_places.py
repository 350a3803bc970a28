"""What `redline replay --places` shows: each part that a policy struck and that was used later, by whom and in which words."""

from collections import Counter

from redline.cli.output import columns_of_terminal, counted, say, show_title
from redline.cli.printable import printable, shortened, wrapped
from redline.replay.places import PolicyPlaces

__all__ = ["show_places"]


def show_places(places: PolicyPlaces) -> None:
    """Three lines for each use, in the order of the requests; no line is wider than the terminal."""
    show_title(f"Struck by `{places.policy}`, and used later")
    counts = Counter(place.measure for place in places.used)
    quoted, strict = f"{counts['quoted']:,} were quoted or read again", f"{counts['strict']:,} used by the strict measure"
    for line in wrapped(f"Of {counted(places.strikes, 'part')} struck, {quoted}, {strict}.", columns_of_terminal()):
        say(line)
    for place in places.used:
        say()
        _say_line(f"Request {place.used_in:,} used what was struck in request {place.struck_in:,} ({place.measure}):")
        tool = f"{place.tool}, " if place.tool else ""
        _say_line(f"  struck  message {place.message:,}, {tool}{place.kind}: {place.first_words}")
        _say_line(f"  used    {place.words}")


def _say_line(text: str) -> None:
    say(shortened(printable(text), columns_of_terminal(), at_end=True))
