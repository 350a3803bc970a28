"""An outline of a history within a budget of tokens: the user's words, plan, files, failures, decisions, and likely names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from redline.errors import ValidationError
from redline.outlines.earlier import SECTIONS, LineItem, heading
from redline.outlines.history import HistoryReader, OutlineSettings, worth_of
from redline.outlines.word_uses import WordUse
from redline.rules.worth_words import distinctive_words, texts_of
from redline.tokens import Counter, default_counter
from redline.values.checks import check_count
from redline.values.messages import Message, Reasoning, reference_to
from redline.values.words import Placeholders

DEFAULT_BUDGET = 4_000
LEAST_BUDGET = 100
_USER_SHARE, _PLAN_SHARE, _FACTS_SHARE = 0.5, 0.12, 0.45
"""Of the budget; of what the user's words leave, facts take no more than their share, and names take the rest."""
_MOST_OF_ONE = 0.5
"""Of the user's share, where not all of it has room: a longer text is cut in its middle."""
_LEAST_CUT = 40
"""A text of the user is not cut to fewer tokens than this; it is left out, and named."""
_MOST_NAMED = 12
LEAST_CHANCE = 0.04
"""A name that is less likely to be said again is left to `search` and `recall`."""
_LINE_TOKENS, _NAME_TOKENS = 6, 1
"""The reference before a line, and the space before a name."""
_GAP = "[…]"


@dataclass(frozen=True, slots=True)
class Outline:
    """What an agent needs to go on, without the history that it is made from."""

    text: str
    """As it is sent in place of the history."""
    items: tuple[LineItem, ...]
    """What it has, each with the place in the record that it is from."""
    tokens: int
    budget_tokens: int
    left_out: tuple[LineItem, ...] = field(default=(), repr=False)
    """Texts of the user that are not in it whole, and facts that found no room."""

    def __str__(self) -> str:
        return self.text


class Draft:
    """The likely words of a history, and what of them is in sight: each item is worth what it adds."""

    def __init__(self, reader: HistoryReader, counter: Counter, in_sight: Iterable[Message]) -> None:
        self.reader, self.counter = reader, counter
        self.uses: dict[bytes, WordUse] = {}
        self.chances: dict[bytes, float] = {}
        for word, use, chance in reader.uses.chances(reader.settings.word_weights):
            self.uses[word], self.chances[word] = use, chance
        self.covered: set[bytes] = set()
        for message in in_sight:
            for part in (part for part in message.parts if not isinstance(part, Reasoning)):
                for text in texts_of(part):
                    self.cover(text)

    def cover(self, text: str) -> None:
        """A text is sent: its words need not be said again."""
        self.covered.update(word for word, _ in distinctive_words(text))

    def size(self, text: str) -> int:
        """Its tokens as a line."""
        return self.counter.count(text) + _LINE_TOKENS

    def user_texts(self, texts: Sequence[LineItem], room: int) -> tuple[list[str], list[LineItem]]:
        """Blocks with what the user said, in order, and the texts that are not there whole.

        All of it, word for word, where it has room. Else the latest text comes first, then the first one, then backwards; a
        text too long for its share is cut in its middle, and the others are named.
        """
        words = self.reader.settings.words
        sizes = [self.size(one.text) for one in texts]
        if sum(sizes) <= room:
            return [_block(one, one.text, words) for one in texts], []
        shown, left, lost = dict[int, str](), room - 2 * _LEAST_CUT, list[LineItem]()
        order = dict.fromkeys((len(texts) - 1, 0, *range(len(texts) - 2, 0, -1)))
        for place in order:
            most = min(left, int(room * _MOST_OF_ONE))
            if sizes[place] <= most:
                shown[place] = texts[place].text
            elif most >= _LEAST_CUT:
                shown[place] = cut_middle(texts[place].text, most - _LINE_TOKENS, self.counter)
            left -= self.size(shown[place]) if place in shown else 0
        lost = [one for place, one in enumerate(texts) if shown.get(place) != one.text]
        blocks = [_block(texts[place], shown[place], words) for place in sorted(shown)]
        if unnamed := [one.reference for place, one in enumerate(texts) if place not in shown]:
            more = " …" if len(unnamed) > _MOST_NAMED else ""
            blocks.append(f"({len(unnamed)} {words.outline_more}: {' '.join(unnamed[:_MOST_NAMED])}{more})")
        return blocks, lost

    def facts(self, items: Iterable[LineItem], room: int) -> tuple[list[LineItem], list[LineItem]]:
        """The items that are worth most for their tokens, as many as have room, and the others."""
        rated = sorted(
            ((self.worth(one) / self.size(one.text), one) for one in items), key=lambda pair: (-pair[0], -pair[1].order)
        )
        chosen, others = list[LineItem](), list[LineItem]()
        for density, one in rated:
            size = self.size(one.text)
            if size <= room and self.worth(one) >= density * size / 2:
                chosen.append(one)
                room -= size
                self.cover(one.text)
            else:
                others.append(one)
        return chosen, others

    def worth(self, item: LineItem) -> float:
        """What an item adds to what is covered by now."""
        return item.worth + worth_of(item.text, self.chances, self.covered)

    def names(self, room: int) -> list[LineItem]:
        """The words that are most likely to be needed for their tokens, by the place in the record that they are from."""
        references = {
            word: one.reference for one in self.reader.earlier for word, _ in distinctive_words(one.text) if word in self.uses
        }
        ranked = sorted(
            (
                (-chance / (self.counter.count(name := word.decode()) + _NAME_TOKENS), name, word)
                for word, chance in self.chances.items()
                if word not in self.covered and chance >= LEAST_CHANCE
            ),
        )
        groups: dict[str, list[bytes]] = {}
        for _, name, word in ranked:
            reference = references.get(word) or self._reference(self.uses[word])
            size = self.counter.count(name) + _NAME_TOKENS + (0 if reference in groups else _LINE_TOKENS)
            if size <= room:
                room -= size
                groups.setdefault(reference, []).append(word)
            elif room <= _LINE_TOKENS:
                break
        found = [
            LineItem("words", reference, " ".join(word.decode() for word in sorted(words, key=self._place)), self._order(words))
            for reference, words in groups.items()
        ]
        return sorted(found, key=lambda one: one.order)

    def _reference(self, use: WordUse) -> str:
        return reference_to(use.index, use.place, self.reader.settings.generation)

    def _place(self, word: bytes) -> tuple[int, bytes]:
        return self.uses[word].sort, word

    def _order(self, words: Iterable[bytes]) -> int:
        return max(self.uses[word].order for word in words)


def make_outline(
    messages: Iterable[tuple[int, Message]],
    *,
    settings: OutlineSettings | None = None,
    budget_tokens: int = DEFAULT_BUDGET,
    counter: Counter | None = None,
    in_sight: Sequence[Message] = (),
) -> Outline:
    """The outline of messages, each with its index in the record. It depends on nothing else.

    `in_sight` are messages that are sent beside it: what they say need not be in it.
    """
    check_count("budget_tokens", budget_tokens)
    if budget_tokens < LEAST_BUDGET:
        raise ValidationError(f"budget_tokens must be at least {LEAST_BUDGET}, not {budget_tokens}")
    reader, counts = HistoryReader(settings or OutlineSettings()), counter or default_counter()
    for index, message in messages:
        reader.add(index, message)
    draft = Draft(reader, counts, in_sight)
    in_sight_words, aim = frozenset(draft.covered), budget_tokens
    while aim > 0:
        draft.covered = set(in_sight_words)
        made = _written(draft, aim, budget_tokens)
        if made.tokens <= budget_tokens:
            return made
        aim -= made.tokens - budget_tokens + _LINE_TOKENS
    raise ValidationError(f"budget_tokens={budget_tokens} has no room for the first line of an outline. Give it more.")


def _written(draft: Draft, aim: int, budget: int) -> Outline:
    """An outline that is expected to have so many tokens."""
    reader = draft.reader
    words = reader.settings.words
    first = first_line(reader.settings, next((one.reference for one in reader.user), "#0.0"))
    room = aim - draft.counter.count(first) - 6 * len(SECTIONS)
    blocks, lost = draft.user_texts(reader.user, max(int(room * _USER_SHARE), 0))
    for block in blocks:
        draft.cover(block)
    room -= sum(map(draft.counter.count, blocks))
    items = list(reader.items(draft.chances))
    plan, unplanned = draft.facts((one for one in items if one.section == "plan"), int(aim * _PLAN_SHARE))
    room -= sum(draft.size(one.text) for one in plan)
    facts, others = draft.facts((one for one in items if one.section != "plan"), int(room * _FACTS_SHARE))
    room -= sum(draft.size(one.text) for one in facts)
    names = draft.names(room)
    room -= sum(draft.size(one.text) for one in names)
    more, others = draft.facts(others, room)
    chosen = [*plan, *facts, *more, *names]
    lines = [first, *([heading("user", words), *blocks] if blocks else []), *written_lines(chosen, words)]
    text = "\n".join(lines)
    whole = [one for one in reader.user if one not in lost]
    kept = (*whole, *chosen)
    return Outline(text, kept, draft.counter.count(text), budget, (*lost, *unplanned, *others))


def written_lines(items: Iterable[LineItem], words: Placeholders) -> list[str]:
    """Items in one line each, under the headings of their sections, in the order of the history."""
    by_section: dict[str, list[LineItem]] = {}
    for one in sorted(items, key=lambda item: item.order):
        by_section.setdefault(one.section, []).append(one)
    return [
        line
        for section in SECTIONS
        if section in by_section
        for line in (heading(section, words), *(f"- {one.reference} {one.text}" for one in by_section[section]))
    ]


def first_line(settings: OutlineSettings, example: str) -> str:
    """What an outline says of itself."""
    words, fields = settings.words, {"example": example, "recall": settings.recall_tool or ""}
    template = words.outline if settings.recall_tool is None else words.outline_recalled
    return template.format_map(fields)


def cut_middle(text: str, most_tokens: int, counter: Counter) -> str:
    """The beginning and the end of a text, in at most so many tokens, with a mark between them."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counter.count(_ends_of(text, middle)) <= most_tokens:
            low = middle
        else:
            high = middle - 1
    return _ends_of(text, low)


def _ends_of(text: str, chars: int) -> str:
    last = chars // 3
    return f"{text[: chars - last].rstrip()}\n{_GAP}\n{text[len(text) - last :].lstrip()}"


def _block(item: LineItem, text: str, words: Placeholders) -> str:
    count = text.count("\n") + 1
    return f"{item.reference} ({words.outline_lines}: {count}{'' if text == item.text else ' …'})\n{text}"
