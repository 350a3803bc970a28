"""The lines that programs print while all goes well: of tests that passed, and of building, downloading and installing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import count, groupby
from typing import NamedTuple


class LineKind(NamedTuple):
    """A kind of line that programs print."""

    programs: str
    pattern: str
    """How the line begins, after spaces."""
    sign: str = ""
    """Words in every such line. A pattern that begins with any letter is only looked for in a text with its words."""


_END = r"[ \t\r]*$"
_RAN = r"(?![^\n]*(?:\d (?:skipped|todo)|# (?i:skip|todo)))"
"""No test was skipped."""

PASSED_TESTS = (
    LineKind("pytest -v, Gradle", rf"(?=\S[^\n]*(?:::| > ))[^\n]*? PASSED(?: +\[ *\d+%\])?{_END}", " PASSED"),
    LineKind("pytest -rA", r"PASSED \S+::"),
    LineKind("pytest -n", r"\[gw\d+\] \[ *\d+%\] PASSED \S+"),
    LineKind("pytest -n, as one begins", r"[^\s:]+\.py::[^\n]* $(?=\n(?:\[gw\d+\] \[ *\d+%\] PASSED|[^\s:]+\.py::))", "\n[gw"),
    LineKind("pytest", rf"[^\s:]+\.py \.+[ \t]*(?:\[ *\d+%\])?{_END}", ".py ."),
    LineKind("pytest -q, cargo test -q", rf"\.{{5,}}(?: *\[ *\d+%\]| +\d+/\d+){_END}"),
    LineKind("PHPUnit", rf"\.{{5,}} +\d+ / \d+ \( *\d+%\){_END}"),
    LineKind("unittest, RSpec, mocha, Ginkgo, busted", rf"[.·•․●]{{10,}}{_END}"),
    LineKind("cargo test", rf"test [^\n]+? \.\.\. ok(?: <[\d.]+s>)?{_END}"),
    LineKind("unittest -v, Django", rf"\w+ \([\w.]+\)(?:\n[^\n]+?)? \.\.\. ok{_END}", "... ok"),
    LineKind("Deno", rf"[^\n]+? \.\.\. ok \([\d.]+m?s\){_END}", "... ok ("),
    LineKind("Twisted trial", rf"test\w* \.\.\. +\[OK\]{_END}"),
    LineKind("go test -v", r"--- PASS: \S+ \([\d.]+s\)(?!\n[ \t]+\S+\.go:\d+:)"),
    LineKind("go test -v, as one begins", rf"=== (?:RUN|PAUSE|CONT|NAME) +\S+{_END}(?=\n[ \t]*(?:=== |--- PASS)|\Z)"),
    LineKind("go test", rf"(?:PASS[ \t\r]*\n)?ok[ \t]+\S+[ \t]+(?:[\d.]+s|\(cached\))(?: \[no tests to run\])?{_END}"),
    LineKind("go test -cover", rf"ok[ \t]+\S+[ \t]+\S+[ \t]+coverage: (?:100\.0% of statements|\[no statements\]){_END}"),
    LineKind("nextest, Jest, Automake, lit, gotestsum, Pest", r"PASS:? +[^\s|]"),
    LineKind("Foundry, Move", r"\[ *PASS *\] +\S"),
    LineKind("Vitest, Playwright", rf"[✓✔√] {_RAN}[^\n]*?\.(?:test|spec)\.\w"),
    LineKind("node, Jest, Vitest, mocha", rf"[✓✔√] {_RAN}[^\n]*?[ (]\d+(?:\.\d+)? ?m?s\)?{_END}"),
    LineKind("XCTest", r"Test [Cc]ase [^\n]*? passed (?:\(|after |on )"),
    LineKind("XCTest, as one begins", r"Test Case '[^\n]*' started\.(?=\n[ \t]*Test Case '[^\n]*' passed|\Z)"),
    LineKind("Swift Testing", r"[✔◇] Test [^\n]*? passed after "),
    LineKind("JUnit console", rf"[-│├└╷─|+' ]*+\w[^\n]*?\(\) ✔{_END}", "() ✔"),
    LineKind("JUnit console", rf"[-│├└╷─|+' ]*+\w[^\n]*?\(\) \[OK\]{_END}", "() [OK]"),
    LineKind("hspec", rf"[^\n]+? \[✔\]{_END}", " [✔]"),
    LineKind(
        "TAP: node, bats, tap, Playwright",
        rf"ok \d+\b{_RAN}[^\n]*(?:\n +---[ \t\r]*(?:\n +(?:duration_ms|type): [^\n]*){{0,3}}\n +\.\.\.{_END})?",
    ),
    LineKind("TAP, as one begins", r"# Subtest: [^\n]*(?=\n[ \t]*(?:ok |# Subtest: )|\Z)"),
    LineKind("prove", rf"\S+\.t \.{{2,}} *ok{_END}", ".t .."),
    LineKind("CTest", r"\d+/\d+ Test +#\d+: [^\n]*? Passed +[\d.]+ sec"),
    LineKind("CTest, as one begins", r"Start +\d+: [^\n]+(?=\n *(?:Start +\d+: |\d+/\d+ Test +#\d+: [^\n]* Passed )|\Z)"),
    LineKind("Meson, Zig", rf"\d+/\d+ [^\n]+?(?: OK +[\d.]+ ?s|\.\.\.OK){_END}"),
    LineKind("GoogleTest", r"\[       OK \] |\[-{10}\] "),
    LineKind("GoogleTest, as one begins", r"\[ RUN      \] [^\n]+(?=\n\[       OK \]|\Z)"),
    LineKind("dotnet test", rf"Passed [\w.]+[^\n]*? \[[<\d][^\[\]\n]*s\]{_END}"),
    LineKind("Bazel", r"//\S+ +(?:\(cached\) )?PASSED in [\d.]+s"),
    LineKind("Bun", r"\(pass\) \S"),
    LineKind("minitest -v", rf"[^\s#]++#\S++ = [\d.]+ s = \.{_END}", " s = ."),
    LineKind("Dart", r"\d\d:\d\d \+\d+: \S"),
)

LIKELY_TESTS = (
    LineKind("mocha, Jest, Vitest, node, bats, PHPUnit, Pest", rf"[✓✔√] {_RAN}\S"),
    LineKind("Alcotest, Nim", r"\[OK\] +\S"),
    LineKind("ScalaTest, MUnit", r"\[info\] +(?:- (?![^\n]*\*\*\*)|\+ )\S"),
)
"""Many programs write so of other things: these are tests only beside a summary of tests."""

BUILDING = (
    LineKind("cargo", r"(?:Compiling|Checking|Download(?:ed|ing)|Fresh|Dirty|Documenting|Vendoring|Unpacking) \S+ v\d"),
    LineKind("cargo", r"Downloading crates|Blocking waiting for file lock|Updating (?:crates\.io index|git repository)"),
    LineKind("cargo", r"Building \[[=> ]*\] \d+/\d|Running `[^\n]*?rustc "),
    LineKind("rustup", r"info: (?:downloading|installing|syncing) "),
    LineKind("go", r"go: (?:downloading|extracting|finding) \S"),
    LineKind("npm", r"npm (?:http|timing|verb(?:ose)?|sill(?:y)?|info) \S"),
    LineKind("pnpm", rf"Progress: resolved \d|Resolving: total \d|\+{{5,}}-*{_END}|Downloading \S+: [\d.]+ [kKMG]?B"),
    LineKind("yarn", r"\[\d/\d\] (?:\S+ +)?(?:Resolving|Fetching|Linking|Building|Rebuilding|Validating)"),
    LineKind("yarn", r"(?:➤ )?YN00(?:02|13|19|60|86): "),
    LineKind("pip", r"Collecting [\w.-]+(?:\[|[=<>!~;]|[ \t]*(?:\(|\r|$))|Using cached \S|Requirement already satisfied: "),
    LineKind("pip", r"Downloading \S+?(?:\.whl|\.tar|\.zip|\.gz| \([\d.]+ ?[kKMG]?i?B\))|[━╸╺]{5,} +[\d.]+/[\d.]+ "),
    LineKind("pip", r"Building wheels? for |Created wheel for |Stored in directory: |Preparing metadata |Running setup\.py "),
    LineKind("pip", r"Installing (?:build|backend) dependencies|Getting requirements to build|Checking if build backend"),
    LineKind("pip", r"Attempting uninstall: |Found existing installation: |Uninstalling \S+:|Successfully uninstalled "),
    LineKind("pip", r"Obtaining \S+ *$|Installing collected packages: |Running command git "),
    LineKind("uv", rf"(?:Built|Building) \S+(?:==| @ )\S+{_END}|Download(?:ed|ing) \S+(?: \([\d.]+[kKMG]?i?B\))?{_END}"),
    LineKind("Poetry, Composer", r"[-•*] (?:Installing|Downloading|Locking) \S+ \("),
    LineKind("conda", r"[\w.-]+ +\| +[\d.]+ [kKMG]?B +\| [# \d]*", "% "),
    LineKind("Bundler", rf"(?:Fetching|Installing|Using) [\w-]+ \d+\.\S+(?: with native extensions| \([^\n)]*\))?{_END}"),
    LineKind("apt", r"(?:Get|Hit|Ign):\d+ |Reading (?:package lists|state information)|Building dependency tree"),
    LineKind("apt", r"Selecting previously unselected|Preparing to unpack|Unpacking \S+ \(|Setting up \S+ \("),
    LineKind("apt", r"Processing triggers for |\(Reading database |update-alternatives: using |Adding debian:"),
    LineKind("apk", r"\(\d+/\d+\) (?:Installing|Upgrading|Purging) \S+ \(|fetch https?://"),
    LineKind("dnf", r"(?:Installing|Verifying|Preparing|Upgrading|Running scriptlet|Cleanup) +: +\S|\(\d+/\d+\): \S+\.rpm "),
    LineKind("Homebrew", r"==> (?:Downloading|Fetching|Pouring|Installing dependencies)"),
    LineKind("docker build", r"#\d+ (?:sha256:|resolve |(?:extract|transferr|nam|writ|export)ing |CACHED|DONE|\.\.\.)"),
    LineKind("docker build", r"=> (?:=> |CACHED )|---> (?:Running in|Using cache|[0-9a-f]{12})|Removing intermediate "),
    LineKind("docker pull", r"[0-9a-f]{12}:? (?:Pulling |Pull complete|Already exists|Download(?:ing| complete)|Extracting)"),
    LineKind("docker push", r"[0-9a-f]{12}:? (?:Waiting|Verifying Checksum|Preparing|Push(?:ed|ing)|Layer already)"),
    LineKind("compilers", r"(?:[\w./+-]*[/-])?(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+)(?:-[\d.]+)? [^\n]*?-\w", " -o "),
    LineKind("libtool", r"(?:/bin/(?:ba)?sh \S*)?libtool: (?:compile|link|install): "),
    LineKind("make", r"make(?:\[\d+\])?: (?:Nothing to be done|Leaving directory)"),
    LineKind("Kbuild, Automake", rf"(?:CC|CXX|LD|AR|AS|CCLD|CXXLD|GEN|HOST(?:CC|CXX|LD))(?: \[M\])?  +\S+{_END}"),
    LineKind("Kbuild", rf"(?:OBJCOPY|LDS|CHK|UPD|WRAP|SYSHDR|SYSTBL|INSTALL|CALL|DESCEND|STRIP|RUSTC|SIGN|COPY)  +\S+{_END}"),
    LineKind("configure", rf"checking [^\n]*?\.\.\. (?:\(cached\) )?(?:yes|none needed|/\S+){_END}|config\.status: creating "),
    LineKind("CMake", r"-- (?:Detecting|Check for working|Looking for|Performing Test|Installing: |Up-to-date: )"),
    LineKind("CMake", r"\[ *\d+%\] (?:(?:Build|Link|Generat|Runn|Creat|Perform|Copy)ing|Built target|Automatic|Completed) "),
    LineKind("CMake", r"Scanning dependencies of target|Consolidate compiler generated"),
    LineKind("Ninja, Swift, Bazel", r"\[[\d,]+ ?/ ?[\d,]+\] (?:Build|Link|Generat|Compil|Runn|Creat|Copy|Install|Emitt)ing "),
    LineKind("Ninja", r"\[\d+/\d+\] (?:(?:CC|CXX|LINK|ACTION|STAMP|SOLINK|AR) |(?:: && )?[\w./+-]*(?:gcc|cc|\+\+|clang) )"),
    LineKind("Gradle", r"> Task :\S+(?: UP-TO-DATE| NO-SOURCE| FROM-CACHE)?[ \t\r]*(?=\n> Task |\n\r?\n|\Z)"),
    LineKind("Gradle", r"Download(?:ing)? https?://|\.{5,}\d+%|<[=-]*> \d+% |> IDLE|Starting a Gradle Daemon"),
    LineKind("Maven", r"(?:\[INFO\] )?Download(?:ing|ed)(?: from \S+)?: http|Progress \(\d+\): "),
    LineKind("Maven", rf"\[INFO\](?:{_END}| ---? [\w.-]+:\S+ \(| (?:Copying|Compiling) \d| Nothing to compile| Recompiling)"),
    LineKind("Maven", r"\[INFO\] (?:Using '|skip non existing|Changes detected|Installing /|Building jar|Deleting /)"),
    LineKind("webpack", r"[^\n]*? \[built\]", "[built]"),
    LineKind("webpack", r"(?:orphan )?modules by path |<s> \[webpack\.Progress\]|\d+% (?:building|sealing|emitting|setup) "),
    LineKind("Vite, Next.js", r"transforming(?:\.\.\.| \()|rendering chunks|computing gzip size|Generating static pages "),
    LineKind("git", r"(?:remote: )?(?:Enumerating|Counting|Compressing|Receiving|Writing|Unpacking) objects: "),
    LineKind("git", r"(?:remote: )?(?:Resolving deltas|Updating files|Checking out files|Filtering content): "),
    LineKind("git", r"(?:remote: )?Total \d+ \(delta|Delta compression using"),
    LineKind("curl, wget", r"(?:\d+(?:\.\d+)?[kMG]? +){6,8}[\d:-]+ +[\d:-]+ |\d+[KM] [. ,]{5,} +\d+% "),
    LineKind("Hugging Face, Playwright", r"(?:Downloading|Fetching)[^\n|]{0,120}: +\d+%\||\|■[■ ]*\| +\d+% of "),
    LineKind("Cabal, Stack", rf"(?:Download(?:ed|ing)|Starting|Building|Installing|Completed) +[\w-]+-\d[\d.]*{_END}"),
    LineKind("Cabal", r"(?:Starting|Building|Installing|Completed|Configuring) +[\w-]+-\d[\d.]* \((?:lib|exe)"),
    LineKind("dotnet", r"Restored \S+ \(in |Determining projects to restore"),
    LineKind("Nix", r"(?:copying path|building) '/nix/store/"),
    LineKind("sbt", r"\[info\] (?:downloading|compiling|resolving|loading|set current) "),
)
"""What came of it is not among them: `Finished`, `Successfully installed`, the sizes of bundles, what an update changed."""

_ALL_KINDS = (*PASSED_TESTS, *LIKELY_TESTS, *BUILDING)

_SIGN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*+\]|[()|]")
"""In a pattern: what groups and alternatives are made of; sets and escaped signs are one each."""
_NEVER = r"(?!)"
_FIRST = re.compile(r"(?:[A-Za-z0-9]|\\[^A-Za-z0-9])(?![?*+{])")

_CONTROL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][0-9A-Z]|[=>78])|\^\[\[[\d;]*[mK]")
"""What colours a terminal, moves its cursor, names its window; in the logs of GitHub Actions, `^[` for the first of these."""
_LEADS = (
    (re.compile("\t"), [re.compile(r"\n[^\t\n]{1,150}+\t[^\t\n]{1,150}+\t\ufeff?(?=\d{4}-)")]),  # gh: the job and the step
    (
        re.compile(r"\n(?=[\ufeff\d#\[])(?:\ufeff?\d{4}-|#\d|\[[a-z])"),
        [
            re.compile(r"\n\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z "),  # GitHub Actions
            re.compile(r"\n#\d+ \d+\.\d+ "),  # docker build
            re.compile(r"\n\[(?!info\]|gw\d)[a-z][\w:./@-]{0,60}+\] "),  # mise, lerna, concurrently
        ],
    ),
    (re.compile(r"\| "), [re.compile(r"\n[ \t]*+[\w:./@-]{1,60}+ *+\| (?! *[\d.]+ [kKMG]?B )")]),  # docker compose
    (re.compile("–"), [re.compile(r"\n[ \t]*+[\w:./@-]{1,60}+ – ")]),  # hk
)
"""What runners of programs write before each line, after a sign that must be in the text and is found quickly."""


def plain_text(text: str) -> str:
    """The text without colours, and without what runners of programs write before each line; line for line."""
    if "\x1b" in text or "^[[" in text:
        text = _CONTROL.sub("", text)
    text = f"\n{text}"
    for sign, leads in _LEADS:
        for lead in leads if sign.search(text) else ():
            text = lead.sub("\n", text)
    return text[1:]


def has_routine_lines(plain: str) -> bool:
    """Whether any line of a plain text may be routine. Most texts have none, and are not looked at again."""
    start, sign = _any(_letters(plain))
    return start.search(f"\n{plain}") is not None or sign.search(plain) is not None


def routine_lines(plain: str, kinds: Sequence[LineKind]) -> set[int]:
    """The numbers, from 0, of the lines of these kinds in a plain text."""
    text, found = f"\n{plain}", set[int]()
    for sign, pattern in _patterns(kinds, _letters(plain)):
        number, end = -1, 0
        for match in re.compile(pattern, re.MULTILINE).finditer(text) if sign in text else ():
            start, stop = match.span()
            number += text.count("\n", end, start + 1)
            end = start + 1
            found.update(range(number, number + text.count("\n", end, stop) + 1))
    if found and "\r" in plain:
        lines = plain.split("\n")
        found = {number for number in found if _is_routine_throughout(lines[number])}
    return found


def is_routine(line: str) -> bool:
    """Whether a plain line is of one of these kinds by itself."""
    return _routine_pattern().match(line) is not None


def _is_routine_throughout(line: str) -> bool:
    """Whether all that a line showed, before it was written over, is routine."""
    shown = line.rstrip("\r").split("\r")
    return len(shown) == 1 or all(is_routine(piece) or not piece.strip() for piece in shown)


@cache
def _routine_pattern() -> re.Pattern[str]:
    kinds = _joined(kind.pattern for kind in _ALL_KINDS)
    return re.compile(rf"[ \t]*+(?:{kinds})", re.MULTILINE)


_TEXTS, _FEW_TEXTS, _SHORT_TEXT = count(), 16, 50_000
"""Of the first texts of a process only what they need is compiled: a hook folds one text, and a proxy thousands."""


def _letters(plain: str) -> frozenset[str] | None:
    """The signs with which lines of a text begin, after spaces; None where all patterns are worth compiling."""
    if next(_TEXTS) >= _FEW_TEXTS or len(plain) >= _SHORT_TEXT:
        return None
    return frozenset(line.lstrip(" \t")[:1] for line in plain.split("\n"))


@cache
def _patterns(kinds: Sequence[LineKind], letters: frozenset[str] | None = None) -> tuple[tuple[str, str], ...]:
    """One pattern for the kinds without a sign, and one for each sign. `re` compiles and remembers those whose sign is met.

    With `letters` the first of them has only the ways that can begin a line which begins with one of these letters.
    """
    joined = {"": _joined((kind.pattern for kind in kinds if not kind.sign), letters)}
    joined |= {kind.sign: kind.pattern for kind in kinds if kind.sign}
    return tuple((sign, rf"\n[ \t]*+(?:{pattern})") for sign, pattern in joined.items())


@cache
def _any(letters: frozenset[str] | None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The beginnings of routine lines, and the signs of those that are known by a sign."""
    starts = _joined((kind.pattern for kind in _ALL_KINDS if not kind.sign), letters)
    signs = _joined(re.escape(kind.sign.lstrip(" ")) for kind in _ALL_KINDS if kind.sign)
    return re.compile(rf"\n[ \t]*+(?:{starts})", re.MULTILINE), re.compile(signs)


def _joined(patterns: Iterable[str], letters: frozenset[str] | None = None) -> str:
    """One pattern for all, joined by their first letters: so it is found several times faster."""
    simple = sorted((one for pattern in patterns for one in _unrolled(pattern)), key=_first)
    if letters is not None:
        simple = [one for one in simple if _first(one)[-1:] in letters or not _first(one)] or [_NEVER]
    return "|".join(
        f"{first}(?:{'|'.join(one[len(first) :] for one in group)})" if first else "|".join(group)
        for first, group in ((first, list(found)) for first, found in groupby(simple, _first))
    )


def _first(pattern: str) -> str:
    """The letter, or the escaped sign, with which a pattern begins; empty for one that may begin in several ways."""
    found = _FIRST.match(pattern)
    return found[0] if found is not None else ""


def _unrolled(pattern: str) -> Iterator[str]:
    """The ways in which a pattern may begin."""
    for way in _ways(pattern):
        end = _end_of_group(way) if way.startswith("(?:") else 0
        rest = way[end:]
        if not end or rest[:1] in ("*", "+", "{") or rest[:2] == "?+":
            yield way
        else:
            is_optional = rest[:1] == "?"
            for inner in _ways(way[3 : end - 1]):
                yield from _unrolled(inner + rest[is_optional:])
            if is_optional:
                yield from _unrolled(rest[1:])


def _ways(pattern: str) -> list[str]:
    """What stands between the `|` of a pattern that are in no group and no set."""
    ways, depth, begin = list[str](), 0, 0
    for sign in _SIGN.finditer(pattern):
        depth += (sign[0] == "(") - (sign[0] == ")")
        if sign[0] == "|" and not depth:
            ways.append(pattern[begin : sign.start()])
            begin = sign.end()
    return [*ways, pattern[begin:]]


def _end_of_group(pattern: str) -> int:
    """Where the group ends with which a pattern begins."""
    depth = 0
    for sign in _SIGN.finditer(pattern):
        depth += (sign[0] == "(") - (sign[0] == ")")
        if not depth:
            return sign.end()
    return 0
