"""What an outline is made of, read from a history part by part: facts, each with the name of its place in the record."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from redline.folds.failure_words import FAILURE_WORDS
from redline.outlines.earlier import LineItem, find_summary, parse_outline
from redline.outlines.plans import Plan
from redline.outlines.word_uses import WordFollower
from redline.rules.facts import Facts, Seen
from redline.rules.observations import NO_OBSERVATIONS, Observations
from redline.rules.placeholders import call_label
from redline.rules.results import read_paths, written_paths
from redline.rules.worth_words import distinctive_words
from redline.tools import DEFAULT, ToolBook
from redline.tools.edits import edit_lines
from redline.tools.failures import KNOWN_SIGNS, FailureSigns
from redline.values.messages import Message, Text, ToolCall, reference_to
from redline.values.user_words import own_words
from redline.values.words import EN, Placeholders

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_DECIDES = re.compile(
    r"\b(?:because|instead|decid|root cause|turns? out|the (?:problem|issue|bug|cause|fix|reason)|confirmed|conclu|found that"
    r"|must|should not|shouldn't|cannot|won't|we(?:'ll| will)|I(?:'ll| will) (?:use|keep|not|go with)|let's (?:use|keep|go)"
    r"|approach|only (?:if|when)|note that|important|remaining|next step|still (?:need|fail|missing)|so that|rather than)"
    r"|决定|因为|原因|改用|问题(?:是|在于)|必须|不能|下一步|发现|结论|采用|而不是",
    re.IGNORECASE,
)
"""By these words a sentence says why, what was found, or what is to be."""
_LEAST_CHARS, _MOST_CHARS = 20, 300
_CHANGE_CHARS, _RESULT_CHARS, _LABEL_BYTES = 90, 120, 120
_MOST_SENTENCES = 10_000
_BRACKETS = 2
"""A shorter line says nothing."""
_MOST_CHANGE_LINES, _MOST_RESULT_LINES = 3, 3
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.*)$")

Chances = Mapping[bytes, float]


@dataclass(frozen=True, slots=True)
class OutlineSettings:
    """How a history is read, and in which words its outline is written."""

    words: Placeholders = EN
    tools: ToolBook = DEFAULT
    failures: FailureSigns = KNOWN_SIGNS
    observations: Observations = NO_OBSERVATIONS
    project_root: str = ""
    generation: int | None = None
    """Which of the conversations that go on from one another the history is, where the outline is for another one."""
    recall_tool: str | None = None
    """The name under which the model can read a place in the record; None: it cannot."""
    word_weights: tuple[float, ...] | None = None
    """Coefficients of the chance that a word is said again, in place of those that ship."""


class KnownFile(msgspec.Struct):
    """A file that was read or changed, and its last change."""

    path: str
    reference: str
    order: int
    changes: int = 0
    call: ToolCall | None = None
    """The call that changed it last."""


class HistoryReader:
    """Takes in a history message by message; what it knows then, it gives as items of an outline."""

    def __init__(self, settings: OutlineSettings) -> None:
        self.settings = settings
        self.uses = WordFollower(settings.project_root)
        self.user: list[LineItem] = []
        """What the user said, in order."""
        self._facts = Facts(settings.tools, settings.failures, settings.observations)
        self._plan = Plan()
        self._files: dict[str, KnownFile] = {}
        self._failures: dict[str, LineItem] = {}
        self._sentences: dict[str, LineItem] = {}
        self._last: list[LineItem] = []
        self.earlier: list[LineItem] = []
        """Lines of an outline that this history begins with."""

    def add(self, index: int, message: Message) -> None:
        """The next message."""
        for seen in self._facts.add(index, message):
            self._see(seen)

    def name_of(self, seen: Seen) -> str:
        """The reference of a part."""
        return reference_to(seen.index, seen.place, self.settings.generation)

    def items(self, chances: Chances) -> Iterator[LineItem]:
        """The facts that are no words of the user, in no order."""
        for one in self.earlier:
            is_known_file = one.section == "files" and one.text.partition(" (")[0] in self._files
            if not (is_known_file or (one.section == "plan" and self._plan.is_made) or one.section == "words"):
                yield one
        yield from self._plan.items()
        yield from (self._file_item(one, chances) for one in self._files.values())
        yield from self._failures.values()
        yield from self._sentences.values()
        yield from (one for one in self._last if one.text not in self._sentences)

    def _see(self, seen: Seen) -> None:
        part, text, earlier = seen.part, seen.text, None
        if isinstance(part, Text) and seen.message.role == "user":
            earlier = parse_outline(text, _order(seen), self.settings.words, self.settings.generation)
            if earlier is None:
                self._hear_user(seen, text)
            else:
                self.earlier += [one for one in earlier if one.section != "user"]
                self.user += [one for one in earlier if one.section == "user"]
        elif isinstance(part, Text) and seen.message.role == "assistant":
            self._hear_sentences(seen, text)
        elif isinstance(part, ToolCall):
            self._plan.see_call(seen, self.name_of(seen))
        elif seen.result is not None:
            self._plan.see_result(seen)
            self._see_result(seen)
        self.uses.see(seen, is_quoted=earlier is not None)

    def _hear_user(self, seen: Seen, text: str) -> None:
        if summary := find_summary(text):
            self._hear_sentences(seen, summary, are_all=True)
        elif own := own_words(text).strip():
            self.user.append(LineItem("user", self.name_of(seen), own, _order(seen)))

    def _hear_sentences(self, seen: Seen, text: str, *, are_all: bool = False) -> None:
        sentences = (" ".join(raw.split()).lstrip("-*#> ") for raw in _SENTENCE_END.split(text))
        items = [
            LineItem("decisions", self.name_of(seen), said, _order(seen) + number, worth=0.5)
            for number, said in enumerate(sentences)
            if _LEAST_CHARS <= len(said) <= _MOST_CHARS
        ]
        for one in items:
            if are_all or _DECIDES.search(one.text):
                self._sentences.pop(one.text, None)
                self._sentences[one.text] = one
        if items:
            self._last = [msgspec.structs.replace(one, worth=1.0) for one in items]

    def _see_result(self, seen: Seen) -> None:
        label = call_label(seen, _LABEL_BYTES)
        if seen.is_error:
            self._failures.pop(label, None)
            shown = _failure_lines(seen.text)
            self._failures[label] = LineItem("failures", self.name_of(seen), f"{label} → {shown}", _order(seen), worth=1.0)
            return
        self._failures.pop(label, None)
        root, asked = self.settings.project_root, seen.asked
        for path in sorted(written_paths(seen, root)):
            before = self._files.pop(path, None)
            changes = (before.changes if before else 0) + 1
            call = asked.part if asked is not None and isinstance(asked.part, ToolCall) else None
            self._files[path] = KnownFile(path, self.name_of(asked or seen), _order(seen), changes, call)
        for path in sorted(read_paths(seen, root, shell_reads=True)):
            known = self._files.get(path)
            if known is None or not known.changes:
                self._files[path] = KnownFile(path, self.name_of(seen), _order(seen))

    def _file_item(self, file: KnownFile, chances: Chances) -> LineItem:
        words = self.settings.words
        if not file.changes:
            return LineItem("files", file.reference, f"{file.path} ({words.outline_read})", file.order, worth=0.3)
        times = f" {file.changes}×" if file.changes > 1 else ""
        change = _change_of(file, chances)
        text = f"{file.path} ({words.outline_changed}{times}){f': {change}' if change else ''}"
        return LineItem("files", file.reference, text, file.order, worth=1.5)


def _order(seen: Seen) -> int:
    """That of a part among others, with room for the sentences in it."""
    return seen.order * _MOST_SENTENCES


def worth_of(text: str, chances: Chances, covered: Iterable[bytes] = ()) -> float:
    """How many of the distinctive words of a text are expected to be said again, but for those that are in sight."""
    known = covered if isinstance(covered, set) else set(covered)
    return sum(chances.get(word, 0.0) for word, _ in distinctive_words(text) if word not in known)


def _failure_lines(text: str) -> str:
    """What a failed call says last that reports the failure, in one line."""
    lines = [line for line in map(_in_one_line, text[-20_000:].split("\n")) if line]
    telling = [line for line in lines if FAILURE_WORDS.search(line)] or lines
    return " | ".join(dict.fromkeys(line[:_RESULT_CHARS] for line in telling[-_MOST_RESULT_LINES:]))


def _change_of(file: KnownFile, chances: Chances) -> str:
    """The lines of the last change that are most likely to be needed, in their order."""
    lines = (edit_lines(file.call) if file.call is not None else None) or []
    own, is_own = list[str](), True
    for sign, line in lines:
        if sign == " " and (patched := _PATCHED_FILE.match(line)):
            is_own = patched[1].strip().replace("\\", "/").endswith(file.path.rpartition("/")[2])
        elif is_own and sign in "+-" and len(line.strip()) > _BRACKETS:
            own.append(sign + _in_one_line(line)[:_CHANGE_CHARS])
    added = [line for line in own if line[0] == "+"] or own
    ranked = sorted(range(len(added)), key=lambda place: (-worth_of(added[place], chances), place))
    return " | ".join(added[place] for place in sorted(ranked[:_MOST_CHANGE_LINES]))


def _in_one_line(text: str) -> str:
    return " ".join(text.split())
