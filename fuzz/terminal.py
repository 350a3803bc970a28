"""Texts as terminals record them: builds, tests, searches, diffs, logs and tables, with colours, progress and torn lines."""

import json
from collections.abc import Callable, Sequence
from random import Random

__all__ = ["make_recording"]

_NAMES = ("app", "error_log", "Über", "日本語", "a b", "2024-01-02", "v1.2-3-x", "[id]", "(auth)", "..", "test-12-a", "🙂")
_ENDINGS = (".py", ".ts", ".rs", ".test.tsx", "", ".12", ".md", "/", ".lock")
_ROOTS = ("", "./", "src/", "/home/ann/my app/", "C:\\work\\", "../", "~/", "node_modules/@scope/pkg/", "main:")
_WORDS = (
    *(
        "error: mismatched types",
        "0 errors",
        "ok",
        "PASSED",
        "FAILED",
        "warning: unused",
        "  return x",
        "-",
        "--",
        ":",
        "12:",
        "a:1:b",
    ),
    *("Traceback (most recent call last):", "E   assert 1 == 2", "→ done …", "x" * 300, "{}", '{"a": 1}', "| 3 ++", "\t", "  "),
    *(
        "[the line above 3 more times]",
        "[4 lines of building left out]",
        "[lines 1–9: as in the output of `make` above]",
        "\u2028",
        "\x00",
    ),
    *(
        "ＷＩＤＥ　ｔｅｘｔ",
        "e\u0301a\u0308",
        "👩‍👩‍👧 family",
        "\u202eright to left",
        "\x1b[31mred\x1b[0m",
        "…",
        "2026-03-01 10:20:…",
    ),
)
_SPINNERS = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


def make_recording(random: Random) -> tuple[str, str]:
    """A command, and what it printed: of one program or of several in a row."""
    command, printed = "", list[str]()
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        command, program = random.choice(_PROGRAMS)
        printed += program(random)
    if random.random() < 0.3:
        printed = [_coloured(line, random) for line in printed]
    if random.random() < 0.2:
        printed = _prefixed(printed, random)
    for _ in range(random.choice((0, 0, 1, 4))):
        place = random.randrange(len(printed) + 1)
        printed.insert(place, random.choice(_WORDS))
    if random.random() < 0.2:
        place = random.randrange(len(printed))
        printed[place] = printed[place][: random.randrange(len(printed[place]) + 1)]
    ends = random.choice((["\n"], ["\n"], ["\n"], ["\r\n"], ["\n", "\r\n"], ["\n", "\n", "\r"]))
    text = "".join(line + random.choice(ends) for line in printed)
    return command, text if random.random() < 0.6 else text.rstrip("\r\n")


def _path(random: Random) -> str:
    folders = "".join(random.choice(_NAMES) + random.choice("///\\") for _ in range(random.randrange(3)))
    return random.choice(_ROOTS) + folders + random.choice(_NAMES) + random.choice(_ENDINGS)


def _count(random: Random) -> int:
    return random.choice((1, 3, 6, 12, 40))


def _time(random: Random, number: int) -> str:
    form = random.choice(
        (
            "2026-03-01T10:{m:02}:{s:02}.{f:07}Z",
            "2026-03-01 10:{m:02}:{s:02},{f:03}",
            "10:{m:02}:{s:02}",
            "Mar  1 10:{m:02}:{s:02}",
        )
    )
    return form.format(m=number // 60 % 60, s=number % 60, f=random.randrange(999))


def _search(random: Random) -> list[str]:
    found = list[str]()
    for _ in range(_count(random) // 3 + 1):
        path, has_numbers, sign = _path(random), random.random() < 0.7, random.choice(":::-")
        for number in sorted(random.sample(range(1, 3000), _count(random))):
            middle = f"{number}{sign}" if has_numbers else ""
            found.append(f"{path}{sign}{middle}{random.choice(('', ' ', '    '))}{random.choice(_WORDS)}")
        found += random.choice(([], ["--"], [""]))
    return found


def _paths(random: Random) -> list[str]:
    status = random.choice(("", "", " M ", "?? ", "M\t", "  12 ", "3\t4\t", "4.0K\t", "\tmodified:   "))
    tops = [_path(random).rpartition("/")[0] for _ in range(3)]
    lines = [f"{status}{random.choice(tops)}/{random.choice(_NAMES)}{random.choice(_ENDINGS)}" for _ in range(_count(random))]
    return sorted(lines) if random.random() < 0.7 else lines


def _tests(random: Random) -> list[str]:
    form = random.choice(
        (
            "tests/test_{n}.py::test_{w} {o} [ {p}%]",
            "test {w}::tests::case_{n} ... {o}",
            "    --- {o}: Test{n} (0.00s)",
            "  ✓ {w} works ({n} ms)",
            "[{g}] [ {p}%] {o} tests/test_{n}.py::test_{w}",
            "[info] - {w} {n} {o}",
        )
    )
    outcomes = random.choice((["PASSED"], ["ok", "ok", "ok", "FAILED"], ["PASS", "PASS", "FAIL", "SKIP"], ["PASSED", "XFAIL"]))
    words = ("adds", "raises_error", "warns", "times_out", "a b")
    lines = [
        form.format(n=number, w=random.choice(words), o=random.choice(outcomes), p=number, g=f"gw{number % 4}")
        for number in range(_count(random))
    ]
    return [
        f"collected {len(lines)} items",
        *lines,
        random.choice((f"=== {len(lines)} passed in 0.1s ===", "Tests: 3 failed", "")),
    ]


def _building(random: Random) -> list[str]:
    form = random.choice(
        (
            "   Compiling {w} v0.{n}.0 (/srv/{w})",
            "Downloading {w}-{n}.0-py3-none-any.whl ({n} kB)",
            "#{n} sha256:4f2a{n:08x} {n}.1MB / 99MB 0.1s",
            "[INFO] Downloading from central: https://repo.example.org/{w}/{n}.pom",
            "npm http fetch GET 200 https://registry.example.org/{w} {n}ms",
            "a{n:011x}: Pull complete",
            "[{n}/99] Building CXX object {w}.o",
            "Setting up {w} ({n}-1) ...",
            "> Task :{w}:compile{n} UP-TO-DATE",
        )
    )
    words = ("serde", "left-pad", "error-chain", "lib", "deprecated-x")
    lines = [form.format(n=number, w=random.choice(words)) for number in range(_count(random))]
    return [*lines, random.choice(("    Finished dev in 2s", "warning: unused variable: `x`", "BUILD FAILURE", ""))]


def _progress(random: Random) -> list[str]:
    most = _count(random) * 2
    bars = [
        f"{number * 100 // most:3}%|{'█' * (number * 10 // most):<10}| {number}/{most} [00:0{number % 9}<00:01, {number}.1it/s]"
        for number in range(most)
    ]
    match random.randrange(5):
        case 0:
            return ["\r".join(bars)]
        case 1:
            return bars
        case 2:
            return ["".join(f"\x1b[2K\x1b[1G{_SPINNERS[number % 10]} waiting {number}s" for number in range(most)), "done"]
        case 3:
            up = random.randrange(1, 5)
            return [f"\x1b[{up}A\x1b[2K{bar}\x1b[{up}B" for bar in bars] + ["\x1b[?25h"]
        case _:
            return ["working" + "".join(f"\x08{one}" for one in "|/-\\" * most), f"progress {most}\b\b  err\x1b[Kor"]


def _log(random: Random) -> list[str]:
    level = random.choice((["INFO"], ["INFO", "INFO", "ERROR"], ["debug", "warn"]))
    said = random.choice(
        ("request_id={n:08x} took {n} ms", "waiting for the leader, attempt {n}", "GET /a/{n} 200", "loss {n}.5")
    )
    return [f"{_time(random, number)} {random.choice(level)} {said.format(n=number)}" for number in range(_count(random))]


def _diff(random: Random) -> list[str]:
    lines = list[str]()
    for _ in range(_count(random) // 4 + 1):
        path = _path(random)
        other = path if random.random() < 0.8 else _path(random)
        mode = random.choice(
            (
                [],
                [],
                ["new file mode 100644"],
                ["deleted file mode 100755"],
                ["old mode 100644", "new mode 100755"],
                ["similarity index 97%"],
            )
        )
        old = "/dev/null" if mode[:1] == ["new file mode 100644"] else f"a/{path}"
        new = "/dev/null" if mode[:1] == ["deleted file mode 100755"] else f"b/{other}"
        lines += [f"diff --git a/{path} b/{other}", *mode, "index 12c95ac..ee1bfc6" + random.choice((" 100644", ""))]
        lines += [f"--- {old}", f"+++ {new}", "@@ -1,3 +1,3 @@"] if random.random() < 0.8 else ["Binary files differ"]
        lines += [random.choice("+- ") + random.choice(_WORDS) for _ in range(random.randrange(6))]
    return lines


def _json(random: Random) -> list[str]:
    keys = random.sample(["name", "size", "path", "error", "a b", 'q"', "é", "tags", "nested", "%s"], random.randrange(1, 5))

    def value() -> object:
        return random.choice(
            (1, -2.5, None, True, "text", 'a "b" \\ c', "é\u2028", [], {}, [1, [2, {"x": "y, z"}]], {"deep": [{}]}, "… , }")
        )

    rows = [dict.fromkeys(keys) | {key: value() for key in keys} for _ in range(_count(random))]
    if random.random() < 0.2:
        rows[random.randrange(len(rows))]["more"] = 1
    indent = random.choice((None, None, 2, 4, "\t"))
    whole: object = rows if random.random() < 0.5 else {"items": rows, "count": len(rows)}
    if random.random() < 0.4:
        return [json.dumps(row, ensure_ascii=random.random() < 0.5) for row in rows]
    compact = (",", ":") if indent is None and random.random() < 0.5 else None
    return json.dumps(whole, indent=indent, separators=compact, ensure_ascii=False).split("\n")


def _table(random: Random) -> list[str]:
    sign = random.choice((" | ", "  ", "\t", " │ ", ","))
    return [
        sign.join(str(random.choice((number, "x", "", "-rw-r--r--", "100%"))) for _ in range(4))
        for number in range(_count(random))
    ]


def _reports(random: Random) -> list[str]:
    lines, path = list[str](), _path(random)
    for number in range(_count(random)):
        lines += [
            f"{path}:{number}:5: {random.choice(('error', 'warning', 'note'))}: {random.choice(_WORDS)}",
            "    let x = 1;",
            "        ^^^",
        ]
    return lines


def _repeats(random: Random) -> list[str]:
    return [line for line in random.choices(_WORDS, k=5) for _ in range(_count(random))]


_PROGRAMS: Sequence[tuple[str, Callable[[Random], list[str]]]] = (
    *(("rg -n word", _search), ("git grep word", _search), ("find . -type f", _paths), ("git status --short", _paths)),
    *(
        ("pytest -v", _tests),
        ("cargo test", _tests),
        ("cargo build", _building),
        ("docker build .", _building),
        ("npm ci", _progress),
    ),
    *(
        ("kubectl logs web", _log),
        ("gh run view --log", _log),
        ("git diff", _diff),
        ("gh api repos", _json),
        ("cat rows.jsonl", _json),
    ),
    *(("ls -l", _table), ("make", _reports), ("", _repeats), ("", _progress)),
)


def _coloured(line: str, random: Random) -> str:
    place = random.randrange(len(line) + 1)
    code = random.choice(
        (
            "\x1b[1;32m",
            "\x1b[0m",
            "\x1b[38;5;12m",
            "\x1b[K",
            "\x1b]0;title\x07",
            "\x1b[?25l",
            "\x1b[",
            "\x1b]8;;https://a.b/c\x1b\\",
        )
    )
    return line[:place] + code + line[place:] + random.choice(("", "\x1b[0m"))


def _prefixed(lines: Sequence[str], random: Random) -> list[str]:
    """As runners of programs write them: the job and the hour, the container, the package."""
    form = random.choice(
        ("build\tRun tests\t2026-03-01T10:20:{s:02}.1234567Z ", "web-1  | ", "@acme/web build: ", "#12 {s}.123 ", "[web] ")
    )
    return [form.format(s=number % 60) + line for number, line in enumerate(lines)]
