"""A session as Markdown that reads well on GitHub. Nothing in it is taken for HTML, a picture to load, or a heading of ours."""

import re
from collections.abc import Iterator
from typing import Any

from redline.inspection.export_words import heading_words, session_facts
from redline.inspection.visible_text import printable, visible_lines

__all__ = ["as_markdown"]

_LONG_LINES = 20
"""Longer results are folded."""
_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<rest>.*)$")
"""Whatever GitHub takes for the beginning of a block of code must be found, or what follows is not where it seems to be."""
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SPECIAL = re.compile(r"[\\`*_\[\]#!|~>]")
_LOWEST_HEADING = 5
"""Headings in what was said are below those of messages."""


def as_markdown(value: dict[str, Any]) -> str:
    """The text of a file, from what `session_value` gives."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: dict[str, Any]) -> Iterator[str]:
    about = value["session"]
    yield f"# {_inline(about['title'] or about['name'])}"
    yield ""
    yield from (f"- {name}: {_inline(words)}" for name, words in session_facts(value))
    yield ""
    if about["system"]:
        yield from _folded("The system prompt", about["system"])
    for message in value["messages"]:
        yield f"### {_inline(heading_words(message))}"
        yield ""
        for part in message["parts"]:
            yield from _part(part)


def _part(part: dict[str, Any]) -> Iterator[str]:
    is_struck = any(note["is_struck"] for note in part["notes"]) if "notes" in part else False
    match part["kind"]:
        case "text":
            yield from _folded("Struck words", part["text"], is_struck=True) if is_struck else _words(part["text"])
        case "reasoning":
            yield from _folded("Reasoning", part["text"], is_struck=is_struck) if part["text"].strip() else ("*thinks*", "")
        case "call":
            told = f"**{_inline(part['tool'] or 'tool')}** {_inline(part['says'] or '')}"
            yield from (f"→ ~~{told}~~" if is_struck else f"→ {told}", "")
            if part["diff"]:
                yield from _fenced("\n".join(f"{sign}{line}" for sign, line in part["diff"]), "diff")
        case "result" | "other":
            title = f"{part['tool'] or part['kind']}{' failed' if part['is_error'] else ''}, {part['tokens']:,} tokens"
            yield from _result(title, part["text"], is_struck=is_struck)
        case _:
            yield from (f"*[{_inline(part['media_type'] or 'media')}]*", "")
    for note in part.get("notes", ()):
        yield from (f"> ✂ {_inline(note['says'])}", "")


def _result(title: str, text: str, *, is_struck: bool) -> Iterator[str]:
    if is_struck or text.count("\n") >= _LONG_LINES:
        yield from _folded(f"← {title}", text, is_struck=is_struck)
        return
    yield from (f"← {_inline(title)}", "")
    yield from _fenced(text) if text.strip() else ()


def _folded(title: str, text: str, *, is_struck: bool = False) -> Iterator[str]:
    """Something long under its title. The tags are ours; what is between them is text."""
    said = _html_text(title)
    yield f"<details><summary>{f'<del>{said}</del>' if is_struck else said}</summary>"
    yield ""
    yield from _fenced(text)
    yield "</details>"
    yield ""


def _fenced(text: str, language: str = "text") -> Iterator[str]:
    """Text as it is, between fences that are longer than any in it."""
    lines = visible_lines(text.strip("\n"))
    longest = max((len(run) for line in lines for run in re.findall("`+", line)), default=0)
    fence = "`" * max(longest + 1, 3)
    yield from (fence + language, *lines, fence, "")


def _words(text: str) -> Iterator[str]:
    """Words as the Markdown that they mostly are: code stays code, and what could be more than text is escaped."""
    inside: list[str] = []
    fence = ""
    for line in visible_lines(text):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened["fence"].startswith(fence) and not opened["rest"].strip():
                yield from ("", *_fenced("\n".join(inside)))
                fence = ""
            else:
                inside.append(line)
        elif opened:
            fence, inside = opened["fence"], []
        else:
            yield _text_line(line)
    if fence:
        yield from ("", *_fenced("\n".join(inside)))
    yield ""


def _text_line(line: str) -> str:
    if _UNDERLINE.match(line):
        return "\\" + line.lstrip()
    line = _HEADING.sub(lambda found: found[1] + "#" * max(len(found[2]), _LOWEST_HEADING), line, count=1)
    pieces, at = [], 0
    for span in _CODE_SPAN.finditer(line):
        is_plain = _escaped(span[2]) == span[2]
        code = span[0] if is_plain else f"<code>{_html_text(span[2].strip())}</code>"
        pieces += [_escaped(line[at : span.start()]), code]
        at = span.end()
    return "".join([*pieces, _escaped(line[at:])])


def _escaped(text: str) -> str:
    """No tag, no entity, no picture."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace("![", "!\\[")


def _html_text(text: str) -> str:
    """Text in a tag of ours: nothing in it is HTML or Markdown."""
    safe = printable(" ".join(text.split())).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", safe)


def _inline(text: str) -> str:
    """Text in one line, in which no character means anything."""
    safe = _SPECIAL.sub(lambda found: "\\" + found[0], printable(" ".join(text.split())))
    return safe.replace("&", "&amp;").replace("<", "&lt;")
