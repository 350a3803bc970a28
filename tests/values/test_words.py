"""The words that Redline puts into a request."""

import dataclasses
from dataclasses import fields

import pytest

import redline
from redline.errors import ValidationError
from redline.values.words import EN, REFERENCE, TEMPLATE_FIELDS, ZH, Placeholders, check_template, is_placeholder

NOT_PLACEHOLDERS = (
    *("cut", "interrupted", "not_shown", "tools_heading"),
    *("kept_in_record", "run_again", "read_again", "search_again", "call_again", "may_repeat", "saved_in"),
    *(field.name for field in fields(Placeholders) if field.name.startswith("outline")),
)
PLACEHOLDERS = [field.name for field in fields(Placeholders) if field.name not in NOT_PLACEHOLDERS]
OWN = dataclasses.replace(EN, **{name: f"~{getattr(EN, name)}" for name in PLACEHOLDERS})


def filled(words: Placeholders, name: str) -> str:
    return getattr(words, name).format(**dict.fromkeys(TEMPLATE_FIELDS.get(name, ()), "x"))


def test_the_documents_words_are_to_the_letter():
    """Those that the documents spell out."""
    assert ZH.stale_terminal == "此命令返回内容已过时"
    assert ZH.historical_read == "[该文件的历史读取内容已压缩,请参看最新读取结果]"
    assert ZH.tools_heading == "可用工具:"
    assert REFERENCE.format(name="a.md") == "[Content offloaded to: ./a.md]"


@pytest.mark.parametrize("setting", [ZH, EN, OWN])
@pytest.mark.parametrize("words", [ZH, EN])
@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_every_placeholder_is_recognised_whichever_words_are_set(setting, words, name):
    """Filled in or whole, in any language that comes with Redline (R33)."""
    assert is_placeholder(filled(words, name), setting)


@pytest.mark.parametrize(
    "text",
    [
        "[The output of this command is out of date: Bash make, 2 kB; run it again]",
        "[The output of this command is out of date]",
        "[This call failed; its input was removed]",
        "[A long text stood here; it was left out of this history]",
        "[Image removed: image/png, 2.0 kB]",
        "[该文件此后已被修改,此次读取的内容已过时: Read a.py, 2 kB; 可再次读取]",
        "[图片已移除: image/png, 2.0 kB]",
    ],
)
def test_placeholders_of_earlier_versions_are_recognised(text):
    """They are in records and in lists that are sent again."""
    assert is_placeholder(text)


@pytest.mark.parametrize("name", PLACEHOLDERS)
def test_words_of_ones_own_are_recognised_where_they_are_set(name):
    """And nowhere else (R33)."""
    assert is_placeholder(filled(OWN, name), OWN)
    assert not is_placeholder(filled(OWN, name))


@pytest.mark.parametrize("text", ["", "x", f"{ZH.stale_terminal} and more", f"see {EN.old_image}"])
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


def test_earlier_names_still_answer():
    """Words and DOCUMENTS, as they were called, are the very same values."""
    assert redline.Words is redline.values.Words is Placeholders
    assert redline.DOCUMENTS is redline.values.DOCUMENTS is ZH
