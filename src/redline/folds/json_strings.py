"""Some tools answer in JSON: what a command printed is a string in it, whose line feeds are escaped."""

import json
import re
from collections.abc import Callable

_STRING = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"')
_BEGINNINGS = ('{"', '[{"')


def is_answer_in_json(text: str) -> bool:
    """Whether a text may be an object or a list of objects in one line, with lines in its strings."""
    return text.startswith(_BEGINNINGS) and "\\n" in text and "\n" not in text


def change_strings(text: str, change: Callable[[str], str]) -> str:
    """The text with its strings of several lines changed. Strings are written as they were: in ASCII, or with all letters."""

    def changed(found: re.Match[str]) -> str:
        literal = found[0]
        if "\\n" not in literal:
            return literal
        try:
            said = json.loads(literal)
        except ValueError:
            return literal
        for is_ascii in (False, True):
            if json.dumps(said, ensure_ascii=is_ascii) == literal:
                return json.dumps(change(said), ensure_ascii=is_ascii)
        return literal

    return _STRING.sub(changed, text)
