"""Text that somebody else wrote, made safe to show: what nobody would see, or what moves other text, is written out."""

import re
import unicodedata

__all__ = ["is_visible", "printable", "visible_lines"]

_SUSPECT = re.compile(r"[^ -~]")
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks that show nothing, beside those that Unicode calls control or format characters."""
_TAB = 4


def printable(text: str) -> str:
    """The text with every control, format and invisible character written as an escape: `\\x1b`, `\\n`, `\\u202e`.

    What a session holds can then not move the cursor, set the clipboard, forge a line or reverse the reading direction.
    """

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
