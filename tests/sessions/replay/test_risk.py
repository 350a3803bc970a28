import msgspec

from redline.record.blobs.whole_results import whole_name
from redline.sessions.replay import risk
from redline.sessions.replay.risk import Risk, uses_in
from redline.values.messages import Text
from tests.sessions.replay.recorded import past_strike, recorded, step

LINE = "the_answer = compute_everything(42)"
FILE = f"import os\n   7→    {LINE}\nprint(1)\n"


def session(*more):
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, FILE), *more]
    return recorded([*turns, ("assistant", (Text("done"),))])


def strike(made, request=2, **more):
    return past_strike(2, request, at=made.load(2).parts[0].at, **more)


def risk_of(made, *strikes):
    return risk.risk_of(made, uses_in(made), strikes)


def misses_of(made, *strikes):
    """By the number of a strike, the request that first used it, and the words."""
    found = risk.risk_of(made, uses_in(made), strikes).misses
    return {number: (use.request, use.words) for number, use in found.items()}


def test_quoting_a_struck_line_is_a_risk():
    """The agent edits a line that stood in the struck read and nowhere it still sees."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*step(2, "Bash", {"command": "ls"}, "a.py"), *edit)
    assert risk_of(made, strike(made)) == Risk(1, 1, ((2, 1),))


def test_what_is_still_visible_is_no_risk():
    """If the user had said the line too, the agent has it from there."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(("assistant", (Text("hm"),)), ("user", (Text(LINE),)), *edit)
    assert risk_of(made, strike(made)) == Risk()


def test_what_is_struck_after_its_use_is_no_risk():
    """A use counts only if the strike came before it."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*edit)
    assert risk_of(made, strike(made, request=2)) == Risk()
    assert risk_of(made, strike(made, request=1)) == Risk(1, 1, ((1, 1),))


def test_what_was_read_again_is_there_from_then_on():
    """Of two uses of one struck part only the first would have to be asked for; what the agent read again anyway, never."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*edit, ("assistant", (Text(LINE),)), ("user", (Text("again"),)))
    assert risk_of(made, strike(made, request=1)).rereads == ((1, 1),)
    again = session(*step(1, "Read", {"file_path": "/p/a.py"}, FILE), *step(2, "Bash", {"command": LINE}, "ok"))
    assert risk_of(again, strike(again, request=1)) == Risk(1, 1)


def test_reading_again_what_has_not_changed_is_a_risk():
    """The same read with the same result means that the first one was still wanted."""
    again = step(1, "Read", {"file_path": "/p/a.py"}, FILE)
    made = session(*again)
    assert risk_of(made, strike(made, request=1)) == Risk(1, 1)


def test_reading_again_what_has_changed_is_none():
    """A read that gives something else was needed anyway."""
    again = step(1, "Read", {"file_path": "/p/a.py"}, "print(2)\n")
    made = session(*again)
    assert risk_of(made, strike(made, request=1)) == Risk()


def test_dropping_a_message_counts_for_all_its_parts():
    """A strike without a part is one on the whole message."""
    again = step(1, "Read", {"file_path": "/p/a.py"}, FILE)
    made = session(*again)
    assert risk_of(made, past_strike(2, 1)) == Risk(1, 1)


def test_uses_come_in_the_order_in_which_they_were_said():
    """What is reckoned from them is the same in every run, whatever order a set of lines has."""
    lines = [f"line_{number} = compute_everything({number})" for number in range(12)]
    reads = [
        one for number, line in enumerate(lines) for one in step(number + 1, "Bash", {"command": f"sed -n {number}p"}, line)
    ]
    made = session(*reads, ("assistant", (Text("\n".join(lines[::-1])),)))
    quoted = [min(use.holders)[0] for use in uses_in(made) if use.request == len(made.requests) - 1]
    assert quoted == sorted(quoted, reverse=True)
    assert len(quoted) == len(lines)


def test_a_miss_names_the_strike_its_first_use_and_the_words():
    """Of two strikes the second was used, twice; a read that is asked for again is told by its call."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*edit, ("assistant", (Text(LINE),)), ("user", (Text("again"),)))
    unused = past_strike(0, 0, at=made.load(0).parts[0].at)
    assert misses_of(made, unused, strike(made, request=1, number=7)) == {7: (1, LINE)}
    again = session(*step(1, "Read", {"file_path": "/p/a.py"}, FILE))
    assert misses_of(again, strike(again, request=1)) == {0: (1, 'Read {"file_path":"/p/a.py"}')}


def test_a_strike_that_has_ended_takes_nothing_away():
    """From its end on the model sees its part again."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*step(2, "Bash", {"command": "ls"}, "a.py"), *edit)
    assert risk_of(made, strike(made, request=1, end=2)) == Risk()
    assert risk_of(made, strike(made, request=1, end=3)) == Risk(1, 1, ((2, 1),))


def test_a_part_that_is_struck_again_is_gone_again():
    """A strike was lifted and the part struck once more: what is used after that was taken away by the second one."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*step(2, "Bash", {"command": "ls"}, "a.py"), *step(3, "Bash", {"command": "ls"}, "a.py"), *edit)
    strikes = strike(made, request=1, end=2, number=3), strike(made, request=3, number=4)
    assert risk_of(made, *strikes) == Risk(1, 1, ((3, 1),))
    assert misses_of(made, *strikes) == {4: (3, LINE)}


def test_a_strike_inside_a_result_takes_the_result_away():
    """Its words are what was used."""
    edit = step(1, "Edit", {"file_path": "/p/a.py", "old_string": LINE, "new_string": "pass"}, "ok")
    made = session(*edit)
    inside = made.load(2).parts[0].parts[0].at
    assert len(inside) > len(made.load(2).parts[0].at)
    assert risk_of(made, past_strike(2, 1, at=inside)) == Risk(1, 1, ((1, 1),))


def test_of_a_long_line_only_the_beginning_is_kept():
    """What is shown beside a strike fits on a line."""
    line = "word_" * 1_000
    made = session(*step(1, "Bash", {"command": "cat b"}, line), ("assistant", (Text(line),)))
    assert [use.words for use in uses_in(made)] == [line[:200]]


def test_a_whole_result_that_is_read_back_was_needed():
    """The agent reads the file that the notice of a fold names: what was left out was used, whatever it then said."""
    whole = "building part after part\n" * 40
    path = f"/home/dev/.redline/whole/{whole_name(whole)}.txt"
    turns = [("user", (Text("go"),)), *step(0, "Bash", {"command": "make"}, whole)]
    for tool, arguments in (("Read", {"file_path": path}), ("Bash", {"command": f"sed -n 1,9p {path}"})):
        made = recorded([*turns, *step(1, tool, arguments, "one line"), ("assistant", (Text("done"),))])
        struck = past_strike(2, 1, at=made.load(2).parts[0].at)
        folded = msgspec.structs.replace(struck, replacement=f"[all of it: {path}]", is_fold=True)
        partly = msgspec.structs.replace(folded, is_partial=True)
        assert (risk_of(made, folded), risk_of(made, partly)) == (Risk(), Risk(1, 1))
        assert path in misses_of(made, partly)[0][1]
