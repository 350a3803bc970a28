"""References in lists that are sent again and again: branches, compactions, restarts and several workers."""

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from redline import Editor
from redline.providers import FORMATS
from redline.testing import asks, conversation, says
from tests.effort import tries
from tests.engine.test_references import FILES, POLICY, outputs
from tests.references import check_references, numbered

steps = st.one_of(
    st.tuples(st.just("run"), st.sampled_from(["make a", "make b"]), outputs),
    st.tuples(st.just("run"), st.sampled_from(["make a", "make b"]), outputs),
    st.tuples(st.just("read"), st.sampled_from([0, 1]), st.integers(1, 30)),
    st.tuples(st.just("write"), st.sampled_from([0, 1]), st.none()),
    st.tuples(
        st.sampled_from(["go back", "say otherwise", "other branch", "compact", "restart", "other worker", "wait"]),
        st.integers(0, 50),
    ),
)


class Client:
    """Keeps its own list, sends it whole each time, and has two workers that edit it."""

    def __init__(self, address: Path, format: str) -> None:
        self.address, self.format, self.now = address, format, 1_700_000_000_000.0
        self.workers = [self.open(), self.open()]
        self.list: list[Any] = conversation(format, [says("user", "Begin.")])
        self.branches = [self.list]
        self.said: list[Any] = list(self.list)
        self.count = self.referring = 0

    def open(self) -> Editor:
        return Editor(self.address, policy=POLICY)

    def close(self) -> None:
        for worker in self.workers:
            worker.close()

    def ask(self) -> None:
        self.now += 20_000
        request = self.workers[0].edit(self.list, model="claude-opus-4-6", format=self.format, now=self.now, session="chat")
        self.referring += check_references(request.messages, self.said, self.format)

    def add(self, turns: list[Any]) -> None:
        made = conversation(self.format, turns)
        self.list = [*self.list, *made]
        self.said += made

    def take(self, step: tuple[Any, ...]) -> None:  # noqa: C901 - a branch for each step
        kind, number = step[0], step[1]
        self.count += 1
        id = f"call_{self.count}"
        match kind:
            case "run":
                self.add(asks("Bash", {"command": number}, step[2], id=id))
            case "read":
                self.add(asks("Read", {"file_path": f"f{number}.py"}, numbered(FILES[number], step[2]), id=id))
            case "write":
                self.add(asks("Write", {"file_path": f"f{number}.py", "content": FILES[number]}, "done", id=id))
            case "go back":
                self.branches.append(self.list)
                self.list = self.list[: max(1, len(self.list) - 2 * (number % 5))]
            case "say otherwise":
                self.branches.append(self.list)
                self.list = self.list[: 1 + 2 * (number % 4)]
                self.add([says("user", f"Rather do this {number}.")])
            case "other branch":
                self.branches.append(self.list)
                self.list = self.branches[number % len(self.branches)]
            case "compact":
                self.branches.append(self.list)
                kept = self.list[len(self.list) - 2 * (number % 5) :] if number % 5 else []
                self.list = [*conversation(self.format, [says("user", f"A summary of {len(self.list)} messages.")]), *kept]
            case "restart":
                self.workers[0].close()
                self.workers[0] = self.open()
            case "other worker":
                self.workers.reverse()
            case "wait":
                self.now += 600_000
        self.ask()


@pytest.mark.parametrize("format", sorted(FORMATS))
@tries(80)
@given(path=st.lists(steps, min_size=6, max_size=30))
def test_each_reference_leads_to_words_that_are_sent(format, path, tmp_path_factory):
    """Whatever the client sends, and whoever edits it."""
    client = Client(tmp_path_factory.mktemp("client"), format)
    try:
        for step in path:
            client.take(step)
    finally:
        client.close()


def test_lists_that_are_sent_again_have_references(tmp_path):
    """The test above is not one of nothing."""
    client = Client(tmp_path, "anthropic")
    for _ in range(3):
        client.take(("run", "make a", "\n".join(FILES)))
    client.close()
    assert client.referring
