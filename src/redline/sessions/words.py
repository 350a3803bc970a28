"""Short lines for people: what the user asked first, what a tool call does, and text made safe to show."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from redline.tools import describe
from redline.tools.edits import DiffLine as DiffLine
from redline.tools.edits import edit_lines as edit_lines
from redline.tools.tool import Action, Asks, Fetches, Lists, Notes, Reads, Resumes, Runs, Searches, SearchesWeb, Writes
from redline.values.messages import Message, Text, ToolCall
from redline.values.user_words import own_words

_MOST_CHARACTERS = 120
_SEARCHED_CHARACTERS = 2_000


def first_words(messages: Iterable[Message]) -> str:
    """The beginning of what the user asked first; of what the agent put in front of it, if there is nothing else."""
    found = ""
    for text in user_texts(messages):
        words, is_own = user_words(text)
        if is_own:
            return words
        found = found or words
    return found


def user_texts(messages: Iterable[Message]) -> Iterator[str]:
    """All that was said in the user's name."""
    for message in messages:
        if message.role == "user":
            yield from (part.text for part in message.parts if isinstance(part, Text))


def user_words(text: str) -> tuple[str, bool]:
    """The beginning of a text in one line, and whether it is the user's own."""
    words = " ".join(text[:_SEARCHED_CHARACTERS].split())
    own = own_words(words)
    is_own, shown = bool(own), own or words
    return shown if len(shown) <= _MOST_CHARACTERS else shown[: _MOST_CHARACTERS - 1] + "…", is_own


_LONGEST = 160


def call_words(call: ToolCall) -> str:
    """What the call does: `reads src/app.py, lines 1 to 40`, `runs npm test`; its arguments where nobody knows the tool."""
    said = list(dict.fromkeys(map(_words_of, describe(call))))
    if not said:
        arguments = (f"{name}: {_one_line(value)}" for name, value in call.arguments.items())
        said = [", ".join(arguments)]
    words = "; ".join(said)
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


def _words_of(action: Action) -> str:  # noqa: C901 - one case for each kind of action
    match action:
        case Reads(path, None):
            return f"reads {path}"
        case Reads(path, (first, last)):
            return f"reads {path}, lines {first} to {'the end' if last == -1 else last}"
        case Writes(path, is_edit):
            return f"{'edits' if is_edit else 'writes'} {path}"
        case Lists(path, pattern):
            return f"lists {path}" + (f", {pattern}" if pattern else "")
        case Searches(pattern, paths):
            return f"searches {', '.join(paths)} for {_one_line(pattern)}"
        case Runs(command):
            return f"runs {_one_line(command)}"
        case Resumes(process):
            return f"goes on with {process}"
        case Fetches(url):
            return f"fetches {url}"
        case SearchesWeb(query):
            return f"searches the web for {query}"
        case Asks(words, whom):
            return f"asks {'the user' if whom == 'user' else 'an agent'}: {_one_line(words)}"
        case Notes():
            return "makes a note"
        case _:
            return "reads a file"


def _one_line(value: object) -> str:
    return " ".join(str(value)[: 2 * _LONGEST].split())


_SUSPECT = re.compile(r"[^ -~]")
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that show nothing, beside those that Unicode calls control or format characters."""
_TAB = 4


def printable(text: str) -> str:
    """The text with every control, format and invisible character as an escape, such as `\\x1b`: it can then not move the
    cursor, set the clipboard, forge a line or reverse the reading direction."""

    def shown(found: re.Match[str]) -> str:
        character = found[0]
        if is_visible(character):
            return character
        if unicodedata.category(character) == "Zs":
            return " "
        return character.encode("unicode_escape").decode()

    return _SUSPECT.sub(shown, text)


def visible_lines(text: str) -> list[str]:
    """The text line by line, each printable; tabs are spaces."""
    return [printable(line.expandtabs(_TAB)) for line in text.replace("\r\n", "\n").split("\n")]


def is_visible(character: str) -> bool:
    """Whether a character shows as itself."""
    return character.isprintable() and not _INVISIBLE.match(character)
