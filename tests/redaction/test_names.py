"""Secrets that only their names give away."""

import pytest

from redline.redaction import redact_text
from redline.redaction.names import is_random, names_a_secret, names_a_token, takes_a_secret
from tests.redaction.examples import HARMLESS, NAMED


@pytest.mark.parametrize(("text", "shown"), NAMED.items())
def test_a_secret_is_known_by_its_name(text, shown):
    """Only the secret goes; the name and the quotes stay."""
    assert redact_text(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    """Code, counts, hashes and references of blobs above all."""
    assert redact_text(text) == text


@pytest.mark.parametrize(
    "name",
    ["password", "db_password", "API Key", "apiKey", "X-Api-Key", "jwt_secret", "refreshToken", "HF_TOKEN", "SECRET_KEY_2"],
)
def test_names_that_only_secrets_have(name):
    """In any spelling."""
    assert names_a_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "token_count",
        "max_tokens",
        "PASS_TO_PASS",
        "STORAGE_KEY",
        "key",
        "sessionId",
        "password_hint",
        "PWD",
        "tokenizer",
        "author",
    ],
)
def test_names_that_other_things_have_too(name):
    """Counts, directories, and what only begins like one."""
    assert not names_a_secret(name)


def test_a_weak_name_needs_a_random_value():
    """`token` may be a word of a language."""
    assert names_a_token("token")
    assert not names_a_secret("token")
    assert is_random("a8f3c1d2e4b5a697")
    assert not is_random("the next token is a word")
    assert not is_random("just-a-long-name-of-a-thing")


@pytest.mark.parametrize("argument", ["--token", "--api-key", "-password", "--db-password", "X-Api-Key", "Authorization"])
def test_an_option_takes_the_next_argument(argument):
    """In lists of arguments and of headers."""
    assert takes_a_secret(argument)


def test_other_arguments_take_none():
    """Nothing to hide."""
    assert not any(map(takes_a_secret, ["", "--verbose", "token", "--token-count", "-p", "cookies"]))
