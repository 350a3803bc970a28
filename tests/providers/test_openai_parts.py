import json

import pytest

from redline.providers.openai_parts import (
    arguments_text,
    call_flaws,
    data_url,
    file_fields,
    input_as_held,
    input_as_text,
    is_failure,
    media_from_url,
    read_audio,
    read_content,
    read_file,
    read_words,
    with_ids,
)
from redline.values.messages import Media, Opaque, Text, ToolCall, ToolResult


def test_content_is_a_string_a_list_or_nothing():
    """All three are read; anything else is carried as it is."""
    assert read_content({"content": "hi"}, "content", read_words) == (Text("hi", ("content",)),)
    assert read_content({"content": None}, "content", read_words) == ()
    assert read_content({"content": [{"type": "text", "text": "hi"}]}, "content", read_words) == (Text("hi", ("content", 0)),)
    assert isinstance(read_content({"content": 7}, "content", read_words)[0], Opaque)


def test_media_by_url_file_and_sound():
    """Data URLs, files by content, URL or id, and recorded speech become media."""
    assert media_from_url("data:image/png;base64,QUJD", "image/*", ()) == Media("image/png", "QUJD", "base64", ())
    assert media_from_url("https://example.com/a.png", "image/*", ()) == Media(
        "image/*", "https://example.com/a.png", "url", ()
    )
    assert read_file({"file_id": "f1"}, ()) == Media("application/*", "f1", "file", ())
    assert read_file({}, ()) is None
    assert read_audio({"input_audio": {"data": "QUJD", "format": "wav"}}, ()) == Media("audio/wav", "QUJD", "base64", ())


def test_failure_is_told_by_the_first_word():
    """The wire has no field for it."""
    assert is_failure([Text("  Error: no file")])
    assert not is_failure([Text("no Error: here")])


@pytest.mark.parametrize(("held", "expected"), [('{"a":1}', '{"b":2}'), ({"a": 1}, {"b": 2})])
def test_new_input_is_held_as_the_old_one_was(held, expected):
    """An object stays an object, JSON text stays text."""
    assert input_as_held(held, {"b": 2}) == expected


def test_missing_ids_are_made_up_alike_for_call_and_result():
    """The nth call of a tool without an id and its nth result get the same one."""
    parts = [ToolCall(None, "read"), ToolCall(None, "read"), ToolResult(None, (), "read"), ToolResult(None, (), "read")]
    first, second, third, fourth = with_ids(parts)
    assert (first.id, second.id) == (third.call_id, fourth.call_id)
    assert first.id != second.id


@pytest.mark.parametrize("given_input", ['{"a": 1}', {"a": 1}, "", None, "free text", [1]])
def test_arguments_are_the_text_of_an_object(given_input):
    """Whatever the input was, the provider gets an object."""
    assert isinstance(json.loads(arguments_text(ToolCall("c", "read", given_input))), dict)


def test_names_and_types_of_media():
    """A data URL names its type; a document needs a name."""
    picture = Media("image/png", "QUJD")
    assert data_url(picture) == "data:image/png;base64,QUJD"
    pdf = {"file_data": "data:application/pdf;base64,QUJD", "filename": "file.pdf"}
    assert file_fields(Media("application/pdf", "QUJD")) == pdf


@pytest.mark.parametrize(
    ("held", "wanted"), [({"a": 1}, '{"a":1}'), ("ls", "ls"), ("{", "{"), (None, "{}"), (7, '{"input":7}')]
)
def test_input_as_text(held, wanted):
    """Text stays as it is, well formed or not."""
    assert input_as_text(held) == wanted


@pytest.mark.parametrize(
    ("name", "accepted"), [("read", None), ("a b", "a_b"), ("x" * 9, "x" * 8), ("", "tool"), (None, "tool"), (7, "tool")]
)
def test_names_of_calls(name, accepted):
    """Letters, digits, underscores and hyphens, and not too many of them."""
    flaws = list(call_flaws({"name": name, "arguments": "{}"}, "arguments", ("function",), longest_name=8))
    assert [(flaw.path, flaw.replacement) for flaw in flaws] == ([] if accepted is None else [(("function", "name"), accepted)])
