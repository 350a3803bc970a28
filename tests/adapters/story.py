"""The acceptance story of every adapter: one agent run through the real framework, each turn in a process of its own or not.

A framework has two files: `<name>_agent.py`, the agent as its users would write it, which is run as a program; and
`test_<name>.py`, which inherits the tests below.
"""

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import redline
from redline.providers import find_format
from redline.providers.usage import read_usage
from redline.record import JsonlLog
from redline.record.blobs import DirectoryBlobs
from redline.record.records import UsageReported
from redline.rules import OffloadResults
from redline.testing import FakeProvider, fake_provider
from redline.testing.builders import Turn, conversation, says
from redline.testing.provider import Reply
from redline.values import Message, Reasoning, Text, ToolCall, ToolResult

ROOT = Path(__file__).resolve().parents[2]
MINUTE = 60_000
POLICY = redline.Policy(words=redline.EN, schedule="eager")
OFFLOADING = redline.Policy(rules=[OffloadResults()], words=redline.EN, schedule="eager")
SOURCE = "def total(order):\n    return sum(line.price for line in order.lines)\n" * 20
BUILD = "cc -O2 -c orders.c -o orders.o\n" * 6_500
"""Some 200 kB."""
REFUSED = "make: *** [deploy] Error 1"
REQUESTS_OF_FIRST_TURN = 10


class CommandError(Exception):
    """What the shell of the story says where a command fails."""


def bash(command: str) -> str:
    """Run a command in the shell."""
    if command == "crash":
        os._exit(9)
    if command == "make deploy":
        raise CommandError(REFUSED)
    return BUILD if command == "make" else "14 passed\n" * 40


def read_file(path: str) -> str:
    """Read a file."""
    return f"# {path}\n{SOURCE}"


def calls(*asked: tuple[str, str, str]) -> Turn:
    """The assistant calls tools: id, tool, and its one argument."""
    names = {"bash": "command", "read_file": "path"}
    return "assistant", tuple(ToolCall(id, tool, {names[tool]: argument}) for id, tool, argument in asked)


REPLIES: list[Turn] = [
    calls(("call_1", "bash", "make")),
    *(calls((f"call_{number}", "read_file", "orders.py")) for number in (2, 3, 4, 5)),
    calls(("call_6", "read_file", "orders.py"), ("call_7", "bash", "make test")),
    calls(("call_8", "read_file", "orders.py")),
    calls(("call_9", "bash", "make deploy")),
    calls(("call_10", "read_file", "orders.py")),
    says("assistant", "The build passes, the deployment does not."),
    calls(("call_11", "read_file", "orders.py")),
    says("assistant", "The totals are documented."),
]
QUESTIONS = ["Why does the build fail?", "Are the totals documented?"]
CRASH: list[Turn] = [
    calls(("call_1", "bash", "make")),
    calls(("call_2", "read_file", "orders.py"), ("call_7", "bash", "make test")),
    calls(("call_12", "bash", "crash")),
    *(calls((f"call_{number}", "read_file", "orders.py")) for number in (3, 4, 5, 6, 8)),
    says("assistant", "The build passes."),
]
"""Calls have the ids that they have above."""
STUB_ASKS = 'recall(reference="'


def reads_back(messages: Sequence[Message]) -> Turn:
    """The model has seen the stub of the build, and asks for its last two lines."""
    stub = next(result.text for message in messages for result in message.results if STUB_ASKS in result.text)
    reference = stub.rpartition(STUB_ASKS)[2].partition('"')[0]
    return "assistant", (ToolCall("call_13", "recall", {"reference": reference, "lines": "-2"}),)


OFFLOAD: list[Reply] = [calls(("call_1", "bash", "make")), reads_back, says("assistant", "The build passes.")]


@dataclass(frozen=True, slots=True)
class Scene:
    """What a process of the story is to do."""

    url: str
    folder: str
    """Where the framework and Redline keep what they know, each in files of its own."""
    questions: tuple[str, ...]
    format: str
    """Which of the provider's APIs is spoken."""
    mode: str = "sync"
    """`sync`, `async` or `stream`, as far as the framework has them."""
    requests_before: int = 0
    """How many requests earlier processes sent: the clock goes on from there, three minutes for each."""
    offloads: bool = False
    """Whether large results move to blobs, and nothing else is done; the agent then has the recall tool."""

    def editor(self) -> redline.Editor:
        """The Editor of the process, with the clock of the story."""
        minutes = iter(range(3 * self.requests_before, 10**6, 3))
        blobs = DirectoryBlobs(f"{self.folder}/blobs") if self.offloads else None
        policy = OFFLOADING if self.offloads else POLICY
        return redline.Editor(f"{self.folder}/redline", policy=policy, blobs=blobs, clock=lambda: next(minutes) * MINUTE)


def play(converse: Callable[[Scene], dict[str, str]]) -> None:
    """Run a scene that is given as an argument; print what the framework keeps: the text of each result by its call."""
    given = json.loads(sys.argv[1])
    kept = converse(Scene(**{**given, "questions": tuple(given["questions"])}))
    sys.stdout.write(json.dumps(kept))


class AdapterStory:
    """The tests that every adapter passes."""

    agent: str
    """The module of the agent."""
    ways: Sequence[tuple[str, str]] = ()
    """The formats and modes that it is run with; the first is that of the tests with one."""

    def run(self, scene: Scene, *, code: int = 0) -> dict[str, str]:
        """One process."""
        command = [sys.executable, "-m", f"tests.adapters.{self.agent}", json.dumps(dataclasses.asdict(scene))]
        settings = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == code, done.stderr[-4000:]
        assert "Traceback" not in done.stderr, done.stderr[-4000:]
        return json.loads(done.stdout.splitlines()[-1]) if code == 0 else {}

    def scene(
        self, provider: FakeProvider, folder: Path, questions: Sequence[str], way: tuple[str, str] | None = None
    ) -> Scene:
        folder.mkdir(exist_ok=True)
        format, mode = way or self.ways[0]
        return Scene(provider.url, str(folder), tuple(questions), format, mode, provider.statuses.count(200))

    def test_the_story(self, way, tmp_path):
        """The model sees the strikes of a plain loop, the framework keeps everything, requests are legal, usage arrives."""
        with fake_provider(REPLIES) as provider:
            kept = self.run(self.scene(provider, tmp_path, QUESTIONS, way))
        assert provider.statuses == [200] * len(REPLIES)
        assert [struck_calls(exchange.body, way[0]) for exchange in provider.exchanges] == strikes_of_plain_loop()
        assert problems(provider, way[0]) == []
        said = {id: text for turn in heard() for id, text in turn.items()}
        assert {id: said[id] in text for id, text in kept.items()} == dict.fromkeys(said, True)
        assert list(reported_usage(tmp_path / "redline")) == [tokens(exchange.answer) for exchange in provider.exchanges]

    def test_a_second_process_sends_the_same_bytes(self, tmp_path):
        """What a process started again sends is byte for byte what one that went on sends."""
        with fake_provider(REPLIES) as whole:
            self.run(self.scene(whole, tmp_path / "whole", QUESTIONS))
        with fake_provider(REPLIES) as cut:
            for question in QUESTIONS:
                self.run(self.scene(cut, tmp_path / "cut", [question]))
        assert [json.dumps(one.body) for one in cut.exchanges] == [json.dumps(one.body) for one in whole.exchanges]
        assert struck_calls(cut.exchanges[REQUESTS_OF_FIRST_TURN].body, self.ways[0][0])

    def test_killed_within_a_tool(self, tmp_path):
        """A process that dies between call and result is gone on with by another, whose requests are legal."""
        with fake_provider(CRASH) as provider:
            self.run(self.scene(provider, tmp_path, ["Why does the build fail?"]), code=9)
            assert provider.statuses == [200] * 3
            self.run(self.scene(provider, tmp_path, ["Go on."]))
        assert provider.statuses == [200] * len(CRASH)
        assert problems(provider, self.ways[0][0]) == []
        assert "call_1" in struck_calls(provider.exchanges[-1].body, self.ways[0][0])

    def test_an_offloaded_result_is_read_back(self, way, tmp_path):
        """The 200 kB are a stub in what is sent, and the tool that the adapter gives the agent reads lines of them."""
        with fake_provider(OFFLOAD) as provider:
            kept = self.run(dataclasses.replace(self.scene(provider, tmp_path, QUESTIONS[:1], way), offloads=True))
        assert provider.statuses == [200] * len(OFFLOAD)
        sent = results(provider.exchanges[-1].body, way[0])
        assert (BUILD not in sent["call_1"], BUILD in kept["call_1"]) == (True, True)
        assert sent["call_13"].splitlines() == BUILD.splitlines()[-2:]
        assert problems(provider, way[0]) == []


class BoundReasoningStory:
    """For adapters that are run against Anthropic: models that refuse a changed past."""

    def test_bound_reasoning_is_never_refused(self, tmp_path):
        """Nothing before reasoning that is bound to it is changed while that is sent: the adapter reads signatures."""
        replies = [(role, (Reasoning(f"Step {n}."), *parts)) for n, (role, parts) in enumerate(REPLIES)]
        with fake_provider(replies, binds_reasoning=True) as provider:
            self.run(self.scene(provider, tmp_path, QUESTIONS, ("anthropic", "thinking")))
        assert provider.statuses == [200] * len(REPLIES)
        assert '"signature"' in json.dumps(provider.exchanges[3].body)


# --- what was sent


def results(body: dict[str, Any], format: str) -> dict[str, str]:
    """The text of each result in a request, by its call."""
    parts = [part for message in find_format(format).read_request(body) for part in message.parts]
    return {
        part.call_id: "".join(inner.text for inner in part.parts if isinstance(inner, Text))
        for part in parts
        if isinstance(part, ToolResult)
    }


def struck_calls(body: dict[str, Any], format: str) -> list[str]:
    """The calls whose results are not sent as they were."""
    said = {id: text for turn in heard() for id, text in turn.items()}
    return [id for id, text in results(body, format).items() if said.get(id, text) not in text]


def problems(provider: FakeProvider, format: str) -> list[redline.Problem]:
    """What is wrong with the requests that were sent."""
    field = find_format(format).messages_field
    return [problem for one in provider.exchanges for problem in redline.check(one.body[field], format=format)]


def tokens(answer: dict[str, Any]) -> int:
    """What the provider reported as sent."""
    return read_usage(answer).input_tokens


def reported_usage(folder: Path, logs: str = "*.jsonl") -> Iterator[int]:
    """The tokens sent that were reported to Redline, in order."""
    for path in folder.glob(logs):
        with_log = JsonlLog(path)
        yield from (one.record.input_tokens for one in with_log.read() if isinstance(one.record, UsageReported))
        with_log.close()


# --- what a plain loop does


def heard() -> list[dict[str, str]]:
    """For each reply, the results of its calls."""
    return [{part.id: answer(part) for part in parts if isinstance(part, ToolCall)} for _, parts in REPLIES]


def answer(call: ToolCall) -> str:
    tool = {"bash": bash, "read_file": read_file}[call.name]
    try:
        return tool(**call.arguments)
    except CommandError as problem:
        return str(problem)


def strikes_of_plain_loop() -> list[list[str]]:
    """For each request, the calls whose results are struck where a list of messages is handed to the Editor by hand."""
    editor = redline.Editor(policy=POLICY)
    questions, turns, struck = iter(QUESTIONS), [], []
    for number, ((role, parts), said) in enumerate(zip(REPLIES, heard(), strict=True)):
        if not turns or not heard()[number - 1]:
            turns.append(says("user", next(questions)))
        request = editor.edit(conversation("anthropic", turns), now=3 * number * MINUTE)
        struck.append(struck_calls({"messages": request.messages}, "anthropic"))
        turns.append((role, parts))
        if said:
            failed = REFUSED in said.values()
            turns.append(("tool", tuple(ToolResult(id, (Text(text),), is_error=failed) for id, text in said.items())))
    assert Counter(id for ids in struck for id in ids)["call_1"] > 3, "the story strikes nothing"
    return struck


def needs(package: str) -> pytest.MarkDecorator:
    """Skips where a framework is not installed."""
    from importlib.util import find_spec

    why = f"{package} is not installed: make test-adapters makes an environment for it"
    return pytest.mark.skipif(find_spec(package) is None, reason=why)
