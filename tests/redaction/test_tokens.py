"""Secrets that their first characters give away."""

from pathlib import Path

import pytest

from redline.redaction import redact_text
from redline.redaction.tokens import TOKENS
from tests.redaction.examples import EXAMPLES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "the-record.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "secret"), [(name, secret) for name, secrets in EXAMPLES.items() for secret in secrets])
def test_a_secret_is_replaced_by_its_kind(name, secret):
    """At the beginning, at the end, and between other words."""
    assert redact_text(secret) == f"[redacted {name}]"
    assert redact_text(f"see: {secret}\nand more") == f"see: [redacted {name}]\nand more"


@pytest.mark.parametrize("begin", sorted({begin for token in TOKENS for begin in token.begins}))
def test_every_beginning_is_documented(begin):
    """Each is in the table, so that whoever looks for a service finds it."""
    assert f"`{begin}" in PAGE


@pytest.mark.parametrize("token", TOKENS, ids=lambda token: token.begins[0])
def test_a_beginning_inside_of_a_word_is_none(token):
    """`task-sk-…` and base64 hold such letters by chance."""
    assert all(not token.kind().pattern.match(f"x{begin}", 1) for begin in token.begins)
