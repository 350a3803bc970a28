"""Payloads are changed where they are told to be and nowhere else, as objects and as bytes alike."""

import copy
import json
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import redline
from redline.errors import ValidationError
from redline.values import payloads
from redline.values.payloads import Path

any_text = st.text(st.characters(), max_size=6)
"""Also lone surrogates and control characters."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**40), 2**40),
    st.sampled_from([0, 100, -1500, 2**63, 2**64, 2**70, -(2**70), 0.5, -0.0, 1e300]),
    any_text,
)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(any_text, inner, max_size=2),
    max_leaves=4,
)
json_objects = st.dictionaries(any_text, json_values, max_size=3)
unknown_keys = st.dictionaries(any_text.map(lambda name: f"x-{name}"), json_values, max_size=1)
"""Fields that no format knows, to be put beside those it does."""


def spell(value: Any, random: Random) -> str:
    """The value as JSON nobody would write: spaces, escapes, duplicate keys, numbers like 1E2."""
    gap = random.choice(["", " ", "\r\n\t"])
    match value:
        case dict():
            members = [_spell_member(key, held, random) for key, held in value.items()]
            return f"{{{gap}{f'{gap},'.join(members)}{gap}}}"
        case list():
            return f"[{gap}{f',{gap}'.join(spell(item, random) for item in value)}{gap}]"
        case int() if not isinstance(value, bool) and value and value % 100 == 0 and abs(value) < 2**50:
            return f"{value // 100}E2"
        case _:
            return json.dumps(value, ensure_ascii=not _is_unicode(value) or random.random() < 0.5)


def spell_bytes(value: Any, random: Random) -> bytes:
    """That payload as a line of a file might have it."""
    return spell(value, random).encode()


def _spell_member(key: str, held: Any, random: Random) -> str:
    name, gap = spell(key, random), random.choice(["", " "])
    overridden = f'{name}:{{"old":[1E2]}},' if random.random() < 0.2 else ""
    return f"{overridden}{name}{gap}:{gap}{spell(held, random)}"


def _is_unicode(value: object) -> bool:
    return not isinstance(value, str) or not any("\ud800" <= letter <= "\udfff" for letter in value)


def paths_in(value: Any) -> list[Path]:
    """Every place in a value, itself aside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path for key, held in inside for path in ((key,), *((key, *deeper) for deeper in paths_in(held)))]


random_sources = st.randoms(use_true_random=False)
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For properties over whole messages, on a machine that has other things to do."""
non_empty_objects = json_objects.filter(bool)


# --- decoding and encoding


@patient
@given(json_values, random_sources)
def test_any_spelling_decodes_to_the_value(value: Any, random: Random) -> None:
    """Spaces, escapes, number spelling and duplicate keys do not matter; of duplicates the last counts."""
    assert payloads.decode(spell_bytes(value, random)) == value


@patient
@given(json_values)
def test_encoding_decodes_to_the_value(value: Any) -> None:
    """What is encoded comes back equal, big numbers and lone surrogates too."""
    assert payloads.decode(payloads.encode(value)) == value


def test_an_object_is_decoded_as_itself() -> None:
    """An object is not copied."""
    native = {"role": "user"}
    assert payloads.decode(native) is native


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        (b'{"a":"tab\there"}', {"a": "tab\there"}),
        (b'{"a":"\xff"}', {"a": "\udcff"}),
        (b'{"a":"\\ud800"}', {"a": "\ud800"}),
        (b'{"a":1e999}', {"a": float("inf")}),
    ],
    ids=["bom", "control character", "not UTF-8", "lone surrogate", "number out of range"],
)
def test_what_a_strict_parser_refuses_is_decoded(raw: bytes, value: object) -> None:
    """Real files hold such things, and a session must not be lost over them."""
    assert payloads.decode(raw) == value


def test_what_is_not_json_is_a_value_error() -> None:
    """The reader of a file reports such a line instead of stopping."""
    with pytest.raises(ValueError, match="Expecting"):
        payloads.decode(b'{"a":')


def test_bytes_inside_an_object_are_encoded_as_base64() -> None:
    """The Python SDKs hold pictures and signatures as bytes, beside text of any kind."""
    assert payloads.encode({"data": b"\xff\x00"}) == b'{"data":"/wA="}'
    assert payloads.encode({"data": b"\xff\x00", "text": "\ud800"}) == b'{"data":"/wA=","text":"\\ud800"}'


def test_what_is_no_json_value_is_refused() -> None:
    """Nothing is turned into JSON by guessing."""
    with pytest.raises(TypeError):
        payloads.encode({"path": object()})


@patient
@given(json_objects, random_sources)
def test_canonical_json_is_the_same_for_the_same_value(value: dict[str, Any], random: Random) -> None:
    """The order of keys does not matter."""
    shuffled = list(value.items())
    random.shuffle(shuffled)
    assert payloads.canonical(dict(shuffled)) == payloads.canonical(value)


# --- replacing


@patient
@given(non_empty_objects, json_values, random_sources, st.data())
def test_replacing_in_bytes_and_in_objects_agrees(
    native: dict[str, Any], value: Any, random: Random, data: st.DataObject
) -> None:
    """The changed bytes decode to the changed object."""
    path = data.draw(st.sampled_from(paths_in(native)))
    changed = payloads.replace(spell_bytes(native, random), path, value)
    assert payloads.decode(changed) == payloads.replace(native, path, value)
    assert payloads.value_at(payloads.decode(changed), path) == value


@patient
@given(json_objects, json_values, random_sources)
def test_a_new_key_is_added_in_bytes_as_in_objects(native: dict[str, Any], value: Any, random: Random) -> None:
    """A key that is not there comes last, and what was there stays byte for byte."""
    raw = spell_bytes(native, random)
    changed = payloads.replace(raw, ("new key",), value)
    assert payloads.decode(changed) == {**native, "new key": value}
    assert isinstance(changed, bytes)
    assert changed.startswith(raw[:-1])


@patient
@given(json_values, json_values, json_values, random_sources)
def test_bytes_outside_the_place_named_are_verbatim(before: Any, inner: Any, value: Any, random: Random) -> None:
    """Spacing, escapes, duplicates and number spelling around the place stay as they are."""
    head = b' { "n" :1E2,"n": 1.50, "content" : [ ' + spell_bytes(before, random) + b" ,\n"
    tail = b'\t, {"\\u0061":"\\/"} ] ,"last":\t-0.0 } \n'
    changed = payloads.replace(head + spell_bytes(inner, random) + tail, ("content", 1), value)
    assert changed == head + payloads.encode(value) + tail


def test_bytes_that_are_not_utf8_survive_a_change_elsewhere() -> None:
    """What no parser understands is carried."""
    raw = b'\xef\xbb\xbf{"a":"\xff\xed\xa0\x80","b":1}'
    assert payloads.replace(raw, ("b",), 2) == b'\xef\xbb\xbf{"a":"\xff\xed\xa0\x80","b":2}'


@patient
@given(non_empty_objects, st.data())
def test_replacing_leaves_the_object_alone(native: dict[str, Any], data: st.DataObject) -> None:
    """The input compares equal afterwards, and what was not touched is shared, not copied."""
    original = copy.deepcopy(native)
    path = data.draw(st.sampled_from(paths_in(native)))
    changed = payloads.replace(native, path, "other")
    assert native == original
    assert all(changed[key] is native[key] for key in native if key != path[0])  # type: ignore[index]


# --- removing


@patient
@given(non_empty_objects, random_sources, st.data())
def test_removing_from_bytes_and_from_objects_agrees(native: dict[str, Any], random: Random, data: st.DataObject) -> None:
    """Several places at once, one inside another, or one named twice: both sides come to the same."""
    paths = data.draw(st.lists(st.sampled_from(paths_in(native)), max_size=4))
    original = copy.deepcopy(native)
    removed = payloads.remove(native, paths)
    assert payloads.decode(payloads.remove(spell_bytes(native, random), paths)) == removed
    assert native == original


@patient
@given(st.lists(scalars, min_size=1, max_size=6), st.data())
def test_removing_list_items_keeps_the_others_in_order(items: list[Any], data: st.DataObject) -> None:
    """Removing one item does not shift the next one to be removed."""
    gone = data.draw(st.sets(st.sampled_from(range(len(items)))))
    kept = [item for number, item in enumerate(items) if number not in gone]
    assert payloads.remove({"a": items}, [("a", number) for number in gone]) == {"a": kept}


@pytest.mark.parametrize(
    ("path", "after"),
    [
        (("a", 0), b'{ "a" : [ 2E0 , 3 ] , "b":null}'),
        (("a", 1), b'{ "a" : [ 1, 3 ] , "b":null}'),
        (("a", 2), b'{ "a" : [ 1, 2E0 ] , "b":null}'),
        (("a",), b'{ "b":null}'),
        (("b",), b'{ "a" : [ 1, 2E0 , 3 ]}'),
    ],
    ids=["first", "middle", "last", "first key", "last key"],
)
def test_a_removed_member_takes_one_comma_with_it(path: Path, after: bytes) -> None:
    """What is left is JSON, and its bytes are as they were."""
    assert payloads.remove(b'{ "a" : [ 1, 2E0 , 3 ] , "b":null}', [path]) == after


def test_a_duplicated_key_is_removed_entirely() -> None:
    """Or the value that was overridden would come back to life."""
    assert payloads.remove(b'{"a":1,"b":2,"a":3}', [("a",)]) == b'{"b":2}'


def test_removing_nothing_gives_the_same_payload() -> None:
    """Nothing to do, nothing done."""
    native, raw = {"a": 1}, b'{"a": 1}'
    assert payloads.remove(native, []) is native
    assert payloads.remove(raw, []) is raw


# --- what is meant to hurt


def nested(depth: int) -> bytes:
    return b"[" * depth + b"1" + b"]" * depth


@pytest.mark.parametrize("depth", [payloads.MAX_DEPTH - 1, payloads.MAX_DEPTH, 1_000, 100_000])
def test_what_lies_too_deep_is_words(depth: int) -> None:
    """A value is never nested deeper than the limit; what is below is its own JSON (R61)."""
    value = payloads.decode(b'{"a":%s,"b":"]}[{"}' % nested(depth))
    inner, levels = value["a"], 1
    while isinstance(inner, list):
        (inner,) = inner
        levels += 1
    hidden = depth + 1 - levels
    assert levels == min(depth + 1, payloads.MAX_DEPTH)
    assert inner == (nested(hidden).decode() if hidden else 1)
    assert value["b"] == "]}[{"
    assert payloads.decode_text(nested(depth).decode()) == payloads.decode(nested(depth))


def test_deep_bytes_are_changed_beside_the_depth() -> None:
    """A field is exchanged, added or taken out of bytes that no parser would nest (R61)."""
    payload = b'{"a":%s, "b":2}' % nested(50_000)
    assert payloads.replace(payload, ("b",), 3) == b'{"a":%s, "b":3}' % nested(50_000)
    assert payloads.replace(payload, ("c",), 3) == b'{"a":%s, "b":2,"c":3}' % nested(50_000)
    assert payloads.remove(payload, [("a",)]) == b'{"b":2}'


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"a":' * 5_000 + b'"' + b'\\"' * 50_000, b"[" * 300 + b"x" * 200_000])
def test_torn_depth_is_refused_at_once(text: bytes) -> None:
    """As a ValueError, like anything that is not JSON, and without trying every place again (R61)."""
    with pytest.raises(ValueError, match=r"nested|Expecting|Unterminated"):
        payloads.decode(text)


def test_a_number_of_thousands_of_digits_stays_as_it_is_written() -> None:
    """Python does not convert it, and the rest of the payload is read (R61)."""
    assert payloads.decode(b'{"n":%s,"m":1}' % (b"9" * 5000)) == {"n": "9" * 5000, "m": 1}


def list_of_depth(depth):
    """A list in a list in a list."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("value", [10**5000, list_of_depth(3_000)], ids=["digits", "depth"])
def test_what_cannot_be_written_is_a_documented_error(value):
    """A number of thousands of digits, or a value nested beyond any reader, is a ValidationError in everything (R61)."""
    said = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x", "input": {"a": value}}]}
    with pytest.raises(ValidationError, match="cannot be written as JSON"):
        redline.Conversation(format="anthropic").add(said)
    with pytest.raises(ValidationError, match="cannot be written as JSON"):
        redline.convert([{"role": "user", "content": "Go."}, said], source="anthropic", target="openai_chat")
