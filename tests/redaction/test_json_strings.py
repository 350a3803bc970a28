"""JSON with the secrets in its strings replaced."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline.redaction import SECRETS, redact, redact_text
from redline.testing import json_values
from tests.redaction.examples import EXAMPLES, NAMED, PEM
from tests.redaction.realistic import CASES
from tests.redaction.strategies import glued, texts

SETTINGS = {
    "a string": lambda text: {"content": text},
    "among other letters": lambda text: {"content": f"中\n{text}\t"},
    "arguments of a call": lambda text: {"function": {"arguments": json.dumps({"command": text, "timeout": 5})}},
    "arguments in a record": lambda text: {"line": json.dumps({"arguments": json.dumps({"cmd": ["bash", "-c", text]})})},
    "result of a call": lambda text: {"content": [{"type": "tool_result", "content": f"$ env\r\n{text}\r\n"}]},
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("is_ascii", [True, False])
def test_no_realistic_secret_is_left_in_json(setting, is_ascii):
    """However deep in strings it is, and the JSON stays what it was around it (R63)."""
    for case in CASES:
        payload = json.dumps(SETTINGS[setting](case.text), ensure_ascii=is_ascii).encode()
        after = redact(payload)
        assert case.secret.encode() not in after, case
        assert json.loads(after).keys() == json.loads(payload).keys()
        if setting.startswith("arguments of"):
            assert json.loads(json.loads(after)["function"]["arguments"])["timeout"] == 5


@pytest.mark.parametrize("name", dict.fromkeys(secret.name for secret in SECRETS))
def test_every_kind_is_documented(name):
    """Each has its row."""
    page = Path(__file__).resolve().parents[2] / "docs" / "secrets.md"
    assert f"| {name} |" in page.read_text(encoding="utf-8")


def test_every_kind_has_an_example():
    """Here, so that none goes untested."""
    texts = [*NAMED, *(secret for secrets in EXAMPLES.values() for secret in secrets), *(case.text for case in CASES)]
    shown = " ".join(map(redact_text, texts))
    assert {secret.name for secret in SECRETS} == set(re.findall(r"\[redacted ([^\]]+)\]", shown))


@pytest.mark.parametrize("key", ["password", "DB_PASSWORD", "apiKey", "x-api-key", "client_secret", "Authorization", "secret"])
def test_the_value_of_a_telling_key_is_replaced(key):
    """Whatever it is; the key stays, and so does the shape."""
    before = {"input": {key: "anything", "other": "anything", "n": 1}}
    after = json.loads(redact(json.dumps(before).encode()))
    assert after == {"input": {key: "[redacted secret]", "other": "anything", "n": 1}}


@pytest.mark.parametrize("value", ["", None, 5, ["a"], {"type": "string"}])
def test_other_values_of_a_telling_key_stay(value):
    """A schema names its fields too."""
    payload = json.dumps({"password": value}).encode()
    assert redact(payload) == payload


def test_the_rest_of_the_bytes_stays():
    """Spacing, the spelling of numbers and escapes, duplicate keys, what is not UTF-8."""
    before = b'{ "a" : "\\u4f60 \\/ AKIAIOSFODNN7EXAMPLE\\n\\ud83d \xff", "n": 1E2, "n": 1E2,"b":"\xe4\xbd\xa0"}'
    after = b'{ "a" : "\\u4f60 \\/ [redacted AWS key]\\n\\ud83d \xff", "n": 1E2, "n": 1E2,"b":"\xe4\xbd\xa0"}'
    assert redact(before) == after


def test_keys_hold_secrets_too():
    """R130: programs list what they know by its key; two such keys stay two."""
    payload = b'{"AKIAIOSFODNN7EXAMPLE": 1, "AKIAIOSFODNN7EXAMPL2" : "x", "password": 5}'
    assert redact(payload) == b'{"[redacted AWS key]": 1, "[redacted AWS key] 2" : "x", "password": 5}'


def test_a_secret_behind_escapes_is_found():
    """Line ends inside of a string are escapes."""
    assert json.loads(redact(json.dumps({"key": f"a\n{PEM}\nb"}).encode())) == {"key": "a\n[redacted private key]\nb"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"args": ["--token", "abcd"]}, {"args": ["--token", "[redacted secret]"]}),
        ({"args": ["--token", "-v"], "b": "x"}, {"args": ["--token", "[redacted secret]"], "b": "x"}),
        ({"headers": [["X-Api-Key", "abcd"]]}, {"headers": [["X-Api-Key", "[redacted secret]"]]}),
        ([{"name": "DB_PASSWORD", "value": "abcd"}], [{"name": "DB_PASSWORD", "value": "[redacted secret]"}]),
        ([{"name": "password", "kind": "x", "value": "abcd"}], [{"name": "password", "kind": "x", "value": "abcd"}]),
        ({"pass\u0077ord": "abcd"}, {"password": "[redacted secret]"}),
        ({"token": "a8f3c1d2e4b5a697"}, {"token": "[redacted secret]"}),
        ({"token": "word"}, {"token": "word"}),
    ],
)
def test_what_is_before_a_value_names_it(before, after):
    """In lists of arguments and headers, and where name and value are fields of their own (R63)."""
    assert json.loads(redact(json.dumps(before).encode())) == after


@pytest.mark.parametrize(
    "payload",
    [b'"\\x AKIAIOSFODNN7EXAMPLE"', b'"\\ud8 AKIAIOSFODNN7EXAMPLE"', b'"a\\q" : "\\', b"[" * 100_000, b'"' + b"[" * 9],
)
def test_what_is_no_json_is_not_refused(payload):
    """Escapes that mean nothing, strings without an end, any depth (R61)."""
    assert b"AKIA" not in redact(payload)


def test_depth_of_json_in_strings_is_not_followed_for_ever():
    """The time is linear in what is written, and nothing raises."""
    text = "AKIAIOSFODNN7EXAMPLE"
    for _ in range(8):
        text = json.dumps([text])
    assert b"AKIA" not in redact(text.encode())


@given(
    st.recursive(glued | json_values(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))
)
def test_json_keeps_its_shape(value):
    """Valid JSON stays valid, doing it twice changes nothing more, and only texts in which there is a secret are others."""
    payload = json.dumps(value).encode()
    after = redact(payload)
    assert redact(after) == after
    assert json.loads(after) == _by_hand(value)


@given(st.binary())
def test_nothing_breaks_it(content):
    """What is no JSON is looked at as far as it has strings."""
    assert redact(redact(content)) == redact(content)


def _by_hand(value):
    match value:
        case str() if value.startswith(("{", "[")):
            return json.loads(redact(json.dumps(value).encode()))
        case str():
            return redact_text(value)
        case list():
            return [_by_hand(one) for one in value]
        case dict():
            return {name: _by_hand(one) for name, one in value.items()}
    return value
