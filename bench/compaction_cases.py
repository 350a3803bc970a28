"""Compactions of the recorded sessions, and cuts where there might have been one: what came before, and what was said after."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.corpus import recorded_files
from bench.view_windows import requests_by_window
from bench.worth_rows import projects
from redline import read_transcript
from redline.outlines.history import HistoryReader, OutlineSettings
from redline.rules.observations import AUTO_OBSERVATIONS
from redline.rules.worth_words import distinctive_words, texts_of
from redline.sessions.replay.history import PastRequest, SessionHistory, histories_in
from redline.tokens import Estimate
from redline.values.messages import Message, Part, Reasoning

__all__ = ["CompactionCase", "cases_in", "over_cases", "text_of", "words_in", "words_of"]

T = TypeVar("T")

COUNTER = Estimate()
LEAST_TOKENS = 8_000
"""A shorter history is not compacted to 4,000 tokens."""
_CUT_TOKENS, _CUTS = 25_000, (0.4, 0.6, 0.8)
_LEAST_SUMMARY = 200
"""Tokens: a shorter one says that the summary is encrypted."""


@dataclass(frozen=True)
class CompactionCase:
    """A place where the history before it was replaced, or might have been."""

    path: Path
    project: str
    is_recorded: bool
    history: SessionHistory
    before: tuple[int, ...]
    """The messages that were sent until then."""
    summary: str
    """What the agent's own compaction put there, where it is in plain words."""
    kept: tuple[int, ...]
    """The messages that were sent again beside it."""
    after: tuple[int, ...]

    def read(self, weights: tuple[float, ...] | None = None) -> HistoryReader:
        """The history before, as an outline reads it."""
        reader = HistoryReader(self.settings(weights))
        for index in self.before:
            reader.add(index, self.history.load(index))
        return reader

    def settings(self, weights: tuple[float, ...] | None = None) -> OutlineSettings:
        """With the project's own root, and a model that may have been fitted without the project."""
        root = self.history.project_root
        return OutlineSettings(observations=AUTO_OBSERVATIONS, project_root=root, word_weights=weights)

    def used_later(self, known: set[bytes]) -> tuple[set[bytes], set[bytes]]:
        """Which of these words the agent said later on, in the window that followed; and which of them before it was shown
        them anew, or sent them beside the summary."""
        shown = words_of(self.messages(self.kept))
        used, needed = set[bytes](), set[bytes]()
        for message in self.messages(self.after):
            words = words_of([message])
            if message.role == "assistant":
                needed |= (words & known) - used - shown
                used |= words & known
            shown |= words
        return used, needed

    def messages(self, indices: tuple[int, ...]) -> list[Message]:
        """The messages of these indices."""
        return [self.history.load(index) for index in indices]


def cases_in(path: Path, project: str) -> Iterator[CompactionCase]:
    """The compactions of a session file; of a long last window, three cuts."""
    for history in histories_in(read_transcript(path)):
        windows = requests_by_window(history)
        for number, window in enumerate(windows):
            before = (*window[-1].indices, *history.answers_to(window[-1]))
            if sum(COUNTER.count(text) for text in _texts(history, before)) < LEAST_TOKENS:
                continue
            if number + 1 < len(windows):
                yield _recorded(path, project, history, before, windows[number + 1])
            else:
                yield from _cuts(path, project, history, before)


def _recorded(
    path: Path, project: str, history: SessionHistory, before: tuple[int, ...], window: list[PastRequest]
) -> CompactionCase:
    first, last = tuple(window[0].indices), window[-1]
    said = set(_texts(history, before))
    summary = "\n".join(text for text in _texts(history, first) if text not in said)
    after = tuple(index for index in (*last.indices, *history.answers_to(last)) if index not in set(first))
    is_plain = COUNTER.count(summary) >= _LEAST_SUMMARY and any(
        text not in said and COUNTER.count(text) >= _LEAST_SUMMARY for text in _texts(history, first)
    )
    kept = tuple(index for index in first if any(text in said for text in _texts(history, (index,))))
    return CompactionCase(path, project, True, history, before, summary if is_plain else "", kept, after)


def _cuts(path: Path, project: str, history: SessionHistory, before: tuple[int, ...]) -> Iterator[CompactionCase]:
    if sum(COUNTER.count(text) for text in _texts(history, before)) < _CUT_TOKENS:
        return
    for share in _CUTS:
        cut = int(len(before) * share)
        while cut < len(before) and history.load(before[cut]).role != "assistant":
            cut += 1
        if cut < len(before):
            yield CompactionCase(path, project, False, history, before[:cut], "", (), before[cut:])


def over_cases(measure: Callable[[Path, str], list[T]]) -> list[T]:
    """What a function of a file and its project gives, for every recorded session."""
    known = projects()
    files = list(recorded_files())
    with ProcessPoolExecutor(2) as pool:
        found = pool.map(measure, files, [known[path] for path in files])
        return [one for many in found for one in many]


def text_of(messages: list[Message]) -> str:
    """All that messages say, one text after the other, reasoning aside."""
    return "\n".join(text for message in messages for part in message.parts for text in _said(part))


def words_of(messages: list[Message]) -> set[bytes]:
    """Their distinctive words."""
    return {word for message in messages for part in message.parts for text in _said(part) for word in words_in(text)}


def words_in(text: str) -> set[bytes]:
    """Those of a text."""
    return {word for word, _ in distinctive_words(text)}


def _said(part: Part) -> Iterator[str]:
    yield from () if isinstance(part, Reasoning) else texts_of(part)


def _texts(history: SessionHistory, indices: Iterable[int]) -> Iterator[str]:
    for index in indices:
        for part in history.load(index).parts:
            yield from _said(part)
