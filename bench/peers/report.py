"""The tables of docs/results.md under "Peers side by side", made of what the runs have written.

python -m bench.peers.report FOLDER                print the tables into the page
python -m bench.peers.report FOLDER --png FILE     and draw the times (needs matplotlib)
"""

import json
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

__all__ = ["main"]

_PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
_BEGIN, _END = "<!-- written by python -m bench.peers.report: -->", "<!-- :bench.peers.report -->"
_DEFAULT, _DECIDED = "Redline's default policy, decided", "Redline, decided"
_BYTES, _MESSAGES = "Redline, as bytes", "Redline, as messages"
_OWN = (_DEFAULT, _DECIDED, _BYTES, _MESSAGES)
Row = dict[str, Any]


def main(folder: Path, picture: Path | None = None) -> None:
    """Write the section, and draw."""
    peers = [json.loads(path.read_text()) for path in sorted(folder.glob("*/found.json"))]
    parts = [
        _about(peers),
        *_section("Time and memory of a request", _requests(peers)),
        *_section("Damaged histories", _repairs(peers)),
        *_section("Bill and risk", _bill(folder / "bill.json")),
        *_section("Reading a session", _reading(peers)),
        *_section("Proxies", _proxies(folder / "proxies.json")),
    ]
    if picture is not None:
        _draw(peers, picture)
    page = _PAGE.read_text(encoding="utf-8")
    if page.count(_BEGIN) != 1 or page.count(_END) != 1:
        raise SystemExit(f"docs/results.md must hold {_BEGIN} and {_END} once each")
    text = f"{_BEGIN}\n\n" + "\n".join(parts).strip() + f"\n\n{_END}"
    _PAGE.write_text(re.sub(f"{_BEGIN}.*{_END}", lambda _: text, page, flags=re.DOTALL), encoding="utf-8")


def _about(peers: Sequence[Row]) -> str:
    versions = sorted({f"{name} {number}" for peer in peers for name, number in peer["versions"].items()})
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    machine = f"{os.cpu_count()} cores, {memory:.0f} GB, Python {platform.python_version()}, {platform.system()}"
    return f"Versions: {', '.join(versions)}. Machine: {machine}.\n"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    yield f"### {title}\n"
    yield "\n".join(found) if found else "Not measured in this run."
    yield ""


def _table(*columns: str) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"


# --- requests


def _requests(peers: Sequence[Row]) -> Iterator[str]:
    """A row for each way; ratios are to Redline in the process of this peer."""
    found = [(peer, way) for peer in peers for way in _ways(peer)]
    lengths = sorted({row["messages"] for peer in peers for row in peer["requests"]})
    if not found:
        return
    shown = [f"{length:,}" for length in lengths]
    yield from _table(
        "after one more message, ms", *shown, "grows", "first", "memory", "÷ default", "÷ decided", "÷ bytes", "÷ messages"
    )
    for way in _OWN:
        yield f"| **{way}** (in each process: lowest to highest median) | {' | '.join(_own_cells(peers, way, lengths))} |"
    for peer, way in found:
        yield f"| {way} | {' | '.join(_cells(peer, way, lengths))} |"


def _ways(peer: Row) -> list[str]:
    return list(dict.fromkeys(row["way"] for row in peer["requests"] if row["way"] not in _OWN))


def _at(peer: Row, way: str, length: int) -> Row:
    return next((row for row in peer["requests"] if (row["way"], row["messages"]) == (way, length)), {})


def _cells(peer: Row, way: str, lengths: Sequence[int]) -> Iterator[str]:
    rows = [_at(peer, way, length) for length in lengths]
    for row in rows:
        spread = (
            f"{_ms(row['median'])} ({_ms(row['low'])} to {_ms(row['high'])})" if "median" in row else row.get("failed", "–")
        )
        yield spread
    last = rows[-1]
    if "median" not in last or "median" not in rows[0]:
        yield from [""] * (3 + len(_OWN))
        return
    yield f"{last['median'] / rows[0]['median']:,.1f} ×"
    yield f"{_ms(last['first'])}"
    yield f"{last['peak_bytes'] / 1e6:.2f} MB"
    for own in _OWN:
        yield f"{_ratio(last['median'] / _at(peer, own, lengths[-1])['median'])}"


def _own_cells(peers: Sequence[Row], way: str, lengths: Sequence[int]) -> Iterator[str]:
    """From the lowest to the highest of all processes in which this length was measured."""
    columns = [[row for peer in peers if (row := _at(peer, way, length))] for length in lengths]
    for rows in columns:
        yield _range(row["median"] for row in rows)
    whole = [peer for peer in peers if _at(peer, way, lengths[-1])]
    grown = [_at(peer, way, lengths[-1])["median"] / _at(peer, way, lengths[0])["median"] for peer in whole]
    yield f"{min(grown):.1f} to {max(grown):.1f} ×"
    yield _range(row["first"] for row in columns[-1])
    yield f"{max(row['peak_bytes'] for row in columns[-1]) / 1e6:.2f} MB"
    yield from [""] * len(_OWN)


def _range(values: Iterable[float]) -> str:
    found = sorted(values)
    return f"{_ms(found[0])} to {_ms(found[-1])}"


def _draw(peers: Sequence[Row], path: Path) -> None:
    """Milliseconds by messages; Redline's as they were in the first process with the longest history."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.5), layout="constrained", dpi=90)
    axis = figure.subplots()
    colors = ("blue", "orange", "green", "purple", "brown", "pink", "gray", "olive", "cyan")  # red is Redline's
    axis.set_prop_cycle(color=[f"tab:{color}" for color in colors])
    timed = [peer for peer in peers if peer["requests"]]
    longest = max(timed, key=lambda peer: max(row["messages"] for row in peer["requests"] if row["way"] == _DECIDED))
    own = [(longest, way, "tab:red") for way in _OWN]
    others = [(peer, way, None) for peer in timed for way in _ways(peer)]
    for peer, way, color in [*own, *others]:
        points = [(row["messages"], row["median"]) for row in peer["requests"] if row["way"] == way and "median" in row]
        style = {_DEFAULT: "-.", _BYTES: "--", _MESSAGES: ":"}.get(way, "-")
        axis.plot(
            *zip(*points, strict=True), style, color=color, linewidth=2 if color else 1, marker="o", markersize=3, label=way
        )
    axis.set(xscale="log", yscale="log", xlabel="messages", ylabel="ms of the processor, one more message")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.savefig(path, format="png")


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"


def _ratio(value: float) -> str:
    return f"{value:,.0f} ×" if value >= 10 else f"{value:.2f} ×"


# --- repairs


def _repairs(peers: Sequence[Row]) -> Iterator[str]:
    rows = {(row["damage"], row["repair"], row["format"]): row for peer in peers for row in peer["repairs"]}
    if not rows:
        return
    damages = list(dict.fromkeys(damage for damage, _, _ in rows))
    yield from _table("repair, shape of what comes out", *(f"{damage}: legal, content kept, refused" for damage in damages))
    for repair, format in dict.fromkeys((repair, format) for _, repair, format in rows):
        cells = [_repair_cell(rows[damage, repair, format]) for damage in damages]
        name = f"**{repair}**" if repair == "Redline" else repair
        yield f"| {name}, `{format}` | {' | '.join(cells)} |"


def _repair_cell(row: Row) -> str:
    refused = f", refused {row['refused'] / row['cases']:.1%}" if row["refused"] else ""
    return f"{row['legal'] / max(row['cases'] - row['refused'], 1):.1%}, {row['kept']:.1%}{refused}"


# --- bill


def _bill(path: Path) -> Iterator[str]:
    if not path.exists():
        return
    found = json.loads(path.read_text())
    rows = found["rows"]
    yield from _table(
        f"at {found['prices']}", "bill", "with re-reads", "quoted", "strict", "Redline beats it with", "bill", "strict"
    )
    for name in found["presets"]:
        yield f"| **{name}** | {' | '.join(_bill_cells(rows[name]))} | | | |"
    for name in found["policies"]:
        best = rows[name].get("better")
        beside = f"{best} | {rows[best]['bill']:.3f} | {rows[best]['strict']:.1%}" if best else "| |"
        yield f"| {name} | {' | '.join(_bill_cells(rows[name]))} | {beside} |"


def _bill_cells(row: Row) -> tuple[str, ...]:
    return f"{row['bill']:.3f}", f"{row['with_rereads']:.3f}", f"{row['quoted']:.1%}", f"{row['strict']:.1%}"


# --- reading


def _reading(peers: Sequence[Row]) -> Iterator[str]:
    for peer in peers:
        if not peer["reading"]:
            continue
        bare = peer["reading"][0]
        columns = (
            f"{bare['bytes'] / 1e6:.0f} MB, {bare['lines']:,} lines",
            "seconds (quartiles)",
            "MB/s",
            "÷ bare",
            "held afterwards",
        )
        yield from _table(*columns)
        for row in peer["reading"]:
            spread = f"{row['median']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
            speed = row["bytes"] / row["median"] / 1e6
            held = f"{row['held_bytes'] / 1e6:.1f} MB"
            yield f"| {row['reader']} | {spread} | {speed:,.0f} | {row['median'] / bare['median']:.2f} × | {held} |"


# --- proxies


def _proxies(path: Path) -> Iterator[str]:
    rows = json.loads(path.read_text()) if path.exists() else []
    groups = dict.fromkeys((row["size"], row["streams"], row["clients"]) for row in rows)
    servers = list(dict.fromkeys(row["server"] for row in rows))
    if not rows:
        return
    added = [f"{name} adds" for name in servers[1:]]
    of_each = [f"{name} {what}" for what in ("MB", "cpu") for name in servers[1:]]
    yield from _table("body, clients", "direct, ms", *added, "redline ÷ bare", *of_each)
    for group in groups:
        by_name = {row["server"]: row for row in rows if (row["size"], row["streams"], row["clients"]) == group}
        size, streams, clients = group
        title = f"{size}{', streaming' if streams else ''}, {clients}"
        yield f"| {title} | {' | '.join(_proxy_cells([by_name[name] for name in servers]))} |"


def _proxy_cells(rows: Sequence[Row]) -> Iterator[str]:
    direct, *others = rows
    yield _ms(direct["median"])
    for row in others:
        yield _ms(row["median"] - direct["median"]) if "median" in row and not row["failed"] else "errors"
    bare, redline = (row["median"] - direct["median"] for row in others[:2])
    yield f"{redline / bare:.2f} ×" if bare > 0 else ""
    for row in others:
        yield f"{row['mb']:.0f}"
    for row in others:
        yield _ms(row["cpu_ms"])


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[3]) if sys.argv[2:3] == ["--png"] else None)
