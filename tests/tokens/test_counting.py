import subprocess
import sys

from redline.tokens import MessageTokens, count_message, count_part, default_counter
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


# --- the default counter

# None in sys.modules is how Python itself says that a module cannot be imported.
WITHOUT_EXTRA = """
import sys
sys.modules["splintr"] = None
from redline.errors import MissingExtraError
from redline.tokens import Exact, default_counter
print(default_counter().name)
try:
    Exact()
except MissingExtraError as missing:
    print(missing)
"""


def test_exact_where_the_extra_is_installed() -> None:
    """The choice depends on nothing but what is installed, and is made once."""
    assert default_counter().name == "o200k_base"
    assert default_counter() is default_counter()


def test_the_estimate_where_it_is_not() -> None:
    """Without the extra everything still counts, and asking for exact counts names the extra."""
    name, message = _printed(WITHOUT_EXTRA)
    assert name == "estimate"
    assert "pip install 'redline-context[tokens]'" in message


def test_the_extra_is_loaded_only_when_asked_for() -> None:
    """Importing the package does not import the tokenizer."""
    assert _printed("import sys, redline.tokens; print('splintr' in sys.modules)") == ["False"]


def _printed(code: str) -> list[str]:
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.splitlines()
