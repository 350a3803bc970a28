from redline.tokens import MessageTokens, count_message, count_part
from redline.values.messages import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult


class Characters:
    name = "characters"

    def count(self, text: str) -> int:
        return len(text)


def message(*parts: Part) -> Message:
    return Message("assistant", parts, {}, "anthropic")


PICTURE = Media("image/png", "https://example.com/a.png", "url")


def test_every_kind_of_part() -> None:
    """A call is its name and compact input, a result all that lies in it, and both carry a little besides."""
    assert count_part(Text("abc"), Characters()) == 3
    assert count_part(Reasoning("abcd"), Characters()) == 4
    assert count_part(ToolCall("1", "Read", {"a": [1, 2]}), Characters()) == 8 + 4 + len('{"a":[1,2]}')
    assert count_part(ToolCall("1", "exec", "free text"), Characters()) == 8 + 4 + 9
    assert count_part(ToolCall("1", "list", None), Characters()) == 8 + 4
    assert count_part(ToolResult("1", (Text("ab"), Text("c"))), Characters()) == 8 + 3
    assert count_part(PICTURE, Characters()) == 1600
    assert count_part(Media("text/plain", "notes", "text"), Characters()) == 5
    assert count_part(Opaque("x", {"k": 1}), Characters()) == len('{"k":1}')


def test_a_message_by_kind() -> None:
    """Each kind has its sum; a picture inside a result is media."""
    counted = count_message(
        message(
            Text("abc"),
            Reasoning("de"),
            ToolCall("1", "f", {}),
            ToolResult("1", (Text("12345"), PICTURE, Opaque("o", "xy"))),
            PICTURE,
            Opaque("o", "z"),
        ),
        Characters(),
    )
    assert counted == MessageTokens(text=3, reasoning=2, calls=11, results=15, media=3200, opaque=1, overhead=4)
    assert counted.total == 3 + 2 + 11 + 15 + 3200 + 1 + 4


def test_an_empty_message_costs_its_frame() -> None:
    """Even a message that says nothing is sent."""
    assert count_message(message()) == MessageTokens()
    assert MessageTokens().total == 4


def test_the_default_counter_is_used_where_none_is_given() -> None:
    """No counter means the best one installed."""
    assert count_part(Text("hello world")) == 2
    assert count_message(message(Text("hello world"))).text == 2


def test_input_that_is_not_valid_unicode() -> None:
    """A lone surrogate in an input is counted, not refused."""
    assert count_part(ToolCall("1", "f", {"a": "\ud800"})) > 8
