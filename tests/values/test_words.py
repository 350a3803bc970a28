"""The words that Redline puts into a request."""

import dataclasses
from dataclasses import fields

import pytest

from redline.errors import ValidationError
from redline.values.words import DOCUMENTS, EN, REFERENCE, TEMPLATE_FIELDS, Words, check_template, is_placeholder

NOT_PLACEHOLDERS = ("cut", "interrupted", "not_shown", "tools_heading", "run_again", "read_again", "search_again", "call_again")
PLACEHOLDERS = [field.name for field in fields(Words) if field.name not in NOT_PLACEHOLDERS]
OWN = dataclasses.replace(EN, **{name: f"~{getattr(EN, name)}" for name in PLACEHOLDERS})


def filled(words: Words, name: str) -> str:
    return getattr(words, name).format(**dict.fromkeys(TEMPLATE_FIELDS.get(name, ()), "x"))


def test_the_documents_words_are_to_the_letter():
    """Those that the documents spell out."""
    assert DOCUMENTS.stale_terminal == "此命令返回内容已过时"
    assert DOCUMENTS.historical_read == "[该文件的历史读取内容已压缩,请参看最新读取结果]"
    assert DOCUMENTS.tools_heading == "可用工具:"
    assert REFERENCE.format(name="a.md") == "[Content offloaded to: ./a.md]"


@pytest.mark.parametrize("setting", [DOCUMENTS, EN, OWN])
@pytest.mark.parametrize("words", [DOCUMENTS, EN])
@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_every_placeholder_is_recognised_whichever_words_are_set(setting, words, name):
    """Filled in or whole, in any language that comes with Redline (R33)."""
    assert is_placeholder(filled(words, name), setting)


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_words_of_ones_own_are_recognised_where_they_are_set(name):
    """And nowhere else (R33)."""
    assert is_placeholder(filled(OWN, name), OWN)
    assert not is_placeholder(filled(OWN, name))


@pytest.mark.parametrize("text", ["", "x", f"{DOCUMENTS.stale_terminal} and more", f"see {EN.old_image}"])
def test_other_words_are_none(text):
    """A text that merely holds a placeholder is a text."""
    assert not is_placeholder(text)


def test_a_template_that_begins_with_a_field_makes_nothing_a_placeholder():
    """It has no beginning to be known by; braces that are escaped belong to the text."""
    assert not is_placeholder("any text", dataclasses.replace(EN, old_image="{size} of {media_type} removed"))
    assert is_placeholder("{1 kB}", dataclasses.replace(EN, old_image="{{{size}}}"))


@pytest.mark.parametrize("template", ["{other}", "{", "{0}", "{name.x}"])
def test_a_template_with_other_fields_is_refused(template):
    """The error names the owner and the fields there are, of which not all need be used."""
    with pytest.raises(ValidationError, match=r"rule: .*\{name\}"):
        check_template(template, "rule", "name")
    check_template("{name} and braces {{}}", "rule", "name", "size")


@pytest.mark.parametrize(
    ("name", "text"), [("not_shown", ""), ("interrupted", "  "), ("stale_terminal", None), ("cut", "{other}"), ("old_image", 5)]
)
def test_words_are_checked_when_they_are_made(name, text):
    """Blank ones, others than text, and templates that cannot be filled in (R33)."""
    with pytest.raises(ValidationError, match=name):
        dataclasses.replace(EN, **{name: text})
