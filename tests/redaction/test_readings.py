"""Secrets in coloured output, in keys, and in encoded forms."""

import json
import time

import pytest

from redline.redaction import redact
from redline.redaction.texts import redact_text
from tests.redaction.wrappings import HARMLESS, SECRETS, SEED, WRAPPINGS


def test_the_table_is_large_enough():
    """R130: at least 103 secrets in wrappings, and more wrappings than anybody counted."""
    assert len(SECRETS) * len(WRAPPINGS) > 1_000


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_a_secret_is_one_however_it_is_written(wrapping):
    """R130: nothing of the middle of it is left, as a value, as a key, or in a list; and doing it again changes nothing."""
    leaked = []
    for secret in SECRETS:
        wrapped = WRAPPINGS[wrapping](secret)
        middle = wrapped[len(wrapped) // 3 : len(wrapped) // 3 + max(12, len(wrapped) // 4)]
        for held in ({"content": f"Look: {wrapped} there"}, {"keys": {wrapped: 1}}, {"args": ["run", wrapped]}):
            payload = json.dumps(held, ensure_ascii=False).encode()
            after = redact(payload)
            said = json.dumps(json.loads(after), ensure_ascii=False)
            if json.dumps(middle, ensure_ascii=False)[1:-1] in said:
                leaked.append((secret[:12], said[:120]))
            assert redact(after) == after
    assert leaked == []


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_after_colour_is_one(secret):
    """R130: the letter that ends an escape is no letter of a word; what is around the secret stays."""
    assert "[redacted " in redact_text(f"done \x1b[32m{secret}\x1b[0m next")
    assert redact_text(f"done \x1b[32m{secret}\x1b[0m next").startswith("done \x1b[32m[redacted ")
    assert redact_text(f"done \x1b[32m{secret}\x1b[0m next").endswith("]\x1b[0m next")


def test_keys_stay_as_many_as_they_are():
    """R130: two secrets that are keys of one object are two keys still, and their values are kept."""
    payload = json.dumps({SECRETS[1]: 1, "a": 2, SECRETS[1] + "x": 3, "b": {SECRETS[1]: 4}}).encode()
    after = json.loads(redact(payload))
    assert sorted(map(str, after.values())) == ["1", "2", "3", str(after["b"])]
    assert list(after["b"].values()) == [4]
    assert SECRETS[1] not in json.dumps(after)


@pytest.mark.parametrize("words", [12, 15, 18, 21, 24])
@pytest.mark.parametrize(
    "written",
    [
        "My seed phrase is {}",
        "Recovery phrase: {}",
        "mnemonic = '{}'",
        'export MNEMONIC="{}"',
        "Write down your secret phrase:\n\n{}\n\nKeep it safe.",
        "wallet seed:\n{}",
        "BIP39: {}.",
    ],
)
def test_a_seed_phrase_is_a_secret(written, words):
    """R130: in a line, with commas, or numbered, as wallets print it."""
    phrase = (SEED.split() * 2)[:words]
    for spelled in (" ".join(phrase), ", ".join(phrase), "\n".join(f"{place}. {word}" for place, word in enumerate(phrase, 1))):
        after = redact_text(written.format(spelled))
        assert "sausage" not in after
        assert "yellow" not in after


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text):
    """R130: hashes, UUIDs, pictures, colours, escapes and words of code."""
    assert redact_text(text) == text
    payload = json.dumps({"content": text, text: 1}).encode()
    assert redact(payload) == payload


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "\x1b[3",
            "\x1b]8;;",
            "%4",
            "\\u00",
            "&#1",
            "QUFB",
            "4142",
            "41 42 ",
            "seed phrase: ",
            "seed abc def ",
            "\u200b",
            "a b ",
        ),
        "A" * 70 + "\n",
    ],
)
def test_the_time_is_linear(piece):
    """R130: twice the text takes about twice the time, whatever it is made of."""

    def seconds(count: int) -> float:
        text = piece * count
        started = time.process_time()
        redact_text(text)
        return time.process_time() - started

    seconds(100)
    short, long = (min(seconds(count) for _ in range(2)) for count in (4_000, 16_000))
    assert long < 10 * short + 0.05
