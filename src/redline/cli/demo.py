"""`redline demo`: a sample session that crashed: what is repaired, folded and struck, what that saves and risks."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from redline.cli.formatting import dollars, share, shortened
from redline.cli.loaded_session import load_session
from redline.cli.output import counted, say, say_json
from redline.conversation.conversation import Conversation
from redline.conversation.lists import check
from redline.engine.request import Request
from redline.policy.policy import find_policy
from redline.policy.presets import DEFAULT_PRESET
from redline.sessions.playback import PartSpot, Playback
from redline.sessions.replay.history import PastStrike
from redline.sessions.to_json import strike_to_json
from redline.sessions.words import call_words

_COLUMNS, _NAME_COLUMNS = 79, 10
_EXAMPLES = 3
"""Folds and strikes of each kind that are shown."""


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for programs.")
def command(as_json: bool) -> None:
    """Show what Redline makes of a sample session that crashed: repair, folds, strikes, the saving and the risk.

    Nothing is kept, and nothing is sent anywhere. Exit code 0.

    \b
    Examples:
      redline demo
      redline demo --json
    """
    with tempfile.TemporaryDirectory() as folder:
        playback = load_session(str(write_sample_session(Path(folder) / "session.jsonl")), 0).playback(DEFAULT_PRESET)
        said = [playback.history.load(index).native for index in range(playback.history.count)]
        if as_json:
            request = _request_after(playback, said)
            say_json(
                {
                    "messages": playback.history.count,
                    "requests": len(playback.history.requests),
                    "problems": [asdict(problem) for problem in check(said, format=playback.history.format)],
                    "repairs": [{"index": change.index, "what": change.what} for change in request.repairs],
                    "problems_after": [asdict(problem) for problem in check(request.messages, format=request.format)],
                    "policy": playback.name,
                    "strikes": [strike_to_json(playback, strike, is_undoable=False) for strike in playback.strikes],
                    "cost_usd": playback.player.usd(playback.player.all_sent.cost),
                    "saved_usd": playback.saved_usd,
                    "requests_at_risk": playback.run.risks["strict"].requests,
                }
            )
            return
        say("A session of Claude Code that crashed. Nothing of this is sent anywhere.", "bold")
        for name, words in _report(playback, said):
            say(shortened(f"{name:<{_NAME_COLUMNS}}{words}", _COLUMNS, at_end=True))
        say()
        say("Next: redline run --dry-run -- claude   what would it save you?")
        say("      redline sessions                  your sessions; then: show 1, replay 1")
        say("      redline serve                     look at them in the browser")


def _request_after(playback: Playback, said: Sequence[Any]) -> Request:
    """What the agent would send when it is started again."""
    talk = Conversation(said, policy=find_policy(DEFAULT_PRESET), format=playback.history.format)
    return talk.preview()


def _report(playback: Playback, said: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """The lines of the report: a name and what is said under it, empty where a line goes on."""
    history, request = playback.history, _request_after(playback, said)
    yield "session", f"{counted(history.count, 'message')}, {counted(len(history.requests), 'request')} to {history.model}"
    for problem in check(said, format=history.format):
        yield "refused", f"message {problem.index}: {problem.found}"
    for change in request.repairs:
        yield "repaired", change.what.partition(":")[0]
    folds, strikes = ([one for one in playback.strikes if one.is_fold == is_fold] for is_fold in (True, False))
    for name, own, why in (
        ("folded", folds, "smaller from the first sending on"),
        ("struck", strikes, "gone when that costs no cache"),
    ):
        yield name, f"{counted(len(own), 'result')}, {sum(one.tokens_saved for one in own):,} tokens: {why}"
        by_reason = {(one.tool, one.because.partition(",")[0]): one for one in own}
        for one in sorted(by_reason.values(), key=lambda one: -one.tokens_saved)[:_EXAMPLES]:
            yield "", f"  {_example(playback, one)}"
    bill, risk = playback.player.usd(playback.player.all_sent.cost), playback.run.risks["strict"]
    if bill and playback.saved_usd is not None:
        sums = f"{dollars(bill - playback.saved_usd)} of input instead of {dollars(bill)}"
        yield "bill", f"{sums}, {share(playback.saved_usd / bill)} less (modelled at list prices)"
    yield "risk", f"{risk.requests} of {counted(len(history.requests), 'request')} used a word that was gone"
    yield "record", f"all {counted(history.count, 'message')} as they were said; each change can be undone"


def _example(playback: Playback, strike: PastStrike) -> str:
    """A call, the sizes of its result, and the reason."""
    call = playback.player.parts.calls.get(PartSpot(strike.index, strike.at[:2]))
    named = call_words(call[1]) if call is not None else f"message {strike.index}"
    sizes = f"{strike.tokens_before:,} → {strike.tokens_after:,}"
    return f"{shortened(named, 34):<35}{sizes:<12}{strike.because.partition(',')[0]}"


# --- the session: invented, but shaped like real ones: searches, passed tests, files read again and again, a crash at the end

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_MODEL = "claude-sonnet-4-5"
_STEP_S, _BREAK_S = 14, 1_500
_FIXED_TOKENS = 14_000
"""What Claude Code sends beside the messages, about."""
_FOLDER = "/home/dev/shop"
_NAMES = ("orders", "prices", "stock", "taxes")
_FAILED = """FAILED tests/test_orders.py::test_total_7 - AssertionError: 120 != 119
1 failed, 89 passed in 2.41s"""


def _source(name: str, version: int) -> str:
    """A file of the shop."""
    return "\n".join(
        f"def {name}_{number}(request):\n    order = load_{name}(request.args['id'], depth={version})\n"
        f"    return render(order, total=order.sum_of_{name}({number}))"
        for number in range(30)
    )


def _tests(last: str) -> str:
    """What pytest prints with -v."""
    lines = (f"tests/test_{_NAMES[number % 4]}.py::test_total_{number} PASSED" for number in range(90))
    return "\n".join([*lines, last])


def _steps() -> Iterator[tuple[str, dict[str, Any], str | None, bool]]:
    """Tool, arguments, answer, whether a break came before. No answer: the session crashed before it came."""
    for number, name in enumerate((*_NAMES, *_NAMES[:2])):
        file, found = f"{_FOLDER}/shop/{name}.py", f"order.sum_of_{name}"
        lines = (f"{file}:{3 * at + 3}:    return render(order, total={found}({at}))" for at in range(30))
        yield "Grep", {"pattern": found, "path": "shop"}, "\n".join(lines), number in (2, 4)
        yield "Read", {"file_path": file}, _source(name, number), False
        yield "Bash", {"command": "python -m pytest -v"}, _tests(_FAILED), False
        yield "Edit", {"file_path": file, "old_string": f"{found}(7)", "new_string": f"{name}_total(order, 7)"}, "ok", False
        yield "Bash", {"command": "python -m pytest -v"}, _tests("90 passed in 2.38s"), False
        yield "Read", {"file_path": file}, _source(name, number + 1), False
    yield "Bash", {"command": "make deploy"}, "Error: deploy key is missing", False
    yield "Bash", {"command": "systemctl restart worker"}, None, False


def write_sample_session(path: Path) -> Path:
    """Write the session as a Claude Code file."""
    ask = {"role": "user", "content": "The totals of the shop are wrong by one. Fix them and deploy."}
    messages: list[tuple[dict[str, Any], int]] = [(ask, 0)]
    held, told = 0, _FIXED_TOKENS
    for number, (name, arguments, answer, is_late) in enumerate(_steps()):
        read = 0 if is_late else held
        counts = {"cache_read_input_tokens": read, "cache_creation_input_tokens": told - read}
        usage = {"input_tokens": 3, **counts, "output_tokens": 120}
        held = told
        call = {"type": "tool_use", "id": f"toolu_{number:04d}", "name": name, "input": arguments}
        thought = {"type": "text", "text": f"Step {number + 1}: {name}."}
        said = {"role": "assistant", "id": f"msg_{number:04d}", "model": _MODEL, "content": [thought, call], "usage": usage}
        messages.append((said, _BREAK_S if is_late else _STEP_S))
        if answer is not None:
            result = {"type": "tool_result", "tool_use_id": f"toolu_{number:04d}", "content": answer}
            content = [{**result, "is_error": True} if answer.startswith("Error") else result]
            messages.append(({"role": "user", "content": content}, 2))
        told += (len(json.dumps(arguments)) + len(answer or "")) // 3
    names, moment, lines = [f"{number:08d}-0000-4000-8000-000000000000" for number in range(len(messages))], _START, list[str]()
    for number, (message, seconds) in enumerate(messages):
        moment += timedelta(seconds=seconds)
        line = {
            "parentUuid": names[number - 1] if number else None,
            "isSidechain": False,
            "sessionId": "sample",
            "version": "2.1.39",
            "type": message["role"],
            "message": message,
            "uuid": names[number],
            "timestamp": moment.isoformat().replace("+00:00", "Z"),
        }
        lines.append(json.dumps(line, ensure_ascii=False) + "\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path
