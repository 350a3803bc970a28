"""What is too much for one request is found; the oldest pictures give way, as few as needed and a tenth more."""

import pytest

from redline import check, make_legal
from tests.heavy_sessions import MODELS, picture_count, png, said, screenshots


def found_in(messages, **settings):
    return [problem.found for problem in check(messages, **settings) if problem.law == "request_limits"]


def test_what_is_taken_depends_on_the_model():
    """100 pictures with a window of 200,000 tokens, and for a model that nobody knows; 600 else."""
    messages = screenshots("anthropic", 101)
    for model in (None, "claude-haiku-4-5"):
        assert found_in(messages, model=model) == ["the request would have 101 pictures and pages, and the provider takes 100"]
    assert found_in(messages, model="claude-opus-5") == []
    assert make_legal(messages, model="claude-opus-5") == messages


def test_pages_count_as_pictures():
    """A document has as many as it lists; one with too many goes as if it were a picture too large."""
    page = b"<< /Type /Page >>"
    one = document(b"%PDF-1.7 /Type /Pages /Count 60" + page * 60)
    many = document(b"%PDF-1.7" + page * 101)
    assert found_in([one, one]) == ["the request would have 120 pictures and pages, and the provider takes 100"]
    assert found_in([many]) == [
        "the request would have 101 pictures and pages, and the provider takes 100",
        "the document has 101 pages, and the provider takes 100",
    ]
    (after,) = make_legal([many])
    assert after["content"][0]["text"].endswith("from the user, application/pdf, 101 pages, 1 kB]")


def document(content):
    import base64

    data = base64.b64encode(content).decode()
    return {
        "role": "user",
        "content": [{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}}],
    }


def test_a_picture_of_too_many_bytes():
    """5 MB count in base64, as the provider counts them."""
    messages = screenshots("anthropic", 1, padding=5_300_000 * 3 // 4)
    assert found_in(messages) == ["the picture has 5.3 MB in base64, and the provider takes 5.2 MB"]
    assert picture_count(make_legal(messages)) == 0


def test_large_pictures_among_many():
    """Of 25 the 2 old large ones go; where the newest are large, or most of them, the oldest go until 18 are left."""
    small, large = screenshots("anthropic", 23), screenshots("anthropic", 2, width=2_500)
    for number, message in enumerate(large[1:]):
        block = message["content"][0]
        block["id" if number % 2 == 0 else "tool_use_id"] = f"large_{number // 2}"
    two_old = make_legal([*large, *small[1:]])
    assert (picture_count(two_old), "2500x800" in str(two_old[2])) == (23, True)
    two_new = make_legal([*small, *large[1:]])
    assert (picture_count(two_new), "2500x800" in str(two_new)) == (18, False)


@pytest.mark.parametrize("format", ["anthropic", "openai_responses"])
def test_long_results_give_way_to_bytes(format):
    """Without pictures the largest old results go, and nothing else; what the user said stays."""
    limit = {"anthropic": 32}.get(format, 50)
    turns = [turn_of(format, number, limit * 150_000) for number in range(8)]
    messages = [said(format, "Look."), *(message for turn in turns for message in turn)]
    assert len(found_in(messages, format=format, model=MODELS[format])) == 1
    after = make_legal(messages, format=format, model=MODELS[format])
    assert found_in(after, format=format, model=MODELS[format]) == []
    changed = [number for number, (old, new) in enumerate(zip(messages, after, strict=True)) if old is not new]
    assert changed == [2, 4, 6]


def turn_of(format, number, size):
    call = screenshots(format, 1)[1]
    words, name = "x" * size, f"call_{number}"
    match format:
        case "anthropic":
            call["content"][0]["id"] = name
            return [call, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": name, "content": words}]}]
        case "openai_chat":
            call["tool_calls"][0]["id"] = name
            return [call, {"role": "tool", "tool_call_id": name, "content": words}]
        case "openai_responses":
            call["call_id"] = name
            return [call, {"type": "function_call_output", "call_id": name, "output": words}]
    answer = {"functionResponse": {"name": "screenshot", "response": {"output": words}}}
    return [call, {"role": "user", "parts": [answer]}]


def test_what_fits_is_untouched():
    """The very same list, however near it is."""
    messages = screenshots("anthropic", 100)
    assert all(one is other for one, other in zip(make_legal(messages), messages, strict=True))


def test_linked_pictures_and_damaged_ones_have_no_size():
    """Nothing is known of them but that they are pictures, so that they only count."""
    linked = {"type": "image", "source": {"type": "url", "url": "https://example.org/9000.png"}}
    damaged = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(9, 9)[:12]}}
    messages = [{"role": "user", "content": [linked, damaged, {"type": "text", "text": "What is it?"}]}]
    assert found_in(messages) == []
    assert found_in([{"role": "user", "content": [linked] * 101}]) != []
