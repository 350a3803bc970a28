import pytest

from redline import ValidationError
from redline.formats.cache_control import can_carry, check_order, count_marks, in_blocks, is_marked, with_mark

SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}


def said(*controls):
    return {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": control} for control in controls]}


def test_words_become_one_block():
    """Content that is words alone becomes a block of text; blocks and blank words stay, and the input is not touched."""
    message = {"role": "user", "content": "hi", "x": 1}
    assert in_blocks(message) == {"role": "user", "content": [{"type": "text", "text": "hi"}], "x": 1}
    assert message["content"] == "hi"
    for other in ({"role": "user", "content": []}, {"role": "user", "content": " "}, {"role": "user"}):
        assert in_blocks(other) is other


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "a"}, True),
        ({"type": "text", "text": " \n"}, False),
        ({"type": "text"}, False),
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, False),
        ({"type": "redacted_thinking", "data": "x"}, False),
        ({"type": "tool_use", "id": "a", "name": "n", "input": {}}, True),
        ({"type": "tool_result", "tool_use_id": "a", "content": ""}, True),
        ({"type": "image", "source": {}}, True),
        ({"type": "something_new"}, False),
        ("text", False),
    ],
)
def test_what_can_carry_a_breakpoint(block, expected):
    """Thinking and empty text cannot, nor what is not known."""
    assert can_carry(block) is expected


def test_a_mark_is_added_to_a_copy():
    """The block stays as it was; a lifetime is named only if one is asked for."""
    block = {"type": "text", "text": "a"}
    assert with_mark(block, None) == {**block, "cache_control": SHORT}
    assert with_mark(block, "1h")["cache_control"] == LONG
    assert not is_marked(block)


def test_marks_inside_results_count():
    """The provider counts those on the blocks of a result, too."""
    result = {"type": "tool_result", "tool_use_id": "a", "content": said(SHORT)["content"], "cache_control": SHORT}
    assert count_marks([{"role": "user", "content": [result]}, said(SHORT, None), {"role": "user", "content": "x"}]) == 3


def test_longer_lives_come_first():
    """An hour after five minutes is refused, with the message; the other way round is fine."""
    check_order([said(LONG), said(LONG, SHORT), said({"type": "ephemeral", "ttl": "5m"})])
    with pytest.raises(ValidationError, match=r"Message 1 would be cached for 1h, after .* 5m"):
        check_order([said(SHORT), said(LONG)])
