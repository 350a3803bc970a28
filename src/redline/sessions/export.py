"""A session as one file: a plain value, without secrets if asked; HTML that needs nothing else; Markdown for GitHub."""

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import Any

from redline.record.reading import StoredLog
from redline.redaction import redact
from redline.sessions.explain import notes_on
from redline.sessions.playback import Playback
from redline.sessions.read_session import SENT
from redline.sessions.to_json import (
    PICTURES,
    history_to_facts,
    made_request,
    messages_to_json,
    part_named,
    picture_of,
    request_numbers,
    sent_indices,
    strike_to_json,
)
from redline.sessions.words import printable, visible_lines


def session_value(playback: Playback, name: str, *, request: int | None = None, log: StoredLog | None = None) -> dict[str, Any]:
    """`{session, requests, strikes, messages}`; with a request, only the messages and strikes of that one."""
    history = playback.history
    if request is None:
        numbers, struck = range(len(history.requests)), playback.strikes
    else:
        made_request(playback, request)
        numbers, struck = range(request, request + 1), tuple(playback.in_force(request))
    about = {
        "name": name,
        "conversation": history.id,
        **history_to_facts(history),
        "system": history.system or None,
        "request": request,
        "policy": playback.name or SENT,
        "is_hypothetical": playback.is_hypothetical,
    }
    messages = []
    for message in messages_to_json(playback, request, log, sent_indices(playback, request), longest=None):
        notes = notes_on(playback, message, request)
        for part in message["parts"]:
            part["notes"] = [asdict(note) for note in notes.get(part["at"], ())]
            if part["image"] is not None:
                found = part_named(history.load(message["index"]), part["at"])
                part["image"]["data"] = base64.b64encode((found and picture_of(found)) or b"").decode()
        messages.append(message)
    return {
        "session": about,
        "requests": [request_numbers(playback, number) for number in numbers],
        "strikes": [strike_to_json(playback, one, is_undoable=log is not None and one.end is None) for one in struck],
        "messages": messages,
    }


def without_secrets(value: dict[str, Any]) -> dict[str, Any]:
    """The value with keys, tokens and passwords replaced. Pictures are not looked into."""
    pictures = [part["image"].pop("data") for part in _pictures(value)]
    redacted: dict[str, Any] = json.loads(redact(json.dumps(value).encode()))
    for part, data in zip(_pictures(redacted), pictures, strict=True):
        part["image"]["data"] = data
    return redacted


def _pictures(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for message in value["messages"]:
        yield from (part for part in message["parts"] if part["image"] is not None)


def session_facts(value: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """What the session is, in pairs of a name and words."""
    about, requests, strikes = value["session"], value["requests"], value["strikes"]
    yield "session", f"{about['name']} ({about['agent']})"
    if about["project"]:
        yield "project", about["project"]
    if about["model"]:
        yield "model", about["model"]
    if about["started_ms"]:
        yield "from, to", f"{_when(about['started_ms'])}, {_when(about['ended_ms'])}"
    yield "messages, requests", f"{about['messages']:,}, {about['requests']:,}"
    if about["request"] is not None:
        yield "shown", f"what the model saw in request {about['request']}"
    if requests:
        yield "tokens", f"about {requests[-1]['sent_tokens']:,} in request {requests[-1]['number']}"
    if strikes or about["is_hypothetical"]:
        verbs = ("would fold", "would strike") if about["is_hypothetical"] else ("folded", "struck")
        who = f"the policy {about['policy']} " if about["is_hypothetical"] else ""
        for name, verb, is_fold in (("folds", verbs[0], True), ("strikes", verbs[1], False)):
            own = [strike for strike in strikes if strike["is_fold"] == is_fold]
            saved = sum(strike["tokens_before"] - strike["tokens_after"] for strike in own)
            if own or not is_fold:
                yield name, f"{who}{verb} {len(own):,} parts, {saved:,} tokens"
    if about["observed"]:
        yield "observed", f"what is recorded as struck was sent all the same: {about['observed']}"


def sent_text_of(part: dict[str, Any]) -> str | None:
    """All that a folded part says as it is sent; None for a part that is sent as it was said, or struck."""
    return next((note["sent"] for note in part.get("notes", ()) if note["sent"] is not None), None)


def heading_words(message: dict[str, Any]) -> str:
    """The line above a message: its index, its role, when it was said, how large it is."""
    told = [
        f"{message['index']} {message['role']}" if "index" in message else f"{message['role']}",
        _when(message.get("time_ms")),
        f"{message['tokens']:,} tokens" if message.get("tokens") else "",
        "pinned" if message.get("is_pinned") else "",
        f"repaired for the provider: {message['repaired']}" if "repaired" in message else "",
    ]
    return " · ".join(filter(None, told))


def _when(time_ms: float | None) -> str:
    """In UTC, since a file goes to other places; nothing for a time that no calendar has."""
    try:
        return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC" if time_ms else ""
    except (OverflowError, OSError, ValueError):
        return ""


_FOLDED_LINES = 12
"""Longer results are folded in HTML,"""
_LONG_LINES = 20
"""and in Markdown."""

# --- HTML

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def as_html(value: dict[str, Any]) -> str:
    """A page that needs nothing else: no script, no request to anywhere; from what `session_value` gives."""
    return "\n".join(_page(value)) + "\n"


def _page(value: dict[str, Any]) -> Iterator[str]:
    about = value["session"]
    title = _text(about["title"] or about["name"])
    style = files("redline.sessions").joinpath("export.css").read_text(encoding="utf-8")
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="referrer" content="no-referrer">'
    yield f"<title>{title}</title><style>\n{style}</style></head><body>"
    yield f"<h1>{title}</h1><dl>"
    yield from (f"<dt>{_text(name)}</dt><dd>{_text(words)}</dd>" for name, words in session_facts(value))
    yield "</dl><main>"
    if about["system"]:
        yield f"<article>{_details('The system prompt', about['system'])}</article>"
    for message in value["messages"]:
        role = message["role"] if message["role"] in ("user", "assistant", "system", "tool") else "other"
        anchor = f' id="m{message["index"]}"' if isinstance(message.get("index"), int) else ""
        yield f'<article class="{role}"{anchor}><h2>{_text(heading_words(message))}</h2>'
        for part in message["parts"]:
            notes, sent = part.get("notes", ()), sent_text_of(part)
            said = "".join(_said(part if sent is None else {**part, "text": sent}))
            yield f"<del>{said}</del>" if any(note["is_struck"] for note in notes) else said
            classes = ("note" if note["sent"] is None else "note fold" for note in notes)
            yield from (f'<p class="{name}">{_text(note["says"])}</p>' for name, note in zip(classes, notes, strict=True))
            yield from (_details("As it was said", part["text"]) for _ in [sent] if sent is not None)
        yield "</article>"
    yield "</main></body></html>"


def _said(part: dict[str, Any]) -> Iterator[str]:
    match part["kind"]:
        case "text":
            yield f'<pre class="words">{_text(part["text"])}</pre>'
        case "reasoning":
            yield f'<pre class="words reasoning">{_text(part["text"] or "thinks")}</pre>'
        case "call":
            yield f'<p class="call">→ <strong>{_text(part["tool"] or "tool")}</strong> {_text(part["says"] or "")}</p>'
            if not part["diff"]:
                yield _details("arguments", part["input"] or "")
                return
            tags = {"+": ("<ins>", "</ins>"), "-": ('<del class="gone">', "</del>"), " ": ("", "")}
            drawn = (f"{tags[sign][0]}{_text(f'{sign} {line}')}{tags[sign][1]}" for sign, line in part["diff"])
            yield '<pre class="box">' + "\n".join(drawn) + "</pre>"
        case "result" | "other":
            title = f"← {part['tool'] or part['kind']}{' failed' if part['is_error'] else ''}, {part['tokens']:,} tokens"
            if part["text"].count("\n") >= _FOLDED_LINES:
                yield _details(title, part["text"], is_failed=part["is_error"])
            else:
                yield f'<p class="{_title_class(part["is_error"])}">{_text(title)}</p>{_box(part["text"])}'
        case _:
            kind, image = part["media_type"], part["image"]
            if image is not None and image.get("data") and kind in PICTURES:
                yield f'<p><img alt="{_text(kind)}" src="data:{kind};base64,{_text(image["data"])}"></p>'
            else:
                yield f'<p class="title">[{_text(kind or "media")}]</p>'


def _details(title: str, text: str, *, is_failed: bool = False) -> str:
    return f'<details><summary class="{_title_class(is_failed)}">{_text(title)}</summary>{_box(text)}</details>'


def _title_class(is_failed: bool) -> str:
    return "title failed" if is_failed else "title"


def _box(text: str) -> str:
    return f'<pre class="box">{_text(text)}</pre>' if text.strip() else ""


def _text(text: str) -> str:
    """What was said, as text: tags and quotes escaped, and what nobody would see written out."""
    return escape("\n".join(visible_lines(text)), quote=True)


# --- Markdown

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<rest>.*)$")
"""Whatever GitHub takes for the beginning of a block of code must be found, or what follows is not where it seems to be."""
_HEADING = re.compile(r"( {0,3})(#{1,6})(?=\s|$)")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_SPECIAL = re.compile(r"[\\`*_\[\]#!|~>]")
_LOWEST_HEADING = 5
"""Headings in what was said are below those of messages."""


def as_markdown(value: dict[str, Any]) -> str:
    """Markdown in which nothing said is HTML, a picture to load or a heading of ours; from what `session_value` gives."""
    return "\n".join(_document(value)) + "\n"


def _document(value: dict[str, Any]) -> Iterator[str]:
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
    if (sent := sent_text_of(part)) is not None:
        yield from _part({**part, "text": sent, "notes": [{**note, "sent": None} for note in part["notes"]]})
        yield from _folded("As it was said", part["text"])
        return
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
            if is_struck or part["text"].count("\n") >= _LONG_LINES:
                yield from _folded(f"← {title}", part["text"], is_struck=is_struck)
            else:
                yield from (f"← {_inline(title)}", "", *(_fenced(part["text"]) if part["text"].strip() else ()))
        case _:
            yield from (f"*[{_inline(part['media_type'] or 'media')}]*", "")
    for note in part.get("notes", ()):
        yield from (f"> ✂ {_inline(note['says'])}", "")


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
