"""What Anthropic's server clears of a past session."""

from redline.sessions.replay.under_policy import BY_PROVIDER, SessionSizes, clear_tool_uses, results_by_request
from redline.values.messages import Text
from tests.sessions.replay.recorded import recorded, step

LONG = "word " * 1000


def steps(count, *, users=(), compact_before=()):
    """The sizes of a session with so many commands; after some of them the user speaks."""
    turns = [("user", (Text("go"),))]
    for number in range(count):
        turns += step(number, "Bash", {"command": f"make {number}"}, LONG)
        turns += [("assistant", (Text("well"),)), ("user", (Text("go on"),))] if number in users else []
    return SessionSizes(recorded([*turns, ("assistant", (Text("done"),))], compact_before=compact_before))


def result_size(sizes):
    """The tokens that go with one of its results."""
    return next(sent[0].tokens_saved for _, sent in results_by_request(sizes) if sent)


def by_request(strikes):
    """The messages that are struck, by request."""
    found = {}
    for strike in strikes:
        found.setdefault(strike.first, []).append(strike.index)
    return found


def test_clear_tool_uses_waits_for_its_trigger():
    """Below it nothing goes; above it all but the latest go, until the request is below it again."""
    sizes = steps(8)
    assert not clear_tool_uses(sizes, trigger=1e9)
    assert by_request(clear_tool_uses(sizes, trigger=5.5 * result_size(sizes))) == {6: [2, 4, 6]}


def test_clear_tool_uses_can_ask_for_a_gain():
    """With a minimum gain it waits until so much can go."""
    sizes = steps(8)
    size = result_size(sizes)
    assert by_request(clear_tool_uses(sizes, trigger=3.5 * size, min_gain=2.5 * size)) == {6: [2, 4, 6]}


def test_a_compaction_begins_anew():
    """What is not sent any more does not count, and is not cleared."""
    sizes = steps(8, users=(3,), compact_before=(10,))
    assert by_request(clear_tool_uses(sizes, trigger=3.5 * result_size(sizes))) == {4: [2], 9: [12]}


def test_strikes_are_numbered_and_made_once():
    """By either of the two ways that have a name."""
    sizes = steps(60)
    for name, clear in BY_PROVIDER.items():
        strikes = clear(sizes)
        assert [strike.number for strike in strikes] == list(range(len(strikes))), name
        assert len({(strike.index, strike.at) for strike in strikes}) == len(strikes)
