"""The words that stand where something was taken out."""

from dataclasses import fields

import pytest

from redline.errors import ValidationError
from redline.placeholders import EN, REFERENCE, ZH, Placeholders, check_template, is_placeholder


def test_the_documents_placeholders_are_to_the_letter():
    """The two that the documents spell out."""
    assert ZH.stale_terminal == "此命令返回内容已过时"
    assert ZH.historical_read == "[该文件的历史读取内容已压缩,请参看最新读取结果]"
    assert REFERENCE.format(name="a.md") == "[Content offloaded to: ./a.md]"


@pytest.mark.parametrize("words", [ZH, EN])
@pytest.mark.parametrize("name", [field.name for field in fields(Placeholders) if field.name != "cut"])
def test_every_placeholder_is_recognised(words, name):
    """Filled in or whole, in any language."""
    filled = dict.fromkeys(("media_type", "size", "call", "chars", "lines", "head", "tail", "recall", "reference"), "x")
    assert is_placeholder(getattr(words, name).format(**filled))


@pytest.mark.parametrize("text", ["", "x", f"{ZH.stale_terminal} and more", f"see {EN.old_image}"])
def test_other_words_are_none(text):
    """A text that merely holds a placeholder is a text."""
    assert not is_placeholder(text)


@pytest.mark.parametrize("template", ["{other}", "{", "{0}", "{name.x}"])
def test_a_template_with_other_fields_is_refused(template):
    """The error names the owner and the fields there are."""
    with pytest.raises(ValidationError, match=r"rule: .*\{name\}"):
        check_template(template, "rule", "name")


def test_a_template_with_the_known_fields_is_fine():
    """It need not use all of them."""
    check_template("{name} and braces {{}}", "rule", "name", "size")
