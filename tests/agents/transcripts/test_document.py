import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from redline.agents.transcripts import Position
from redline.agents.transcripts.document import head_decoder, in_file, items_of, open_document, parse_document, parse_line
from redline.agents.transcripts.source import Source
from redline.errors import TranscriptError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_infinity=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=12,
)
SPACING = st.sampled_from((None, 1, "\t"))


def opened(tmp_path, content):
    path = tmp_path / "session.json"
    path.write_bytes(content)
    return open_document(Source(path))


def raw_texts(held):
    return [bytes(item).decode() for item in held]


def test_the_top_level_of_an_object_is_its_fields(tmp_path):
    """An object gives its fields as raw JSON."""
    document = opened(tmp_path, b' {"a": [1, 2], "b": "c"}\n')
    assert {name: bytes(held) for name, held in document.fields.items()} == {"a": b"[1, 2]", "b": b'"c"'}


def test_the_top_level_of_a_list_is_its_items(tmp_path):
    """A list gives its items as raw JSON and has no fields."""
    document = opened(tmp_path, b'[1, {"a": 2}]')
    assert (raw_texts(document.value), document.fields) == (["1", '{"a": 2}'], {})


def test_positions_lead_back_to_the_items(tmp_path):
    """The bytes at each position are the item, also for equal items, lists in the list, and any spacing."""
    content = b'{"x": [[1], [1]], "messages" : [ [1] , [1],[[1]],\n "a" ]}'
    document = opened(tmp_path, content)
    located = document.positions_of(document.fields["messages"])
    assert [position.offset for position, _ in located] == [33, 39, 43, 51]
    assert [content[p.offset : p.offset + p.length].decode() for p, _ in located] == ["[1]", "[1]", "[[1]]", '"a"']


def test_whole_stands_for_a_list_at_the_top(tmp_path):
    """A file that is a list, even after a byte order mark and spaces, has positions too."""
    document = opened(tmp_path, b"\xef\xbb\xbf\n [1, 22]")
    assert [(p.offset, p.length) for p, _ in document.positions_of(document.whole)] == [(6, 1), (9, 2)]


def test_equal_lists_are_told_apart_by_the_record_they_are_in(tmp_path):
    """With `within`, the list of the second record is found there and not in the first."""
    document = opened(tmp_path, b'[{"m": [7]}, {"m": [7]}]')
    second, held = document.positions_of(document.whole)[1]
    inner = parse_document(bytes(held), "record").fields["m"]
    assert [p.offset for p, _ in document.positions_of(inner, within=second)] == [20]


def test_a_long_list_is_not_confused_with_one_that_begins_alike(tmp_path):
    """Two lists that agree for thousands of bytes are still two places."""
    alike = [{"text": "x" * 3000}]
    document = opened(tmp_path, json.dumps({"a": [*alike, 1], "b": [*alike, 2]}).encode())
    (_, last) = document.positions_of(document.fields["b"])[1]
    assert bytes(last) == b"2"
    assert document.positions_of(document.fields["b"])[0][0].offset > 3000


def test_a_list_from_elsewhere_is_refused(tmp_path):
    """Asking for the positions of a list that is not in the document is a mistake that is said."""
    stranger = parse_document(b'{"a": [99]}', "other").fields["a"]
    with pytest.raises(ValueError, match="not of this document"):
        opened(tmp_path, b'{"a": [1]}').positions_of(stranger)


def test_what_is_no_list_has_no_items(tmp_path):
    """A missing field, an object and a text have no items."""
    document = opened(tmp_path, b'{"a": {"b": 1}, "t": "[1]"}')
    assert [document.positions_of(held) for held in (None, *document.fields.values())] == [[], [], []]


def test_text_fields(tmp_path):
    """A field that is text is decoded; any other, or none, is None."""
    document = opened(tmp_path, b'{"id": "s\\u00e9", "n": 5}')
    assert [document.text_of(name) for name in ("id", "n", "none")] == ["sé", None, None]


def test_what_the_fast_parser_refuses_is_read_all_the_same(tmp_path):
    """NaN, lone surrogates and control characters do not stop the reading, and positions stay exact."""
    content = '{"é": 1, "a": [NaN, "\\ud800", "\x01", {"k": "é"}]}'.encode()
    document = opened(tmp_path, content)
    located = document.positions_of(document.fields["a"])
    assert raw_texts(item for _, item in located) == ["NaN", '"\\ud800"', '"\x01"', '{"k": "é"}']
    assert all(content[p.offset : p.offset + p.length] == bytes(item) for p, item in located)
    assert list(document.fields) == ["é", "a"]


@given(JSON, SPACING, st.booleans())
def test_every_document_splits_into_what_it_holds(value, indent, escaped):
    """Whatever the values and the spacing, the pieces are those of the document and are where they say."""
    content = json.dumps({"list": [value, value]}, indent=indent, ensure_ascii=escaped).encode("utf-8", "surrogatepass")
    document = parse_document(content, "any.json")
    for position, item in document.positions_of(document.fields["list"]):
        assert content[position.offset : position.offset + position.length] == bytes(item)
        again = json.loads(bytes(item).decode("utf-8", "surrogatepass"))
        assert json.dumps(again) == json.dumps(value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b'{"a": [1,\n "\xc3\xa9" x', "line 2, column 6"),
        (b'{"a": 1} {"b": 2}', "line 1, column 10"),
        (b'{"messages": [{"role": "us', "line 1, column 24"),
        (b"42", "single number"),
        (b"[" * 100_000, "nested more than 200 deep"),
    ],
)
def test_a_file_that_is_no_document_says_where_and_why(tmp_path, content, said):
    """Torn, invalid or unfit content is a TranscriptError that names the file and the place."""
    with pytest.raises(TranscriptError, match=r"session\.json") as problem:
        opened(tmp_path, content)
    assert said in str(problem.value)


def test_members_of_an_archive_carry_its_name():
    """Positions in a member name it, and so do errors."""
    document = parse_document(b"[1]", "log.eval", member="samples/1.json")
    assert document.positions_of(document.whole)[0][0] == Position(1, 1, member="samples/1.json")
    with pytest.raises(TranscriptError, match=r"samples/1\.json in log\.eval"):
        parse_document(b"[1", "log.eval", member="samples/1.json")


def test_items_that_are_no_records_are_reported_with_their_place(tmp_path):
    """One bad item costs itself only: it is listed with line and column, the others are indexed."""

    class Head(msgspec.Struct):
        id: str | None = None

    document = opened(tmp_path, b'{"messages": [{"id": "a"},\n "\xc3\xa9", 5, {"id": "b"}]}')
    index = document.index_items(document.fields["messages"], head_decoder(Head))
    assert [head.id for _, head in index.records] == ["a", "b"]
    assert [(problem.line, problem.column) for problem in index.problems] == [(2, 2), (2, 7)]
    assert "must be a JSON object" in index.problems[0].reason


def test_only_lists_have_items():
    """An object, a number and what only the standard parser takes have none."""
    assert [bytes(item) for item in items_of(Raw(b"[ 1, NaN]"))] == [b"1", b"NaN"]
    assert [items_of(Raw(held)) for held in (b'{"a":1}', b"7", b"NaN")] == [[], [], []]


def test_positions_count_from_the_line_and_can_be_placed_in_the_file():
    """What is in a line is found again in the file through the line's own position."""
    before, line = b'{"n": 1}\n', b'{"items": [{"a": 1}, {"b": 2}]}'
    document = parse_line(line)
    found = [in_file(at, Position(len(before), len(line), 2)) for at, _ in document.positions_of(document.fields["items"])]
    assert [(before + line)[at.offset : at.offset + at.length] for at in found] == [b'{"a": 1}', b'{"b": 2}']
    assert {at.line for at in found} == {2}


@pytest.mark.parametrize("line", [b'{"torn": ', b"[1]", b"7", b""])
def test_a_line_that_is_no_object_is_a_value_error(line):
    """It can then be listed among the bad lines of a file."""
    with pytest.raises(ValueError, match=r"\w"):
        parse_line(line)
