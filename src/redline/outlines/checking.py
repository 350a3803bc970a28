"""A summary held against the outline of what it replaces: what it does not mention, and the lines that would add it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from redline.errors import ValidationError
from redline.outlines.earlier import LineItem, heading
from redline.outlines.history import HistoryReader, OutlineSettings
from redline.outlines.outline import LEAST_CHANCE, Draft, written_lines
from redline.rules.worth_words import distinctive_words
from redline.tokens import Counter, default_counter
from redline.values.checks import check_count, short_repr
from redline.values.messages import Message

DEFAULT_APPENDIX = 1_000
LEAST_APPENDIX = 50
_MENTIONED_SHARE = 0.5
"""Of the likely names of a fact so many are in a summary that mentions it."""
_PLAIN_WORD = re.compile(r"\w{4,}")
_USER_SHARE, _FACTS_SHARE = 0.3, 0.3


@dataclass(frozen=True, slots=True)
class SummaryCheck:
    """What a summary leaves out of what an outline would have."""

    missing: tuple[LineItem, ...]
    """What the user said, facts and names that it does not mention, each with the place in the record that it is from."""
    appendix: str
    """As much of it as the budget has room for; empty if nothing is missing."""
    mentioned: int
    """How many names that are likely to be needed are in the summary."""
    likely: int
    """How many there are."""

    @property
    def share(self) -> float:
        """The share of the likely names that the summary mentions."""
        return self.mentioned / self.likely if self.likely else 1.0

    def __str__(self) -> str:
        return f"{self.mentioned} of {self.likely} likely names, {len(self.missing)} items missing"


def check_against(
    summary: str,
    messages: Iterable[tuple[int, Message]],
    *,
    settings: OutlineSettings | None = None,
    budget_tokens: int = DEFAULT_APPENDIX,
    counter: Counter | None = None,
    in_sight: Sequence[Message] = (),
) -> SummaryCheck:
    """Hold a summary against the messages that it replaces, each with its index in the record.

    `in_sight` are messages that are sent beside it: what they say need not be in it.
    """
    if not isinstance(summary, str):
        raise ValidationError(f"summary must be a text, not {short_repr(summary)}")
    check_count("budget_tokens", budget_tokens)
    if budget_tokens < LEAST_APPENDIX:
        raise ValidationError(f"budget_tokens must be at least {LEAST_APPENDIX}, not {budget_tokens}")
    reader = HistoryReader(settings or OutlineSettings())
    for index, message in messages:
        reader.add(index, message)
    draft = Draft(reader, counter or default_counter(), in_sight)
    likely = {word for word, chance in draft.chances.items() if chance >= LEAST_CHANCE} - draft.covered
    draft.cover(summary)
    said = _Said(summary)
    user = [one for one in reader.user if not said.quotes(one.text)]
    facts = [one for one in reader.items(draft.chances) if not said.mentions(one)]
    names, mentioned = draft.names(_ALL), len(likely & draft.covered)
    appendix = _appendix(draft, user, facts, budget_tokens) if user or facts or names else ""
    return SummaryCheck((*user, *facts, *names), appendix, mentioned, len(likely))


_ALL = 10**9


def _appendix(draft: Draft, user: list[LineItem], facts: list[LineItem], budget: int) -> str:
    """What is missing, as many lines as have room."""
    words, in_summary, aim = draft.reader.settings.words, frozenset(draft.covered), budget
    while aim > 0:
        draft.covered = set(in_summary)
        blocks, _ = draft.user_texts(user, int(aim * _USER_SHARE))
        for block in blocks:
            draft.cover(block)
        room = aim - draft.counter.count("\n".join(blocks)) - draft.size(words.outline_missing)
        chosen, others = draft.facts(facts, int(aim * _FACTS_SHARE))
        room -= sum(draft.size(one.text) for one in chosen)
        names = draft.names(room)
        room -= sum(draft.size(one.text) for one in names)
        more, _ = draft.facts(others, room)
        told = written_lines([*chosen, *more, *names], words)
        lines = [*([heading("user", words), *blocks] if blocks else []), *told]
        text = "\n".join([words.outline_missing, *lines])
        if not lines:
            return ""
        if (tokens := draft.counter.count(text)) <= budget:
            return text
        aim -= tokens - budget + 1
    return ""


class _Said:
    """What a summary says, looked up in several ways."""

    def __init__(self, summary: str) -> None:
        self._text = " ".join(summary.split())
        self._names = {word for line in summary.split("\n") for word, _ in distinctive_words(line)}
        self._plain = set(_PLAIN_WORD.findall(summary.lower()))

    def quotes(self, text: str) -> bool:
        """Whether it has a text word for word, white space aside."""
        return " ".join(text.split()) in self._text

    def mentions(self, item: LineItem) -> bool:
        """Whether it has a file by its name, and of another fact half of its names and of its plain words."""
        if item.section == "files":
            return item.text.partition(" (")[0].rpartition("/")[2] in self._text
        names = {word for word, _ in distinctive_words(item.text)}
        plain = set(_PLAIN_WORD.findall(item.text.lower()))
        shares = [len(own & said) / len(own) for own, said in ((names, self._names), (plain, self._plain)) if own]
        return min(shares, default=1.0) >= _MENTIONED_SHARE
