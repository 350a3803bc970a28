from redline.mending.family import Family
from redline.transcripts.base import Position
from redline.transcripts.source import Source
from tests.mending.sessions import as_lines, write


def family(tmp_path, *records):
    return Family(Source(write(tmp_path, list(records))))


def line(uuid, parent, **fields):
    return {"uuid": uuid, "parentUuid": parent, **fields}


def test_the_nearest_that_is_left(tmp_path):
    """The line itself if it stays, else the first above it; none if all are gone; a stranger is named as before."""
    kin = family(tmp_path, line("a", None), line("b", "a"), line("c", "b"))
    assert [kin.nearest("c", gone) for gone in (set(), {"c"}, {"b", "c"}, {"a", "b", "c"})] == ["c", "b", "a", None]
    assert kin.nearest("stranger", {"c"}) == "stranger"


def test_a_circle_ends_the_way_up(tmp_path):
    """Lines that are each other's parents are passed once."""
    kin = family(tmp_path, line("a", "b"), line("b", "a"))
    assert (list(kin.way_up("b")), kin.nearest("b", {"a", "b"})) == (["b", "a"], None)


def test_links_are_all_fields_that_name_a_line(tmp_path):
    """Parents, the parents before a compaction, and the end of the conversation."""
    kin = family(tmp_path, line("a", None, logicalParentUuid="z"), line("b", "a"), {"type": "last-prompt", "leafUuid": "b"})
    assert [(field, named) for _, field, named in kin.links()] == [
        ("logicalParentUuid", "z"),
        ("parentUuid", "a"),
        ("leafUuid", "b"),
    ]


def test_twins_are_the_same_byte_for_byte(tmp_path):
    """Another line with the same id is none, and a twin names nobody."""
    records = [line("a", "z"), line("a", "z"), line("a", "z", x=1)]
    length = len(as_lines(records[:1]))
    kin = family(tmp_path, *records)
    first, twin = Position(0, length - 1, 1), Position(length, length - 1, 2)
    assert (kin.twins(first), kin.twins(twin)) == ([twin], [])
    assert [position.line for position, _, _ in kin.links()] == [1, 3]


def test_new_ids_are_made_from_what_they_are_for(tmp_path):
    """The same every time, and never one that is there or was given before."""
    fresh = family(tmp_path, line("a", None)).fresh_uuid("session", "call")
    again = family(tmp_path, line("a", None))
    assert again.fresh_uuid("session", "call") == fresh
    assert again.fresh_uuid("session", "call") != fresh
    assert family(tmp_path, line(fresh, None)).fresh_uuid("session", "call") != fresh


def test_a_line_is_known_by_its_place(tmp_path):
    """Its id, its parent and its number; a line without an id has an empty one."""
    kin = family(tmp_path, {"type": "config"}, line("a", "z"))
    config = Position(0, len(as_lines([{"type": "config"}])) - 1, 1)
    assert (kin.uuid_of(config), kin.parent_of(config), kin.line_of("a"), kin.line_of("b")) == ("", None, 2, None)
