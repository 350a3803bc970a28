"""Whether a result reports a failure: by its flag, its exit code, its first words, or what a framework says; the only place."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from redline.errors import ValidationError
from redline.values import payloads
from redline.values.checks import short_repr
from redline.values.messages import ToolResult

SignSet = Literal["known", "documents"]
Origin = Literal["command", "known tool", "unknown"]
"""Where a result comes from: from a tool that runs commands, from another known tool, or from one that nobody described."""
_MOST_REMEMBERED = 32
"""Texts that are remembered: several policies are asked about a message one after the other."""


class FailureSigns(msgspec.Struct, frozen=True):
    """By what a result is known to report a failure."""

    signs: SignSet = "known"
    """`documents`: the flag, `Error:`, and how a command ended. `known`: also what tools and frameworks say for it."""
    words: Sequence[str] = ()
    """Further words that such a result begins with."""
    is_error: Callable[[Any], object] | None = None
    """Asked about every result that shows no sign: it is given what rules are shown (`Seen`)."""

    def __post_init__(self) -> None:
        if self.signs not in get_args(SignSet):
            raise ValidationError(f"error_signs must be one of {', '.join(get_args(SignSet))}, not {short_repr(self.signs)}")
        if isinstance(self.words, str):
            said = f"the one text {self.words!r}; write [{self.words!r}]"
            raise ValidationError(f"error_words must be a list of texts, not {said}")
        made = tuple(self.words) if isinstance(self.words, Iterable) else None
        if made is None or not all(isinstance(word, str) and word.strip() for word in made):
            raise ValidationError(f"error_words must be a list of texts that failures begin with, not {short_repr(self.words)}")
        msgspec.structs.force_setattr(self, "words", tuple(word.lstrip() for word in made))
        if self.is_error is not None:
            _check_callable(self.is_error)

    def in_result(self, result: ToolResult, origin: Origin) -> bool:
        """Whether a result reports a failure, as far as the result itself shows it."""
        if result.is_error:
            return True
        text = result.text
        said = text.lstrip()
        if said.startswith("Error:") or (self.words and said.startswith(tuple(self.words))):
            return True
        if origin == "command" and command_failed(text):
            return True
        return self.signs == "known" and _is_known_failure(text, origin)


@lru_cache(maxsize=_MOST_REMEMBERED)
def command_failed(text: str) -> bool:
    """Whether the output of a command says that it failed: in JSON by `stderr` or its exit code, else by a line."""
    if text.lstrip().startswith("{"):
        outcome = _read_outcome(text)
        return bool(outcome.stderr) or any(_is_failing(code) for code in outcome.codes())
    code = _code_in(text[:_LOOK_CHARS])
    return bool(code if code is not None else _code_in(text[-_LOOK_CHARS:]))


def is_command_output(text: str) -> bool:
    """Whether words look like what a command printed, for want of a call that says it."""
    return any(key in text for key in _OUTPUT_KEYS)


_OUTPUT_KEYS = ('"stdout":', '"stderr":', '"exitCode":')


def _check_callable(is_error: object) -> None:
    """A wrong one is found where the policy is made, and not in mid-conversation."""
    import inspect  # here, as a hook would wait for it

    wanted = "a function that is given a result as rules see it and says whether it reports a failure"
    if not callable(is_error) or isinstance(is_error, type):
        raise ValidationError(f"is_error must be {wanted}, not {short_repr(is_error)}")
    if inspect.iscoroutinefunction(is_error) or inspect.iscoroutinefunction(getattr(is_error, "__call__", None)):  # noqa: B004
        raise ValidationError(f"is_error must be {wanted}, at once: {short_repr(is_error)} is a coroutine function")
    try:
        inspect.signature(is_error).bind(None)
    except TypeError as problem:
        raise ValidationError(f"is_error must be {wanted}; it must take one argument ({problem})") from problem
    except ValueError:  # a builtin may not say what it takes
        pass


# --- words


_LOOK_CHARS = 400
"""Agents say how a command ended before its output or after it; what is between is the output."""
_LONGEST_START, _LONGEST_END = 700, 4_000
_MOST_DEPTH = 3
_LEAD = r"(?:\s|\x1b\[[0-9;]*m|\ufeff)*[\"'`]?\s*"
_ENDED_WITH = re.compile(
    r"""^ (?: <returncode>
            | [\[<(]? (?: shellId:\ \S+\ )? (?:The\ )? (?:Process|Command|Script|Program|Task|Shell|Job)? \ ?
              (?: (?:has\ )? (?:finished|completed|failed|ended|terminated|returned)\ (?:with\ )? (?:an?\ )? (?:non-?zero\ )? )?
              (?: (?:exit|return)[\ _-]?(?:code|status) | exited\ (?:with\ )?(?:exit\ )?(?:code|status)?
                | (?-i:EXIT) | exit(?=:) )
              \ ?[:=]?\ ? )
        (?P<code> -?\d+ ) (?= [.\])>;,]* [\ \t]* (?: \r?$ | \( ) | </ )""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
"""Codex, Claude Code, OpenHands, Copilot CLI, Gemini CLI, pi, mini-swe-agent, kubectl, `go run`."""


class _WordSigns(msgspec.Struct, frozen=True):
    """The table of `failure_signs.toml`, as three patterns."""

    start: re.Pattern[str]
    end: re.Pattern[str]
    last_line: re.Pattern[str]


_SIGN_ROW = re.compile(r"^\[\[(\w+)\]\]\npattern = '''(.*)'''$", re.MULTILINE)
"""A row of the table. A parser of all TOML takes as long as the rest of what a hook does."""


@cache
def _word_signs() -> _WordSigns:
    rows = _SIGN_ROW.findall(Path(__file__).with_name("failure_signs.toml").read_text(encoding="utf-8"))
    start, end, last_line = ("|".join(said for kind, said in rows if kind == key) for key in ("start", "end", "last_line"))
    return _WordSigns(
        re.compile(f"{_LEAD}(?:{start})", re.MULTILINE),
        re.compile(rf"(?:{end})\Z"),
        re.compile(rf"(?:\A|\n)(?:{last_line})\Z"),
    )


@lru_cache(maxsize=_MOST_REMEMBERED)
def _is_known_failure(text: str, origin: Origin, depth: int = 0) -> bool:
    """Whether a text reports a failure in the words of a known tool or framework, or in JSON."""
    signs, said = _word_signs(), text.lstrip()
    if depth < _MOST_DEPTH and _JSON_START.match(said) and _is_failure_in_json(text, origin, depth):
        return True
    if code := _ENDED_WITH.match(said[:_LONGEST_START]):
        return int(code["code"]) != 0
    if signs.start.match(said[:_LONGEST_START]):
        return True
    end = text[-_LONGEST_END:].rstrip()
    if signs.end.search(end):
        return True
    if origin == "known tool":
        return False
    return signs.last_line.search(end) is not None or bool(_code_in(end[end.rfind("\n") + 1 :]))


def _code_in(text: str) -> int | None:
    """The code that a line says a command ended with. All of them speak of a code, and few texts do, which is quickly seen."""
    said = text.lower()
    line = _ENDED_WITH.search(text) if "code" in said or "exit" in said else None
    return int(line["code"]) if line is not None else None


# --- JSON


class _CommandOutcome(msgspec.Struct):
    """The fields by which objects report failures; decoding by struct skips all others, which are long."""

    stderr: Any = None
    exitCode: Any = None  # noqa: N815 - the document's spelling
    exit_code: Any = None
    returncode: Any = None
    return_code: Any = None
    exitStatus: Any = None  # noqa: N815
    exit_status: Any = None
    metadata: Any = None
    isError: Any = None  # noqa: N815 - MCP's
    is_error: Any = None
    error: Any = None
    errors: Any = None
    error_message: Any = None
    errorMessage: Any = None  # noqa: N815
    error_code: Any = None
    exception: Any = None
    exception_info: Any = None
    traceback: Any = None
    success: Any = None
    ok: Any = None
    status: Any = None
    statusCode: Any = None  # noqa: N815
    text: Any = None
    content: Any = None
    output: Any = None
    result: Any = None

    def codes(self) -> tuple[Any, ...]:
        inner = self.metadata.get("exit_code") if isinstance(self.metadata, dict) else None
        return (self.exitCode, self.exit_code, self.returncode, self.return_code, self.exitStatus, self.exit_status, inner)

    def reports_failure(self) -> bool:
        """Whether a field says so, whatever tool gave it."""
        complaints = [self.error, self.error_message, self.errorMessage, self.error_code]
        complaints += [self.exception, self.exception_info, self.traceback]
        texts = [complaint.strip().lower() for complaint in complaints if isinstance(complaint, str)]
        return (
            self.isError is True
            or self.is_error is True
            or any(text not in _NO_COMPLAINTS for text in texts)
            or any(complaint and not isinstance(complaint, str | float) for complaint in complaints)  # 0.02 is a measure
            or (isinstance(self.errors, list) and bool(self.errors))
            or self.success is False
            or self.ok is False
            or (isinstance(self.status, str) and self.status.lower() in _FAILED_STATES)
            or (type(self.statusCode) is int and 400 <= self.statusCode < 600)
            or any(_is_failing(code) for code in self.codes())
        )


_FAILED_STATES = frozenset({"error", "errored", "failed", "failure", "execution_error", "timeout", "timed_out"})
_NO_COMPLAINTS = frozenset({"", "none", "null", "false", "no", "no error", "ok", "success", "0"})
_JSON_START = re.compile(r'\{|"|\[\s*(?:"|\{\s*"type")')
"""An object, a text, or a list of texts or of the blocks of MCP; any other list is data."""
_decode_outcome = msgspec.json.Decoder(_CommandOutcome).decode


def _is_failing(code: Any) -> bool:
    """Whether a command that ended with this code failed."""
    return code not in (None, 0, "0", "")


def _is_failure_in_json(text: str, origin: Origin, depth: int) -> bool:
    """Whether JSON reports a failure, in a field or in the words that it wraps; what is no JSON reports none."""
    if not text.lstrip().startswith("{"):
        try:
            return _wraps_failure(payloads.decode_text(text), origin, depth)
        except (ValueError, RecursionError):
            return False
    outcome = _read_outcome(text)
    if outcome.reports_failure():
        return True
    if any(code is not None for code in outcome.codes()):
        return False
    if origin == "unknown" and isinstance(outcome.stderr, str) and outcome.stderr.strip():
        return True
    wrapped = (outcome.text, outcome.output, outcome.result, outcome.content)
    return any(_wraps_failure(one, origin, depth) for one in wrapped)


def _wraps_failure(held: Any, origin: Origin, depth: int) -> bool:
    """Whether words inside of JSON report a failure: a text, an object, or the first of the blocks of a list."""
    first = held[0] if isinstance(held, list) and held else held
    if isinstance(first, str):
        return _is_known_failure(first, origin, depth + 1)
    if not isinstance(first, dict) or (isinstance(held, list) and "type" not in first):
        return False
    return _is_known_failure((payloads.try_encode(first) or b"").decode(), origin, depth + 1)


def _read_outcome(text: str) -> _CommandOutcome:
    """How a command ended that reports in JSON; what cannot be parsed reports nothing."""
    try:
        return _decode_outcome(text)
    except (msgspec.DecodeError, UnicodeError):
        pass
    except RecursionError:
        return _CommandOutcome()
    try:
        return msgspec.convert(payloads.decode_text(text), _CommandOutcome)
    except (ValueError, RecursionError):
        return _CommandOutcome()


KNOWN_SIGNS = FailureSigns()
"""All that Redline knows: what presets and surfaces go by."""
DOCUMENTS_SIGNS = FailureSigns("documents")
"""The requirement documents to the letter."""
