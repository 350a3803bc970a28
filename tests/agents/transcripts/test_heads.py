import msgspec
import pytest
from msgspec import Raw

from redline.agents.transcripts.document import fields_of, head_decoder, is_object


class Block(msgspec.Struct):
    kind: str | None = None
    held: Raw = Raw(b"{}")


class Said(msgspec.Struct):
    words: str | None = None
    size: int | None = None
    blocks: list[Block] | str | None = None


class Nest(msgspec.Struct):
    said: Said | None = None


class Head(msgspec.Struct):
    name: str | None = None
    size: int | None = None
    held: Raw = Raw(b"[]")


decode = head_decoder(Head)


def test_a_head_takes_its_fields_and_passes_over_the_rest():
    """Fields that the head does not name are skipped."""
    head = decode(b'{"name": "a", "other": {"deep": [1]}, "size": 2}')
    assert (head.name, head.size) == ("a", 2)


@pytest.mark.parametrize("odd", [b'"two"', rb'"\ud800"', b"[2]", b"null", b"1e99"])
def test_a_field_of_an_odd_type_is_left_out(odd):
    """One unexpected value does not cost the other fields."""
    head = decode(b'{"name": "a", "size": ' + odd + b', "held": [1, 2]}')
    assert (head.name, head.size, bytes(head.held)) == ("a", None, b"[1, 2]")


@pytest.mark.parametrize("odd", [rb'"\ud800"', b"NaN", b'"a\x01b"'])
def test_what_the_fast_parser_refuses_is_still_read(odd):
    """Lone surrogates, NaN and control characters leave the raw fields as the very bytes of the file."""
    line = b'{"name": "a", "odd": ' + odd + b', "held": [ 1,' + odd + b" ]}"
    head = decode(line)
    assert head.name == "a"
    assert bytes(head.held) == b"[ 1," + odd + b" ]"
    assert bytes(fields_of(line)["odd"]) == odd


@pytest.mark.parametrize("line", [b"[1]", b"7", b'{"name": '])
def test_what_is_no_object_is_a_value_error(line):
    """A list, a number and a torn line are refused with a reason, so that an index can list them."""
    with pytest.raises(ValueError, match=r"object|Expecting"):
        decode(line)


def test_only_objects_have_fields():
    """A list, a text and null have none."""
    assert [fields_of(held) for held in (b"[1]", b'"a"', b"null")] == [{}, {}, {}]
    assert [is_object(Raw(held)) for held in (b'{"a":1}', b"[1]", b"null")] == [True, False, False]


@pytest.mark.parametrize("odd", [b'"two"', rb'"\ud800"', b"NaN", b"[2]"])
def test_an_odd_value_inside_costs_only_itself(odd):
    """What is beside it in the same object stays, however deep that is."""
    nest = head_decoder(Nest)(b'{"said": {"words": "a", "size": ' + odd + b', "blocks": [{"kind": "text"}]}}')
    assert (nest.said.words, nest.said.size, [block.kind for block in nest.said.blocks]) == ("a", None, ["text"])


def test_an_odd_value_in_a_list_costs_only_its_item():
    """The others stay, and so does what is as expected in an object with an odd field; raw fields are the file's bytes."""
    blocks = b'[{"kind": 7, "held": { "a":1}}, 8, {"kind": "text"}]'
    nest = head_decoder(Nest)(b'{"said": {"blocks": ' + blocks + b"}}")
    assert [(block.kind, bytes(block.held)) for block in nest.said.blocks] == [(None, b'{ "a":1}'), ("text", b"{}")]


def test_what_is_no_object_has_no_fields():
    """Also where only the standard parser can tell: half an emoji is a text (R61)."""
    assert fields_of(b'"\\ud83d"') == {}
    assert fields_of(b"[NaN]") == {}
