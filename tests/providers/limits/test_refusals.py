"""What refusals say, in the words in which they were seen."""

import pytest

from redline.providers.limits.refusals import learned_limits, read_refusal

SEEN = [
    (400, "Too much media: 0 document pages + 107 images > 100", "media", 100, 107),
    (400, "too many images and documents: 104 + 1 > 100", "media", 100, 105),
    (400, "At least one of the image dimensions exceed max allowed size: 8000 pixels", "pixels", 8_000, 0),
    (400, "image dimensions exceed max allowed size for many-image requests: 2000 pixels", "many_pixels", 2_000, 0),
    (400, "image exceeds 5 MB maximum: 8259148 bytes > 5242880 bytes", "picture_chars", 5_242_880, 8_259_148),
    (400, "prompt is too long: 210103 tokens > 200000 maximum", "tokens", 200_000, 210_103),
    (400, "input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease", "tokens", 204_648, 189_136),
    (413, '{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}', "request_bytes", 0, 0),
    (400, "Exceeded maximum number of images (50) allowed in the request.", "media", 50, 0),
    (400, "request contains 52 images, exceeding the maximum of 50 allowed per request", "media", 50, 52),
    (400, "Too many images: 51, maximum allowed: 50", "media", 50, 51),
    (400, "At most 5 image(s) may be provided in one request.", "media", 5, 0),
    (400, "maximum context length is 128000 tokens. However, your messages resulted in 204308", "tokens",
     128_000, 204_308),
    (400, '"code":"context_length_exceeded"', "tokens", 0, 0),
    (400, "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 129",
     "tools", 128, 129),
    (400, "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).", "tokens", 1_048_576,
     1_200_293),
    (400, "At most 512 function declarations can be specified.", "tools", 512, 0),
    (400, "Request payload size exceeds the limit: 20971520 bytes.", "request_bytes", 20_971_520, 0),
    (413, "<html>nginx</html>", "request_bytes", 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("status", "words", "name", "taken", "given"), SEEN)
def test_the_limit_is_read(status, words, name, taken, given):
    """Its name, what is taken, and what was given, as far as they are said."""
    found = read_refusal(status, words.encode())
    assert (found.name, found.taken, found.given) == (name, taken, given)


@pytest.mark.parametrize(
    "words", ["messages: roles must alternate", "", "invalid x-api-key", "tool_use ids were found without"]
)
def test_other_errors_teach_nothing(words):
    """What is about something else is left to the client."""
    assert read_refusal(400, words) is None


def test_what_is_learned():
    """The provider's own number; of tokens in our own count; without a number a fifth less than was refused."""
    assert learned_limits(read_refusal(400, SEEN[0][1]), 107) == {"media": 100}
    assert learned_limits(read_refusal(413, ""), 10_000_000) == {"request_bytes": 8_000_000}
    too_long = read_refusal(400, "prompt is too long: 300 tokens > 200 maximum")
    assert learned_limits(too_long, 150, is_estimate=True) == {"tokens": 200, "tokens_permille": 2_000}
    assert learned_limits(too_long, 270) == {"tokens": 180}
    assert learned_limits(read_refusal(400, "prompt is too long"), 100) == {"tokens": 80}
