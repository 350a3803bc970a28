"""The law of references: from what is sent alone, each reference leads to the words of the record."""

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

import redline
from redline import EN, Conversation, Policy
from redline.engine.request import Request
from redline.errors import RedlineError
from redline.providers import FORMATS
from redline.rules import FailedInputs, Folded, MaskedResults
from redline.testing import asks, conversation, says
from tests.effort import tries
from tests.references import check_references, numbered

BLOCKS = [
    "\n".join(f"{name} line {number} says something that is long enough" for number in range(8)) for name in ("ab", "cd", "ef")
]
"""Texts of results are made of these, and of lines of their own."""
FILES = [block.replace("line", "code") for block in BLOCKS[:2]]


def marked(text: str, mark: str) -> str:
    return "\n".join(mark + line for line in text.split("\n"))


def diff_of(file: int, marks: list[str]) -> str:
    """A file in a diff, with some of its lines new, some gone and some as they were."""
    lines = FILES[file].split("\n") * len(marks)
    hunk = [marks[place // 8] + line for place, line in enumerate(lines)]
    return "\n".join([f"diff --git a/f{file}.py b/f{file}.py", "@@ -1,8 +1,8 @@", *hunk])


outputs = st.lists(st.sampled_from([*BLOCKS, *BLOCKS, "a line of its own", "another one\n"]), min_size=1, max_size=4).map(
    "\n".join
)
asked = st.tuples(st.just("request"), st.none())
steps = st.one_of(
    asked,
    asked,
    st.tuples(st.just("run"), st.sampled_from(["make a", "make b"]), outputs),
    st.tuples(st.just("read"), st.sampled_from([0, 1]), st.integers(1, 30)),
    st.tuples(st.sampled_from(["write", "patch"]), st.sampled_from([0, 1]), st.none()),
    st.tuples(st.just("diff"), st.sampled_from([0, 1]), st.lists(st.sampled_from("+-  "), min_size=2, max_size=4)),
    st.tuples(st.sampled_from(["run"]), st.sampled_from(["make a", "make b"]), outputs),
    st.tuples(st.sampled_from(["preview", "reopen", "undo", "pin", "unpin"]), st.integers(0, 50)),
    st.tuples(
        st.sampled_from(["rewind", "truncate", "hide", "batch", "rollback", "fork", "compact", "other rules"]),
        st.integers(0, 50),
    ),
)
KEEP = 2
RULES = (Folded(), MaskedResults(keep_recent=KEEP))
POLICY = Policy(rules=RULES, schedule="eager", words=EN, strategy="answer")


class Story:
    """A conversation that is led through steps, and checked at each request."""

    def __init__(self, folder: Path, format: str, schedule: str) -> None:
        self.folder, self.format, self.count = folder, format, 0
        self.policy = Policy(rules=RULES, schedule=schedule, words=EN, strategy="answer")  # type: ignore[arg-type]
        self.now = 1_700_000_000_000.0
        self.talk = self.open(folder / "0.jsonl")
        self.add(says("user", "Begin."))

    def open(self, path: Path) -> Conversation:
        self.path = path
        return redline.open(path, policy=self.policy, model="claude-opus-4-6", format=self.format, clock=lambda: self.now)  # type: ignore[arg-type]

    def add(self, *turns: Any) -> None:
        for payload in conversation(self.format, turns):
            self.talk.add(payload)

    def take(self, step: tuple[Any, ...]) -> None:  # noqa: C901 - a branch for each step
        kind, number = step[0], step[1]
        self.count += 1
        id, self.now = f"call_{self.count}", self.now + 200_000
        talk, size = self.talk, len(self.talk.all_messages)
        match kind:
            case "run":
                self.add(*asks("Bash", {"command": number}, step[2], id=id))
            case "read":
                self.add(*asks("Read", {"file_path": f"f{number}.py"}, numbered(FILES[number], step[2]), id=id))
            case "diff":
                self.add(*asks("Bash", {"command": f"git diff f{number}.py"}, diff_of(number, step[2]), id=id))
            case "patch":
                patch = f"*** Begin Patch\n*** Add File: f{number}.py\n{marked(FILES[number], '+')}\n*** End Patch"
                self.add(*asks("apply_patch", {"input": patch}, "done", id=id))
            case "write":
                self.add(*asks("Write", {"file_path": f"f{number}.py", "content": FILES[number]}, "done", id=id))
            case "request":
                check(talk.request(), talk)
            case "preview":
                check(talk.preview(), talk)
            case "reopen":
                talk.close()
                self.talk = self.open(self.path)
            case "undo" if strikes := talk.preview().strikes:
                talk.undo(strikes[number % len(strikes)])
            case "pin":
                talk.pin(number % size)
            case "unpin":
                talk.unpin(number % size)
            case "rewind":
                talk.rewind(max(1, size - number % 7))
            case "truncate":
                talk.process({"operation": "truncate", "truncate": {"keep_last": 1 + number % 9}})
            case "hide":
                talk.process(
                    {"operation": "filter", "filter": {"remove_indices": [number % max(len(talk.visible_indices), 1)]}}
                )
            case "batch":
                talk.start_batch(len(talk.visible_indices) - 1)
            case "rollback":
                talk.rollback(talk.batches[number % len(talk.batches)])
            case "compact":
                talk.compact(lambda _messages: "A summary.", keep_last=2 + number % 6)
            case "fork":
                self.path = self.folder / f"{self.count}.jsonl"
                fork = talk.fork(self.path)
                talk.close()
                self.talk = fork
            case "other rules":
                check(talk.request(rules=[MaskedResults(keep_recent=1)]), talk)


LONG = "cd /srv/app && " + "make a-target-with-a-long-name && " * 8 + "true"


def made(rules: list[Any], turns: list[Any]) -> str:
    """The text of the last result in a request."""
    talk = Conversation(policy=Policy(rules=rules, schedule="eager", words=EN, strategy="answer"), model="claude-opus-4-6")
    for payload in conversation("anthropic", turns):
        talk.add(payload)
        request = talk.request()
    return request.messages[-1]["content"][0]["content"]


def test_answers_of_the_repair_are_counted():
    """An interrupted call has an output in the request, so the next of its name is the second."""
    turns = [says("user", "Begin."), *asks("Bash", {"command": "make"}, None, id="a"), says("user", "Again.")]
    turns += [*asks("Bash", {"command": "make"}, BLOCKS[0], id="b"), *asks("Bash", {"command": "cat log"}, BLOCKS[0], id="c")]
    assert made([Folded()], turns) == "[lines 1–8: as in the 2nd output of `Bash make` above]"


def test_a_call_is_named_as_it_is_sent():
    """When its input is struck, the references to its output name what replaces it."""
    failed = f"Error: exit code 2\n{BLOCKS[0]}"
    turns = [
        says("user", "Begin."),
        *asks("Bash", {"command": LONG}, failed, id="a"),
        *asks("Bash", {"command": "x"}, "y", id="b"),
    ]
    turns += asks("Bash", {"command": "cat log"}, BLOCKS[0], id="c")
    assert made([Folded()], turns).startswith("[lines 1–8: as in the output of `Bash cd /srv/app && make")
    found = made([Folded(), FailedInputs(after_steps=1)], turns)
    assert found == "[lines 1–8: as in the output of `Bash [This call failed; its input was removed]` above, from its line 2]"


def check(request: Request, talk: Conversation) -> None:
    """From what is sent, each reference leads to the words of the record."""
    check_references(request.messages, talk.all_messages, request.format)


@pytest.mark.parametrize("format", sorted(FORMATS))
@tries(120)
@given(path=st.lists(steps, min_size=8, max_size=40), schedule=st.sampled_from(["eager", "when_free"]))
def test_each_reference_leads_to_the_words_of_the_record(format, path, schedule, tmp_path_factory):
    """Whatever is added, struck, undone, pinned, hidden, rewound, forked, compacted and opened again."""
    story = Story(tmp_path_factory.mktemp("story"), format, schedule)
    for step in path:
        try:
            story.take(step)
        except RedlineError:
            if step[0] in ("request", "preview", "reopen", "run", "read", "write"):  # any conversation can take these
                raise
    check(story.talk.request(), story.talk)
    story.talk.close()
