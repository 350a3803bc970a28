"""The drawings of the documents, as SVG files in docs/images: `python -m bench.drawings`."""

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Literal

__all__ = ["DRAWINGS", "main"]

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"

INK, GREY, PALE, RED, BLUE, GREEN, AMBER = "#1f2328", "#6e7781", "#f6f8fa", "#cf222e", "#0969da", "#1a7f37", "#bf8700"
FONT = "-apple-system, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"

Anchor = Literal["start", "middle", "end"]


def main() -> None:
    """Write every drawing."""
    IMAGES.mkdir(exist_ok=True)
    for name, draw in DRAWINGS.items():
        (IMAGES / name).write_text(draw(), encoding="utf-8")


def draw_idea() -> str:
    """The record on the left, what is sent of it on the right."""
    said = (
        ("0", "user", "Why does the build fail?", "sent"),
        ("1", "assistant", "calls Bash: make", "sent"),
        ("2", "result", "cc -c orders.c … (100 lines)", "struck"),
        ("3", "assistant", "calls Read: orders.c", "hidden"),
        ("4", "result", "int total() { … }", "hidden"),
        ("5", "assistant", "calls Bash: make", "sent"),
        ("6", "result", "error: total undeclared", "sent"),
        ("7", "assistant", "calls Bash: make deploy", "open"),
        ("8", "user", "Are you still there?", "sent"),
    )
    shapes = [
        words(20, 34, "The record", size=17, bold=True),
        words(20, 54, "all that was said, by index; only grows", size=12, color=GREY),
        words(470, 34, "The request", size=17, bold=True),
        words(470, 54, "what this model sees now", size=12, color=GREY),
    ]
    for place, (index, role, text, state) in enumerate(said):
        top = 70 + place * 40
        shapes += message(20, top, index, role, text, "#ffffff" if state != "hidden" else PALE)
        shapes += outcome(470, top, index, role, text, state)
        if state != "hidden":
            shapes.append(arrow(332, top + 15, 462, top + 15, color=RED if state in ("struck", "open") else GREY))
    shapes += [
        words(397, 70 + 3 * 40 + 12, "not in", size=12, color=GREY, anchor="middle"),
        words(397, 70 + 3 * 40 + 28, "the view", size=12, color=GREY, anchor="middle"),
        words(397, 70 + 2 * 40 + 9, "strike", size=12, color=RED, anchor="middle"),
        words(397, 70 + 7 * 40 + 9, "repair", size=12, color=RED, anchor="middle"),
    ]
    return svg(
        800,
        446,
        shapes,
        "Nine messages in the record; five of them are sent as they were said, one is struck, one repaired, two hidden.",
    )


def message(left: float, top: float, index: str, role: str, text: str, fill: str) -> list[str]:
    """A message as a box: index, who said it, what."""
    return [
        box(left, top, 310, 30, fill=fill),
        words(left + 10, top + 20, index, size=12, color=GREY),
        words(left + 28, top + 20, role, size=12, color=BLUE if role != "result" else GREEN),
        words(left + 98, top + 20, text, size=12),
    ]


def outcome(left: float, top: float, index: str, role: str, text: str, state: str) -> list[str]:
    """What becomes of a message in the request."""
    if state == "hidden":
        return []
    if state == "struck":
        return message(left, top, index, role, "[This output is out of date]", "#fff5f5")
    if state == "open":
        return message(left, top, index, role, "left out: no result ever came", "#fff5f5")
    return message(left, top, index, role, text, "#ffffff")


def draw_request() -> str:
    """The way of a request, from the record to the provider and back."""
    steps = (
        ("record", "all messages,", "by index", GREY),
        ("view", "which are", "visible", BLUE),
        ("repair", "open calls", "put right", BLUE),
        ("rules", "mark what may", "go, and why", AMBER),
        ("schedule", "applies marks", "now, or holds", AMBER),
        ("laws", "refuse what is", "not legal", RED),
        ("request", "messages,", "with reasons", GREEN),
    )
    shapes: list[str] = []
    for place, (name, first, second, color) in enumerate(steps):
        left = 14 + place * 112
        shapes += [
            box(left, 30, 98, 78, line=color),
            words(left + 49, 54, name, size=15, bold=True, color=color, anchor="middle"),
            words(left + 49, 76, first, size=11, anchor="middle"),
            words(left + 49, 92, second, size=11, anchor="middle"),
        ]
        if place:
            shapes.append(arrow(left - 13, 69, left - 2, 69))
    back = "M 735 110 L 735 146 L 63 146 L 63 114"
    shapes += [
        f'<path d="{back}" fill="none" stroke="{RED}" stroke-width="1.5" marker-end="url(#head-{RED[1:]})"/>',
        words(
            400,
            164,
            "strikes, with their reasons, are written into the record: the next request sends the same bytes",
            size=12,
            color=RED,
            anchor="middle",
        ),
    ]
    return svg(800, 178, shapes, "Record, view, repair, rules, schedule, laws, request; the strikes go back into the record.")


def draw_cache() -> str:
    """What a strike in the middle does to the prompt cache, warm and cold."""
    shapes = [
        words(
            20,
            30,
            "One request, three ways. Reading a cached token costs 0.1, writing one 1.25 (Anthropic, five minutes).",
            size=13,
        )
    ]
    shapes += bar(56, "warm cache, nothing struck", ((600, "read: 60,000 × 0.1", GREEN), (20, "", AMBER)), "8,500")
    shapes += bar(
        126,
        "warm cache, struck at once",
        ((100, "read", GREEN), (-60, "struck", RED), (460, "written again: 46,000 × 1.25", AMBER)),
        "58,500",
    )
    shapes += bar(
        196,
        "cold cache, struck now",
        ((100, "", AMBER), (-60, "struck", RED), (460, "written anyway: 56,000 × 1.25", AMBER)),
        "70,000",
    )
    shapes += [
        words(
            20,
            276,
            "The strike takes 6,000 tokens out. In a warm cache that saves 600 a request and costs 50,600 once: 85 requests",
            size=13,
        ),
        words(
            20,
            296,
            "to pay it back. So the mark waits. In a cold cache all is written anyway (77,500 unstruck): now it is free.",
            size=13,
        ),
    ]
    return svg(
        800,
        312,
        shapes,
        "Bars: with a warm cache a strike in the middle has everything after it written again; with a cold one it is free.",
    )


def bar(top: float, title: str, pieces: tuple[tuple[float, str, str], ...], total: str) -> list[str]:
    """A history as a bar of pieces; a struck piece has a negative width and is drawn as a gap."""
    shapes = [words(20, top, title, size=13, bold=True), words(780, top + 27, total, size=14, bold=True, anchor="end")]
    left = 20.0
    for width, text, color in pieces:
        wide = abs(width)
        fill = "#ffffff" if width < 0 else color
        dash = ' stroke-dasharray="4 3"' if width < 0 else ""
        shapes.append(
            f'<rect x="{left:g}" y="{top + 8:g}" width="{wide:g}" height="28" fill="{fill}" '
            f'fill-opacity="{1 if width < 0 else 0.25}" stroke="{color}"{dash}/>'
        )
        if text:
            shapes.append(words(left + wide / 2, top + 27, text, size=12, color=color if width < 0 else INK, anchor="middle"))
        left += wide
    return shapes


def draw_strike() -> str:
    """The life of a mark: proposed, held, applied, and what can end it."""
    states = (
        (20, 60, "mark", "a rule says: this may go", AMBER),
        (300, 60, "strike", "applied, recorded, stays", RED),
        (590, 20, "undone", "you took it back", GREY),
        (590, 100, "lifted", "the view moved, no ground", GREY),
        (20, 160, "held", "waits, with the reason", AMBER),
        (300, 160, "refused", "the provider would refuse", GREY),
    )
    shapes: list[str] = []
    for left, top, name, text, color in states:
        shapes += [
            box(left, top, 190, 54, line=color),
            words(left + 95, top + 23, name, size=15, bold=True, color=color, anchor="middle"),
            words(left + 95, top + 42, text, size=12, anchor="middle"),
        ]
    shapes += [
        arrow(212, 87, 298, 87),
        words(255, 78, "schedule: now", size=11, color=GREY, anchor="middle"),
        arrow(492, 80, 588, 47),
        words(535, 54, "undo", size=11, color=GREY, anchor="middle"),
        arrow(492, 94, 588, 127),
        words(532, 130, "view moves", size=11, color=GREY, anchor="middle"),
        arrow(95, 116, 95, 158),
        words(88, 142, "not yet", size=11, color=GREY, anchor="end"),
        arrow(135, 158, 135, 118),
        words(142, 142, "next request", size=11, color=GREY),
        arrow(190, 116, 320, 158),
        words(276, 136, "law", size=11, color=GREY),
    ]
    return svg(
        800, 232, shapes, "A mark is held, refused, or applied as a strike; a strike ends only when it is undone or lifted."
    )


# --- pieces


def svg(width: int, height: int, shapes: list[str], told: str) -> str:
    """A whole drawing on white, so that it can be read on a dark page too."""
    heads = "".join(
        f'<marker id="head-{color[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M 0 0 L 8 4 L 0 8 z" fill="{color}"/></marker>'
        for color in (GREY, RED)
    )
    inside = "\n".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'role="img" font-family="{FONT}">\n<title>{escape(told)}</title>\n<defs>{heads}</defs>\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>\n{inside}\n</svg>\n'
    )


def box(left: float, top: float, width: float, height: float, *, line: str = "#d0d7de", fill: str = "#ffffff") -> str:
    return f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="5" fill="{fill}" stroke="{line}"/>'


def words(
    left: float, base: float, text: str, *, size: int, color: str = INK, bold: bool = False, anchor: Anchor = "start"
) -> str:
    weight = ' font-weight="600"' if bold else ""
    look = f'font-size="{size}" fill="{color}"{weight} text-anchor="{anchor}"'
    return f'<text x="{left:g}" y="{base:g}" {look}>{escape(text)}</text>'


def arrow(from_x: float, from_y: float, to_x: float, to_y: float, *, color: str = GREY) -> str:
    head = f"url(#head-{color[1:]})"
    return (
        f'<path d="M {from_x:g} {from_y:g} L {to_x:g} {to_y:g}" fill="none" stroke="{color}" stroke-width="1.5" '
        f'marker-end="{head}"/>'
    )


DRAWINGS: dict[str, Callable[[], str]] = {
    "idea.svg": draw_idea,
    "request.svg": draw_request,
    "strike.svg": draw_strike,
    "cache.svg": draw_cache,
}
"""Each drawing by the name of its file."""


if __name__ == "__main__":
    main()
