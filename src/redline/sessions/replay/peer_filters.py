"""What other programs make of a tool's output before it is first sent, rebuilt from their documents: pure functions on text.

Each has the settings that its makers ship. None of their code is here; where their documents leave something open, more is
kept rather than less. `docs/replay-and-results.md` names versions and sources.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, pairwise
from posixpath import basename

from redline.folds.routine_lines import BUILDING, LIKELY_TESTS, PASSED_TESTS, plain_text, routine_lines
from redline.tools import last_program


@dataclass(frozen=True, slots=True)
class PeerFilter:
    """A program that shrinks output at its source."""

    says: str
    """What it does, in a few words."""
    shrink: Callable[[str, str], str]
    """From the output and the shell command that printed it, which is empty for other tools: what is sent."""
    spares_reads: bool = False
    """Whether the results of a tool that only reads files stay as they are."""
    refers: bool = False
    """Whether lines that an earlier result has are replaced by a reference to it."""


# --- agents that cut

_BYTES_FOR_TOKEN = 4
_CODEX_TOKENS = 10_000
_CODEX_BYTES, _CODEX_LINES = 10 * 1024, 256
_CLAUDE_CHARS, _CLAUDE_PREVIEW_CHARS = 30_000, 2_000


def cut_like_codex(text: str, command: str = "") -> str:  # noqa: ARG001 - whatever the tool
    """Codex now: 10,000 tokens at four bytes each, half of them from the beginning and half from the end."""
    size, most = len(text.encode("utf-8", "replace")), _CODEX_TOKENS * _BYTES_FOR_TOKEN
    left_out = -(-(size - most) // _BYTES_FOR_TOKEN)
    return text if size <= most else without_middle(text, most, f"…{left_out} tokens truncated…")


def cut_like_codex_lines(text: str, command: str = "") -> str:  # noqa: ARG001 - whatever the tool
    """Codex until November 2025: 10 KiB or 256 lines, half of either from the beginning and half from the end."""
    lines, half = text.split("\n"), _CODEX_LINES // 2
    if len(lines) > _CODEX_LINES:
        notice = f"[... omitted {len(lines) - _CODEX_LINES} of {len(lines)} lines ...]"
        text = "\n".join([*lines[:half], "", notice, "", *lines[-half:]])
    if len(text.encode("utf-8", "replace")) <= _CODEX_BYTES:
        return text
    return without_middle(text, _CODEX_BYTES, f"\n\n[... output truncated to fit {_CODEX_BYTES} bytes ...]\n\n")


def without_middle(text: str, most_bytes: int, notice: str) -> str:
    """The first and the last half of so many bytes, and a notice between them."""
    content = text.encode("utf-8", "replace")
    begin, end = content[: most_bytes // 2], content[-most_bytes // 2 :]
    return f"{begin.decode('utf-8', 'ignore')}{notice}{end.decode('utf-8', 'ignore')}"


def cut_like_claude_code(text: str, command: str) -> str:
    """Claude Code before 2.1.2: of a command's output 30,000 characters (`BASH_MAX_OUTPUT_LENGTH`), without its middle."""
    if not command or len(text) <= _CLAUDE_CHARS:
        return text
    half = _CLAUDE_CHARS // 2
    return f"{text[:half]}\n\n... [{text[half:-half].count(chr(10)) + 1} lines truncated] ...\n\n{text[-half:]}"


def preview_like_claude_code(text: str, command: str) -> str:
    """Claude Code since 2.1.2: of longer output the first 2,000 characters, and the file that has the whole."""
    if not command or len(text) <= _CLAUDE_CHARS:
        return text
    size = f"Output too large ({len(text) / 1024:.1f}KB). Full output saved to: tool-results/output.txt"
    preview = f"Preview (first 2KB):\n{text[:_CLAUDE_PREVIEW_CHARS]}\n..."
    return f"<persisted-output>\n{size}\n\n{preview}\n</persisted-output>"


# --- rtk: a filter for each command

_MOST_FOUND, _MOST_FOUND_IN_FILE, _LONGEST_MATCH = 200, 25, 150
_MOST_LISTED = 50
_MOST_DIFF_LINES, _MOST_HUNK_LINES = 500, 100
_MOST_CHANGED, _MOST_UNTRACKED = 15, 10
_LONGEST_SUBJECT = 80
_LONGEST_DIAGNOSTIC = 120
_MOST_FETCHED_LINES, _LONGEST_FETCHED = 30, 200
_NOISE = frozenset({".git", "node_modules", "target", "__pycache__", ".venv", "vendor", ".next", "dist", "build", ".cache"})
_MATCH = re.compile(r"(?P<path>[^\s:][^:\n]*?[./][^:\n]*):(?P<rest>\d+:.*)")
_ROW = re.compile(r"(?P<path>)(?P<rest>.+)")
_DIAGNOSTIC = re.compile(r"(?P<path>[^\s:(]+\.\w+)(?::(?=\d)|(?=\(\d))(?P<rest>.*)")
_COMMIT = re.compile(r"commit ([0-9a-f]{7})[0-9a-f]{0,57}\b")
_OF_COMMIT = re.compile(r"    |(?:Author|AuthorDate|Commit|CommitDate|Date|Merge):|\Z")
_LONG_LISTING = re.compile(r"[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s+\w+\s+\S+\s+\S+\s+(.+)")
_FAILED = re.compile(r"^(?:error|fatal|warning|hint):|^CONFLICT|rejected|failed to push", re.MULTILINE)
_CHANGE, _SHORT_STATUS = re.compile(r"^(\w)[a-z ]+:\s+"), re.compile(r"(?:[ MADRCU]{2}|\?\?) \S")
_LEAD = re.compile(r"platform |cachedir: |rootdir: |configfile: |plugins: |collect(?:ed|ing) |running \d+ tests?|=== RUN")
_CHANGED_FILES = re.compile(r"\d+ files? changed.*")


def short(line: str, most: int) -> str:
    """A line, cut off where it is too long."""
    return line if len(line) <= most else f"{line[: most - 3]}..."


def group_matches(lines: list[str]) -> list[str]:
    """What a search found, under the path of its file with their count: 25 in a file, 200 in all, each line cut off."""
    return grouped(lines, _MATCH, _LONGEST_MATCH, most=_MOST_FOUND, most_in_file=_MOST_FOUND_IN_FILE)


def group_rows(lines: list[str]) -> list[str]:
    """What a search found where nothing else was printed: rows without a path are all of one file."""
    pattern = _MATCH if any(map(_MATCH.match, lines)) else _ROW
    return grouped(lines, pattern, _LONGEST_MATCH, most=_MOST_FOUND, most_in_file=_MOST_FOUND_IN_FILE)


def group_diagnostics(lines: list[str]) -> list[str]:
    """What a compiler or linter says, under the path of its file, each line cut off at 120 characters."""
    return grouped(lines, _DIAGNOSTIC, _LONGEST_DIAGNOSTIC, most=len(lines), most_in_file=len(lines))


def grouped(lines: list[str], pattern: re.Pattern[str], longest: int, *, most: int, most_in_file: int) -> list[str]:
    """Lines that begin with the path of a file, under it; other lines stay where they are."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    order = list[tuple[bool, str]]()
    for line in lines:
        match = pattern.match(line)
        if match is None:
            order.append((False, line))
            continue
        if match["path"] not in found:
            order.append((True, match["path"]))
        found[match["path"]].append(short(match["rest"].strip(), longest))
    kept, left = list[str](), most
    for is_path, line in order:
        shown = found[line][: min(left, most_in_file)] if is_path else []
        if not is_path:
            kept.append(line)
        elif shown:
            more = len(found[line]) - len(shown)
            kept += [f"{line} ({len(found[line])}):", *(f"  {one}" for one in shown), *([f"  +{more}"] if more else [])]
        left -= len(shown)
    count = sum(map(len, found.values()))
    return [*kept, f"... +{count - most} more"] if count > most else kept


def shorten_diff(lines: list[str]) -> list[str]:
    """A diff without its headers: 100 lines of a hunk, 500 in all."""
    if not any(line.startswith("diff --git ") for line in lines):
        return lines
    kept, in_hunk, is_header, is_cut = list[str](), 0, False, False
    for line in lines:
        if line.startswith("diff --git "):
            kept += ["", line.rpartition(" b/")[2]]
            is_header = True
        elif line.startswith("@@"):
            kept.append(line)
            in_hunk, is_header = 0, False
        elif not is_header and in_hunk <= _MOST_HUNK_LINES:
            is_last = in_hunk == _MOST_HUNK_LINES
            kept.append("  ... (more lines truncated)" if is_last else line)
            in_hunk, is_cut = in_hunk + 1, is_cut or is_last
    if len(kept) > _MOST_DIFF_LINES:
        kept, is_cut = [*kept[:_MOST_DIFF_LINES], "... (more changes truncated)"], True
    return [*kept, "[full diff: rtk git diff --no-compact]"] if is_cut else kept


def shorten_log(lines: list[str]) -> list[str]:
    """Of each commit its hash, its subject and who made it, on one line; no body."""
    kept, commit, author = list[str](), "", ""
    for line in lines:
        if match := _COMMIT.match(line):
            commit, author = match[1], ""
            kept.append("")
        elif commit and line.startswith("Author:"):
            author = line[7:].partition("<")[0].strip()
        elif commit and line.startswith("    ") and line.strip() and not kept[-1]:
            kept[-1] = short(f"{commit} {line.strip()} <{author}>", _LONGEST_SUBJECT)
        elif not (commit and _OF_COMMIT.match(line)):
            kept.append(line)
            commit = ""
    return kept


def shorten_status(lines: list[str]) -> list[str]:
    """The branch, 15 changed files and 10 untracked ones; no hints."""
    kept, changed, untracked, is_untracked = list[str](), 0, 0, False
    for line in lines:
        if line.startswith("Untracked files:"):
            is_untracked = True
        elif line.startswith("\t") or _SHORT_STATUS.match(line):
            is_new = is_untracked or line.startswith("??")
            changed, untracked = changed + (not is_new), untracked + is_new
            if (untracked <= _MOST_UNTRACKED) if is_new else (changed <= _MOST_CHANGED):
                name = line.strip()
                kept.append(
                    f"? {name}" if is_untracked else re.sub(r"^(\w)[a-z ]+:\s+", lambda one: f"{one[1].upper()} ", name)
                )
        elif line.strip() and not line.lstrip().startswith("(use ") and not line.endswith(":"):
            kept.append(line)
    more = [(changed - _MOST_CHANGED, "changed"), (untracked - _MOST_UNTRACKED, "untracked")]
    return [*kept, *(f"... +{count} {what}" for count, what in more if count > 0)]


def confirm(lines: list[str]) -> list[str]:
    """`ok`, with the hash of the commit or how much changed; what failed is told whole."""
    text = "\n".join(lines)
    if _FAILED.search(text) or any(line.startswith("diff --git ") for line in lines):
        return lines
    commit, changed = re.search(r"^\[\S+ (?:\(root-commit\) )?([0-9a-f]{7})", text, re.MULTILINE), _CHANGED_FILES.search(text)
    return [" ".join(["ok", *(one for one in (commit and commit[1], changed and changed[0]) if one)])]


def drop_passed_tests(lines: list[str]) -> list[str]:
    """What failed, and the summary: no test that passed, none of what a runner says before it begins."""
    gone = routine_lines(plain_text("\n".join(lines)), (*PASSED_TESTS, *LIKELY_TESTS))
    kept = [line for number, line in enumerate(lines) if number not in gone and line.strip() and not _LEAD.match(line)]
    return [*kept, f"({len(gone)} passed)"] if gone else kept


def drop_progress(lines: list[str]) -> list[str]:
    """Errors, warnings and what came of it: none of building, downloading, installing."""
    gone = routine_lines(plain_text("\n".join(lines)), BUILDING)
    return [line for number, line in enumerate(lines) if number not in gone]


def shorten_listing(lines: list[str]) -> list[str]:
    """Of `ls -l` names and sizes; no folder that is noise."""
    kept = list[str]()
    for line in lines:
        match = _LONG_LISTING.match(line)
        name = match[2] if match else line.rstrip("/")
        if name not in (*_NOISE, ".", "..") and not line.startswith("total "):
            kept.append(line if match is None else f"{name}/" if line[0] == "d" else f"{name}  {match[1]}")
    return kept


def group_paths(lines: list[str]) -> list[str]:
    """50 paths, under their folder; none in a folder that is noise."""
    paths = [line.removeprefix("./") for line in lines if line and _NOISE.isdisjoint(line.split("/"))]
    kept = list[str]()
    for folder, names in groupby(paths[:_MOST_LISTED], key=lambda path: path.rpartition("/")[0]):
        kept.append(" ".join([f"{folder or '.'}/", *(basename(name) for name in names)]))
    return [*kept, f"+{len(paths) - _MOST_LISTED} more"] if len(paths) > _MOST_LISTED else kept


def merge_repeated(lines: list[str]) -> list[str]:
    """Each line of a log once, with how often it came."""
    return [line if count == 1 else f"{line} (×{count})" for line, count in Counter(lines).items()]


def cut_fetched(lines: list[str]) -> list[str]:
    """30 lines of what was fetched, each cut off at 200 characters."""
    more = [f"... ({len(lines) - _MOST_FETCHED_LINES} more lines)"] if len(lines) > _MOST_FETCHED_LINES else []
    return [*(short(line, _LONGEST_FETCHED) for line in lines[:_MOST_FETCHED_LINES]), *more]


_Lines = Callable[[list[str]], list[str]]

RTK: dict[str, _Lines] = {
    **dict.fromkeys(("git diff", "git show", "git stash", "gh pr diff"), shorten_diff),
    **dict.fromkeys(("git log",), shorten_log),
    **dict.fromkeys(("git status",), shorten_status),
    **dict.fromkeys(("grep", "rg"), group_matches),
    **dict.fromkeys(("ls",), shorten_listing),
    **dict.fromkeys(("cargo test", "cargo nextest", "go test", "dotnet test"), drop_passed_tests),
    **dict.fromkeys(("pytest", "jest", "vitest", "playwright", "rspec", "phpunit"), drop_passed_tests),
    **dict.fromkeys(("cargo build", "cargo check", "cargo clippy", "cargo install", "go build", "dotnet build"), drop_progress),
    **dict.fromkeys(("npm", "pnpm", "pip install", "uv pip", "next", "prisma", "docker build", "wget"), drop_progress),
    **dict.fromkeys(("tsc", "mypy", "ruff", "eslint", "biome", "golangci-lint", "rubocop"), group_diagnostics),
}
"""By the words that a command begins with, for its lines among those of other commands. Commands that are not here stay as they
are, `cat` and its like among them."""

RTK_ALONE: dict[str, _Lines] = {
    **dict.fromkeys(("git add", "git commit", "git push", "git pull", "git fetch"), confirm),
    **dict.fromkeys(("grep", "rg"), group_rows),
    **dict.fromkeys(("find", "fd"), group_paths),
    **dict.fromkeys(("docker logs", "kubectl logs"), merge_repeated),
    **dict.fromkeys(("curl",), cut_fetched),
}
"""Filters for the output of one command, which is not told apart from that of others."""

_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")
_SCRIPTED = re.compile(r"\b(?:cmd|command)\"?\s*:\s*(?:\"((?:\\.|[^\"\\])*)\"|'([^']*)'|`([^`]*)`)")
"""A command in a script that calls tools, as Codex writes them."""
_WRAPPERS = re.compile(
    r"^(?:(?:[A-Z_]\w*=\S*|sudo|time|command|env|npx|bunx|uv run|poetry run|pnpm exec|python3? -m|timeout \S+)\s+)+"
)
_SILENT = frozenset({"cd", "export", "set", "source", "mkdir", ""})
_PRINTS_NAMES = re.compile(r"\s(?:-\w*[clLoZ]\w*|--(?:files|count|only)\S*)(?=\s|$)")
"""Searches that print something else than matches are not filtered."""
_HEADER = re.compile(r"(?:[A-Z][^\n]*\n){1,6}Output:\n")
"""What Codex writes before the output of a command."""


def rtk_names(command: str) -> list[str]:
    """The commands of a list, as rtk names them; of a pipeline what it prints at last. Empty for one that it does not know."""
    scripted = ("".join(groups) for groups in _SCRIPTED.findall(command)) if "exec_command" in command else ()
    names = list[str]()
    for pipeline in re.split(r"&&|\|\||;|\n", _QUOTED.sub("''", "\n".join(scripted) or command)):
        printed = _WRAPPERS.sub("", last_program(pipeline.replace("2>&1", "")))
        words = printed.split() or [""]
        if words[0] in _SILENT:
            continue
        words = [basename(words[0]), *(word for word in words[1:] if not word.startswith("-"))]
        known = (" ".join(words[:count]) for count in (3, 2, 1))
        name = next((name for name in known if name in RTK or name in RTK_ALONE), "")
        names.append("" if name in ("grep", "rg") and _PRINTS_NAMES.search(printed) else name)
    return names


def filter_like_rtk(text: str, command: str) -> str:
    """rtk: each command's output by a filter of its own; never longer than it was."""
    names = rtk_names(command) if command else []
    header = match[0] if (match := _HEADER.match(text)) else ""
    lines = text[len(header) :].split("\n")
    is_alone = len(names) == 1 or all(RTK_ALONE.get(name) is confirm for name in names)
    for name in dict.fromkeys(names[:1] if is_alone else names):
        shrink = (RTK | RTK_ALONE if is_alone else RTK).get(name)
        lines = shrink(lines) if shrink is not None else lines
    shrunk = "\n".join([f"{header}{lines[0]}" if lines else header, *lines[1:]])
    return shrunk if len(shrunk) < len(text) else text


# --- Headroom: folds with an inverse


class Heading:
    """The first half of a row, once above the rows in a row that begin with it."""

    def __init__(self, row: str, rest: str, *, joint: str = "", end: str = "") -> None:
        self._row, self._rest, self._joint, self._end = re.compile(row), re.compile(rest), joint, end

    def fold(self, lines: Sequence[str]) -> list[str]:
        """The rows under their headings."""
        folded, heading = list[str](), None
        for line in lines:
            match = self._row.fullmatch(line)
            if match is not None and match[1] != heading:
                folded.append(match[1])
            folded.append(line if match is None else match[2])
            heading = match[1] if match is not None else None
        return folded

    def unfold(self, lines: Sequence[str]) -> list[str]:
        """Each row with its heading before it."""
        unfolded, heading = list[str](), ""
        for line, after in pairwise([*lines, ""]):
            is_rest = self._rest.fullmatch(line) is not None
            if heading and is_rest:
                unfolded.append(f"{heading}{self._joint}{line}")
            elif not is_rest and line.endswith(self._end) and self._rest.fullmatch(after):
                heading = line
            else:
                heading = ""
                unfolded.append(line)
        return unfolded


_NO_TIME = r"(?!\s*\[?(?:\d{4}-\d\d-\d\d[ T]|\d\d/\d\d/\d|[A-Z][a-z]{2}\s+\d+\s+\d|\d{1,2}:\d\d:\d\d))"
HEADINGS = (
    Heading(rf"{_NO_TIME}([^:\n]+):(\d+:.*)", r"\d+:.*", joint=":"),
    Heading(rf"{_NO_TIME}([^:\n]*/)([^/:\n]+:\d+:.*)", r"[^/:\n]+:\d+:.*", end="/"),
    Heading(r"((?:\.{0,2}/)?(?:[^/\s:]+/)+)([^/\s:]+)", r"[^/]+", end="/"),
)
"""Matches under their file, matches under their folder, paths under their folder."""
_INDEX_LINE = re.compile(r"index [0-9a-f]+\.\.[0-9a-f]+(?: \d+)?")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def fold_like_headroom(text: str, command: str = "") -> str:  # noqa: ARG001 - it looks at the text alone
    """Headroom's lossless pass: the smallest of a few forms that give back the text, but for colours and `index` lines."""
    lines = text.split("\n")
    forms = [_COLOUR.sub("", "\n".join(collapse_runs(lines)))]
    if text[:1] in "[{":
        with suppress(ValueError, RecursionError):
            forms.append(json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")))
    if any(line.startswith("diff --git ") for line in lines):
        forms.append("\n".join(line for line in lines if not _INDEX_LINE.fullmatch(line)))
    for heading in HEADINGS:
        folded = heading.fold(lines)
        if len(folded) < 2 * len(lines) and heading.unfold(folded) == lines:
            forms.append("\n".join(folded))
    return min([text, *forms], key=len)


def collapse_runs(lines: Sequence[str]) -> list[str]:
    """A line that comes several times in a row once, and how often."""
    collapsed = list[str]()
    for line, run in groupby(lines):
        count = sum(1 for _ in run)
        collapsed += [line] if count == 1 else [line, f"... (repeated {count} times)"]
    return collapsed


_LEAST_LINES, _LEAST_CHARS, _LEAST_ANCHOR, _MOST_ANCHORS = 3, 40, 4, 16


class SentLines:
    """The lines of the results that a request sends, to be referred to by later results."""

    def __init__(self) -> None:
        self._results: list[Sequence[str | None]] = []
        self._places: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def add(self, text: str, *, refers: bool = True) -> tuple[str, list[int]]:
        """The next result: its text with references to earlier results in the place of their lines, and which these are."""
        lines, sent, used = text.split("\n"), list[str](), list[int]()
        kept, place = list[str | None](), 0
        while place < len(lines):
            anchors = self._places.get(lines[place], ()) if refers else ()
            runs = [(self._run(lines, place, source, line), -source) for source, line in anchors]
            count, source = max(runs, default=(0, 0))
            if count >= _LEAST_LINES and sum(map(len, lines[place : place + count])) + count - 1 >= _LEAST_CHARS:
                sent.append(f"[↑{count}L same as result {-source}: {short(lines[place].strip(), 20)!r}]")
                kept += [None] * count
                used.append(-source)
                place += count
                continue
            sent.append(lines[place])
            kept.append(lines[place])
            place += 1
        for number, line in enumerate(kept):
            if line is not None and len(line.strip()) >= _LEAST_ANCHOR and len(self._places[line]) < _MOST_ANCHORS:
                self._places[line].append((len(self._results), number))
        self._results.append(kept)
        return "\n".join(sent), used

    def _run(self, lines: Sequence[str], start: int, source: int, place: int) -> int:
        """How many lines from here an earlier result has in a row."""
        held, count = self._results[source], 0
        while start + count < len(lines) and place + count < len(held) and lines[start + count] == held[place + count]:
            count += 1
        return count


PEER_FILTERS: dict[str, PeerFilter] = {
    "rtk": PeerFilter("rtk's filters for commands", filter_like_rtk),
    "headroom_coding": PeerFilter("Headroom's profile `coding`", fold_like_headroom, spares_reads=True, refers=True),
    "codex_cut": PeerFilter("10,000 tokens of each result, as Codex", cut_like_codex),
    "codex_cut_lines": PeerFilter("10 KiB and 256 lines of each result, as Codex before", cut_like_codex_lines),
    "claude_code_cut": PeerFilter("30,000 characters of a command's output, as Claude Code", cut_like_claude_code),
    "claude_code_preview": PeerFilter("2,000 characters of what is longer than that, and a file", preview_like_claude_code),
}
"""By name."""
