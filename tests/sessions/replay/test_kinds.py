import pytest

from redline.rules.results import KINDS
from redline.sessions.replay.risk import KindRisk, Risk, kind_risks, kinds_in, seen_in, strikes_by_part, summed_kinds
from redline.values.messages import Text
from tests.sessions.replay.recorded import past_strike, recorded, step


def session():
    """A read in message 2, an edit in message 4."""
    turns = [("user", (Text("go"),)), *step(0, "Read", {"file_path": "/p/a.py"}, "print(1)")]
    turns += step(1, "Edit", {"file_path": "/p/a.py", "old_string": "1", "new_string": "2"}, "ok")
    return recorded([*turns, ("assistant", (Text("done"),))])


@pytest.mark.parametrize("is_whole", [True, False])
def test_a_strike_is_of_the_kind_of_its_result(is_whole):
    """Whether the result was struck or its whole message; each measure counts for itself."""
    made = session()
    read, edit = ((index, () if is_whole else made.load(index).parts[0].at) for index in (2, 4))
    strikes = [past_strike(index, 3, at=at) for index, at in (read, edit)]
    found = kind_risks(
        kinds_in(seen_in(made)),
        strikes_by_part(made, strikes),
        quoted=Risk(1, 1, missed=frozenset({read})),
        strict=Risk(2, 1, missed=frozenset({read, edit})),
    )
    assert found == {"file read": KindRisk(1, 1, 1), "edit": KindRisk(1, 0, 1)}


def test_what_is_no_result_is_of_another_kind():
    """A message of the user, and one with a call."""
    made = session()
    strikes = [past_strike(0, 3), past_strike(1, 3)]
    assert kind_risks(kinds_in(seen_in(made)), strikes_by_part(made, strikes), quoted=Risk(), strict=Risk()) == {
        "other": KindRisk(2)
    }


def test_a_strike_inside_a_result_is_of_the_kind_of_the_result():
    """Its words were shortened: the tool is the one that gave them."""
    made = session()
    read = made.load(2).parts[0]
    missed = Risk(1, 1, missed=frozenset({(2, read.at)}))
    by_part = strikes_by_part(made, [past_strike(2, 3, at=read.parts[0].at)])
    found = kind_risks(kinds_in(seen_in(made)), by_part, quoted=missed, strict=missed)
    assert found == {"file read": KindRisk(1, 1, 1)}


def test_kinds_add_up():
    """Every kind is there, if only with zeros."""
    sums = summed_kinds([{"edit": KindRisk(1, 0, 1)}, {"edit": KindRisk(2, 1, 1), "search": KindRisk(1)}])
    assert tuple(sums) == KINDS
    assert (sums["edit"], sums["search"], sums["terminal"]) == (KindRisk(3, 1, 2), KindRisk(1), KindRisk())
