"""A session as one HTML file that needs nothing else: no script, no request to anywhere, everything said is text."""

from collections.abc import Iterator
from html import escape
from typing import Any

from redline.inspection.export_words import heading_words, session_facts
from redline.inspection.shown import PICTURES
from redline.inspection.visible_text import visible_lines

__all__ = ["as_html"]

_LONG_LINES = 12
"""Longer results are folded."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_STYLE = """
:root { color-scheme: light dark;
  --ink: #1d1d1f; --paper: #fff; --soft: #66666b; --line: #e3e3e6; --box: #f6f6f7; --red: #c6262e; --green: #1a7f37; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e8e8ea; --paper: #161618; --soft: #9a9aa1; --line: #323236; --box: #1f1f22;
    --red: #ff6b70; --green: #56d364; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1rem 6rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.3; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: 0 0 2rem; font-size: .9rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
article { border-top: 1px solid var(--line); padding: 1rem 0; }
h2 { margin: 0 0 .5rem; font-size: .85rem; font-weight: 600; color: var(--soft); overflow-wrap: anywhere; }
.user h2 { color: var(--ink); }
pre { margin: .4rem 0; white-space: pre-wrap; overflow-wrap: anywhere; font: .85rem/1.5 ui-monospace, monospace; }
pre.words { font: inherit; }
pre.box { padding: .6rem .8rem; border-radius: .4rem; background: var(--box); }
.call { margin: .4rem 0; overflow-wrap: anywhere; }
summary, .title { cursor: default; font-size: .9rem; color: var(--soft); overflow-wrap: anywhere; }
summary { cursor: pointer; }
.failed { color: var(--red); }
del { text-decoration: line-through; text-decoration-color: var(--red); opacity: .7; }
.note { margin: .2rem 0 .6rem; padding-left: .8rem; border-left: 3px solid var(--red); font-size: .9rem; }
.reasoning { color: var(--soft); font-style: italic; }
ins { text-decoration: none; color: var(--green); } .gone { text-decoration: none; color: var(--red); opacity: 1; }
img { max-width: 100%; border-radius: .4rem; }
"""


def as_html(value: dict[str, Any]) -> str:
    """The text of a file, from what `session_value` gives."""
    return "\n".join(_lines(value)) + "\n"


def _lines(value: dict[str, Any]) -> Iterator[str]:
    about = value["session"]
    title = _text(about["title"] or about["name"])
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{title}</h1><dl>"
    yield from (f"<dt>{_text(name)}</dt><dd>{_text(words)}</dd>" for name, words in session_facts(value))
    yield "</dl><main>"
    if about["system"]:
        yield f"<article>{_folded('The system prompt', about['system'])}</article>"
    for message in value["messages"]:
        role = message["role"] if message["role"] in ("user", "assistant", "system", "tool") else "other"
        anchor = f' id="m{message["index"]}"' if isinstance(message.get("index"), int) else ""
        yield f'<article class="{role}"{anchor}><h2>{_text(heading_words(message))}</h2>'
        for part in message["parts"]:
            yield from _part(part)
        yield "</article>"
    yield "</main></body></html>"


def _part(part: dict[str, Any]) -> Iterator[str]:
    notes = part.get("notes", ())
    said = "".join(_said(part))
    yield f"<del>{said}</del>" if any(note["is_struck"] for note in notes) else said
    yield from (f'<p class="note">{_text(note["says"])}</p>' for note in notes)


def _said(part: dict[str, Any]) -> Iterator[str]:
    match part["kind"]:
        case "text":
            yield f'<pre class="words">{_text(part["text"])}</pre>'
        case "reasoning":
            yield f'<pre class="words reasoning">{_text(part["text"] or "thinks")}</pre>'
        case "call":
            yield f'<p class="call">→ <strong>{_text(part["tool"] or "tool")}</strong> {_text(part["says"] or "")}</p>'
            yield _difference(part["diff"]) if part["diff"] else _folded("arguments", part["input"] or "")
        case "result" | "other":
            yield _result(part)
        case _:
            yield from _media(part)


def _result(part: dict[str, Any]) -> str:
    title = f"← {part['tool'] or part['kind']}{' failed' if part['is_error'] else ''}, {part['tokens']:,} tokens"
    if part["text"].count("\n") >= _LONG_LINES:
        return _folded(title, part["text"], is_failed=part["is_error"])
    return f'<p class="{_title_class(part["is_error"])}">{_text(title)}</p>{_box(part["text"])}'


def _folded(title: str, text: str, *, is_failed: bool = False) -> str:
    return f'<details><summary class="{_title_class(is_failed)}">{_text(title)}</summary>{_box(text)}</details>'


def _title_class(is_failed: bool) -> str:
    return "title failed" if is_failed else "title"


def _box(text: str) -> str:
    return f'<pre class="box">{_text(text)}</pre>' if text.strip() else ""


def _difference(lines: list[tuple[str, str]]) -> str:
    tags = {"+": ("<ins>", "</ins>"), "-": ('<del class="gone">', "</del>")}
    drawn = []
    for sign, line in lines:
        start, end = tags.get(sign, ("", ""))
        drawn.append(f"{start}{_text(f'{sign} {line}')}{end}")
    text = "\n".join(drawn)
    return f'<pre class="box">{text}</pre>'


def _media(part: dict[str, Any]) -> Iterator[str]:
    kind, image = part["media_type"], part["image"]
    if image is not None and image.get("data") and kind in PICTURES:
        yield f'<p><img alt="{_text(kind)}" src="data:{kind};base64,{_text(image["data"])}"></p>'
    else:
        yield f'<p class="title">[{_text(kind or "media")}]</p>'


def _text(text: str) -> str:
    """What was said, as text: tags and quotes escaped, and what nobody would see written out."""
    return escape("\n".join(visible_lines(text)), quote=True)
