"""What a provider reads from its cache."""

import pytest

from redline.providers import find_format
from redline.testing.provider import PrefixCache

MARK = {"cache_control": {"type": "ephemeral"}}


def counted(cache, *texts, format="openai_chat", marked=(), **body):
    """The tokens of a request with these words, which are said by both in turn."""
    roles = ("user", "assistant")
    messages = [
        {"role": roles[place % 2], "content": [{"type": "text", "text": text, **(MARK if place in marked else {})}]}
        for place, text in enumerate(texts)
    ]
    request = {"model": "m", "messages": messages, **body}
    return cache.count(format, request, find_format(format).read_request(request))


def test_what_an_earlier_request_began_with_is_read():
    """As far as every message is the same; the rest is new."""
    cache = PrefixCache()
    first = counted(cache, "a " * 50)
    assert first[1:] == (0, 0)
    new, read, written = counted(cache, "a " * 50, "yes", "b " * 50)
    assert (read, written) == (first[0], 0)
    assert new > 0
    assert counted(cache, "c", "yes", "b " * 50)[1] == 0
    assert counted(cache, "a " * 50, "no")[1] == first[0]


@pytest.mark.parametrize("body", [{"model": "n"}, {"tools": [{"type": "function"}]}])
def test_what_comes_before_the_messages_counts_too(body):
    """Another model, or other tools, and nothing is found."""
    cache = PrefixCache()
    counted(cache, "a " * 50)
    assert counted(cache, "a " * 50, **body)[1] == 0


def test_anthropic_keeps_what_is_marked():
    """Nothing without a mark; with one, what ends there is written, and read the next time, wherever the marks are then."""
    cache = PrefixCache()
    whole, *none = counted(cache, "a " * 50, "yes", "b " * 50, format="anthropic")
    assert none == [0, 0]
    assert counted(cache, "a " * 50, "yes", "b " * 50, format="anthropic")[1:] == (0, 0)
    first, read, written = counted(cache, "a " * 50, "yes", "b " * 50, format="anthropic", marked=[0])
    assert (read, first + written) == (0, whole)
    assert written > 0
    again = counted(cache, "a " * 50, "yes", "b " * 50, format="anthropic", marked=[2])
    assert again == (0, written, first)
