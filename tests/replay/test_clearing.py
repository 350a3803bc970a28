from redline.replay.clearing import (
    clear_tool_uses,
    keep_last_messages,
    poll_observations,
    prune_like_opencode,
    reclear_every_time,
)
from redline.replay.marks import result_marks
from redline.values.messages import Text
from tests.replay.recorded import recorded, step

LONG = "word " * 1000


def steps(count, *, users=()):
    turns = [("user", (Text("go"),))]
    for number in range(count):
        turns += step(number, "Bash", {"command": f"make {number}"}, LONG)
        turns += [("assistant", (Text("well"),)), ("user", (Text("go on"),))] if number in users else []
    return recorded([*turns, ("assistant", (Text("done"),))])


def by_request(strikes):
    found = {}
    for strike in strikes:
        found.setdefault(strike.request, []).append(strike.position)
    return found


def test_clear_tool_uses_waits_for_its_trigger():
    """Below it nothing goes; above it all but the latest go, until the request is below it again."""
    session = steps(8)
    results = result_marks(session)
    size = results[0].saving
    assert not clear_tool_uses(session, results, trigger=1e9)
    assert by_request(clear_tool_uses(session, results, trigger=5.5 * size)) == {6: [2, 4, 6]}


def test_clear_tool_uses_can_ask_for_a_gain():
    """With a minimum gain it waits until so much can go."""
    session = steps(8)
    results = result_marks(session)
    size = results[0].saving
    found = by_request(clear_tool_uses(session, results, trigger=3.5 * size, min_gain=2.5 * size))
    assert found == {6: [2, 4, 6]}


def test_deciding_anew_clears_one_more_each_time():
    """Because what was cleared is forgotten, every request past the trigger rewrites."""
    session = steps(8)
    results = result_marks(session)
    found = by_request(reclear_every_time(session, results, trigger=5.5 * results[0].saving))
    assert found == {6: [2, 4, 6], 7: [8], 8: [10]}


def test_opencode_prunes_when_the_user_speaks():
    """Results before the last two turns go, without the newest, if enough is gained."""
    session = steps(9, users=(5, 7))
    results = result_marks(session)
    size = results[0].saving
    strikes = prune_like_opencode(session, results, protect=2.5 * size, min_gain=2.5 * size)
    assert [strike.position for strike in strikes] == [6, 4, 2]
    assert session.messages[session.requests[strikes[0].request].end - 1].text == "go on"
    assert not prune_like_opencode(session, results, protect=2.5 * size, min_gain=3.5 * size)


def test_polling_elides_several_at_a_time():
    """Observations beyond the last five go, five at once."""
    session = steps(12)
    assert by_request(poll_observations(session, result_marks(session))) == {10: [2, 4, 6, 8, 10]}


def test_a_sliding_window_drops_messages_from_the_front():
    """The first message stays, and as many of the last as it keeps."""
    session = steps(4)
    found = by_request(keep_last_messages(session, (), keep=4))
    assert found == {3: [1, 2], 4: [3, 4]}
