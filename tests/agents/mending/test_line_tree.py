import json

import pytest

from redline import read_transcript
from redline.agents.mending import Fix, LineEdits, apply_splices
from redline.agents.mending.line_tree import LineTree, keep_at_end
from redline.agents.transcripts.source import Source, decode_line, index_lines
from tests.agents.mending.sessions import neovate_line, records_of, write

CHAIN = [
    {"uuid": "a", "parentUuid": None},
    {"uuid": "b", "parentUuid": "a"},
    {"uuid": "c", "parentUuid": "b"},
    {"uuid": "x", "parentUuid": "b"},
    {"leafUuid": "c"},
]


def open_tree(tmp_path, records, *, end=-1, relinks_all=False):
    """The tree of a file, no edits of it yet, and the positions of its lines."""
    source = Source(write(tmp_path, records))
    positions = [position for position, _ in index_lines(source, decode_line).records]
    return LineTree(source, end=positions[end], relinks_all=relinks_all), LineEdits(source), positions


@pytest.fixture
def file(tmp_path):
    return open_tree(tmp_path, CHAIN, end=2)


def remove(tree, edits, position):
    tree.remove(position)
    edits.remove(position, Fix("remove", ""))


def named(edits, positions):
    records = [decode_line(edits.read(position)) for position in positions if edits.stays(position)]
    return {record.get("uuid", "leaf"): record.get("parentUuid", record.get("leafUuid")) for record in records}


def line(uuid, parent, **fields):
    return {"uuid": uuid, "parentUuid": parent, **fields}


# --- what is read


def test_a_line_is_known_by_its_place(tmp_path):
    """Its id and its parent; a line without an id has an empty one."""
    tree, _, (config, first) = open_tree(tmp_path, [{"type": "config"}, line("a", "z")])
    assert (tree.uuid_of(config), tree.parent_of(config), tree.uuid_of(first), tree.parent_of(first)) == ("", None, "a", "z")


def test_the_parent_is_the_nearest_line_that_is_left(tmp_path):
    """The parent itself if it stays, else the first above it; none if all are removed; one that is not there stays named."""
    tree, _, (first, second, third, fourth) = open_tree(
        tmp_path, [line("a", None), line("b", "a"), line("c", "b"), line("d", "stranger")]
    )
    parents = [tree.parent_of(third)]
    for position in (second, first):
        tree.remove(position)
        parents.append(tree.parent_of(third))
    assert parents == ["b", "a", None]
    assert tree.parent_of(fourth) == "stranger"


def test_a_circle_ends_the_way_up(tmp_path):
    """Lines that are each other's parents are passed once."""
    tree, _, positions = open_tree(tmp_path, [line("a", "b"), line("b", "a")])
    assert [tree.parent_of(position) for position in positions] == ["b", "a"]
    for position in positions:
        tree.remove(position)
    assert [tree.parent_of(position) for position in positions] == [None, None]


def test_new_ids_are_made_from_what_they_are_for(tmp_path):
    """Equal every time, and never one that is there or was given before."""
    made = open_tree(tmp_path, [line("a", None)])[0].make_uuid("session", "call")
    again = open_tree(tmp_path, [line("a", None)])[0]
    assert again.make_uuid("session", "call") == made
    assert again.make_uuid("session", "call") != made
    assert open_tree(tmp_path, [line(made, None)])[0].make_uuid("session", "call") != made


# --- links


def test_whoever_named_a_removed_line_names_the_one_above(file):
    """Those on the path to the end, those on branches, and records beside the tree."""
    tree, edits, positions = file
    remove(tree, edits, positions[1])
    remove(tree, edits, positions[2])
    tree.write_links(edits)
    assert named(edits, positions) == {"a": None, "x": "a", "leaf": "a"}
    assert [fix.why for fix in edits.fixes[2:]] == ["parentUuid names line 1", "leafUuid names line 1"]


def test_all_fields_that_name_a_line_are_links(tmp_path):
    """Parents, the parents before a compaction, and the end of the conversation; one that is lost stays named."""
    records = [
        line("a", None, logicalParentUuid="z"),
        line("b", "a"),
        line("c", None, logicalParentUuid="b"),
        {"leafUuid": "b"},
    ]
    tree, edits, positions = open_tree(tmp_path, records, end=1)
    remove(tree, edits, positions[1])
    tree.write_links(edits)
    after = [decode_line(edits.read(position)) for position in positions]
    assert (after[0]["logicalParentUuid"], after[2]["logicalParentUuid"], after[3]["leafUuid"]) == ("z", "a", "a")


def test_a_line_comes_between_on_the_path_only(file):
    """What followed on the path follows the new line, also a second one after it; a branch is left alone."""
    tree, edits, positions = file
    assert tree.add("new", after="b", before=positions[0]) == "b"
    assert tree.add("newer", after="new", before=positions[0]) == "new"
    tree.write_links(edits)
    assert named(edits, positions) == {"a": None, "b": "a", "c": "newer", "x": "b", "leaf": "c"}
    assert [fix.why for fix in edits.fixes] == ["parentUuid names the line that is added"]


def test_the_end_follows_what_is_added_after_it(file):
    """A record that names the end of the conversation names its new end."""
    tree, edits, positions = file
    tree.add("new", after="c", before=positions[0])
    tree.write_links(edits)
    assert named(edits, positions)["leaf"] == "new"


def test_a_line_may_keep_its_parent(file):
    """A further line of the same message stays with it."""
    tree, edits, positions = file
    assert tree.keep(positions[2], keeps_parent=True) == "c"
    tree.add("new", after="b", before=positions[0])
    tree.write_links(edits)
    assert edits.fixes == []


def test_a_line_comes_before_the_first(file):
    """Also where that one names nobody."""
    tree, edits, positions = file
    assert tree.add("new", after=None, before=positions[0]) is None
    tree.write_links(edits)
    assert named(edits, positions)["a"] == "new"


def test_nothing_happens_without_reason(file):
    """Links that hold are not written."""
    tree, edits, positions = file
    assert [tree.keep(position) for position in positions[:3]] == ["a", "b", "c"]
    tree.write_links(edits)
    tree.edit_copies(edits)
    assert edits.changed == {}


def test_every_line_can_be_made_to_name_the_one_before(tmp_path):
    """The first names whom it named, a line that is right already is not touched, and one that is added is named too."""
    records = [line("a", "x"), line("b", "a"), {"uuid": None, "n": 1.50}]
    tree, edits, (first, second, third) = open_tree(tmp_path, records, relinks_all=True)
    assert (tree.keep(first), tree.keep(second)) == ("a", "b")
    assert tree.add("new", after=None, before=first) == "b"
    own = tree.keep(third)
    tree.write_links(edits)
    content = (tmp_path / "session.jsonl").read_bytes()
    after = apply_splices(edits.splices(), content)
    assert [fix.line for fix in edits.fixes] == [3]
    assert own not in ("", "a", "b", "new")
    assert records_of(after)[2] == {"uuid": own, "n": 1.5, "parentUuid": "new"}
    assert after.startswith(json.dumps(records[0]).encode())


# --- lines that were written twice


def test_copies_are_the_same_byte_for_byte(tmp_path):
    """What is done to a line is done to its copies; another line with the same id is none."""
    records = [line("z", None), line("a", "z"), line("a", "z"), line("a", "z", x=1)]
    tree, edits, positions = open_tree(tmp_path, records)
    remove(tree, edits, positions[1])
    tree.edit_copies(edits)
    assert [edits.stays(position) for position in positions] == [True, False, False, True]
    assert edits.fixes[-1] == Fix("remove", "it repeats line 2", 3)


def test_links_of_copies_change_with_the_line(tmp_path):
    """Never on their own, as they would be copies no more; a line that only has the same id is linked for itself."""
    records = [line("z", None), line("a", "z"), line("a", "z"), line("a", "z", x=1)]
    tree, edits, positions = open_tree(tmp_path, records)
    remove(tree, edits, positions[0])
    tree.write_links(edits)
    assert [fix.line for fix in edits.fixes[1:]] == [2, 4]
    tree.edit_copies(edits)
    assert edits.read(positions[2]) == edits.read(positions[1])


# --- the end of the file


def test_the_end_stays_the_end(tmp_path):
    """A line with a branch after it moves to the end of the file; one with none does not."""
    path = write(tmp_path, [neovate_line("1", None), neovate_line("x", "1"), neovate_line("2", "1")])
    (conversation,) = read_transcript(path)
    first, last = (entry.positions[0] for entry in conversation.entries)
    edits = LineEdits(Source(path))
    keep_at_end(last, conversation, edits=edits)
    assert edits.fixes == []
    keep_at_end(first, conversation, edits=edits)
    assert [(fix.action, fix.line) for fix in edits.fixes] == [("move", 1)]
