import pytest

from redline.mending.family import Family
from redline.mending.fixes import Fix
from redline.mending.line_edits import LineEdits
from redline.mending.links import Links
from redline.transcripts.source import Source, decode_line, index_lines
from tests.mending.sessions import write

CHAIN = [
    {"uuid": "a", "parentUuid": None},
    {"uuid": "b", "parentUuid": "a"},
    {"uuid": "c", "parentUuid": "b"},
    {"uuid": "x", "parentUuid": "b"},
    {"leafUuid": "c"},
]


@pytest.fixture
def file(tmp_path):
    source = Source(write(tmp_path, CHAIN))
    positions = [position for position, _ in index_lines(source, decode_line).records]
    return Links(Family(source), positions[2]), LineEdits(source), positions


def named(edits, positions):
    records = [decode_line(edits.read(position)) for position in positions if edits.stays(position)]
    return {record.get("uuid", "leaf"): record.get("parentUuid", record.get("leafUuid")) for record in records}


def test_whoever_named_a_line_that_goes_names_the_one_above(file):
    """Those on the way to the end, those on branches, and records beside the tree."""
    links, edits, positions = file
    links.drop(positions[1])
    links.drop(positions[2])
    edits.remove(positions[1], Fix("remove", ""))
    edits.remove(positions[2], Fix("remove", ""))
    links.write(edits)
    assert named(edits, positions) == {"a": None, "x": "a", "leaf": "a"}
    assert [fix.why for fix in edits.fixes[2:]] == ["parentUuid names line 1", "leafUuid names line 1"]


def test_a_line_comes_between_on_the_way_only(file):
    """What followed on the way follows the new line, also a second one behind it; a branch is left alone."""
    links, edits, positions = file
    links.put_behind("b", "new")
    links.put_behind("new", "newer")
    links.write(edits)
    assert named(edits, positions) == {"a": None, "b": "a", "c": "newer", "x": "b", "leaf": "c"}
    assert [fix.why for fix in edits.fixes] == ["parentUuid names the line that is added"]


def test_the_end_follows_what_comes_behind_it(file):
    """A record that names the end of the conversation names its new end."""
    links, edits, positions = file
    links.put_behind("c", "new")
    links.write(edits)
    assert named(edits, positions)["leaf"] == "new"


def test_a_bound_line_keeps_its_parent(file):
    """A further line of the same message stays with it."""
    links, edits, positions = file
    links.bind([positions[2]])
    links.put_behind("b", "new")
    links.write(edits)
    assert edits.fixes == []


def test_a_line_comes_before_the_first(file):
    """Also where that one names nobody."""
    links, edits, positions = file
    links.put_before(positions[0], "new")
    links.write(edits)
    assert named(edits, positions)["a"] == "new"


def test_nothing_happens_without_reason(file):
    """Links that hold are not written."""
    links, edits, _ = file
    links.write(edits)
    assert (edits.changed, links.nearest(None), links.nearest("c")) == ({}, None, "c")
