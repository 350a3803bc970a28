"""What gives way where a request holds more than its provider takes: as little as possible, and the oldest first."""

from collections.abc import Callable, Iterable, Sequence

from redline.providers.limits.table import RequestLimits
from redline.providers.limits.weights import HeavyPart

NEWEST = 3
"""So many pictures stay as long as anything else can go; of results likewise."""
FREED_SHARE = 0.1
"""So much more than needed is freed, of the limit: what goes now breaks the cache, and must not do so every turn."""
_ROOM = 0.02
"""So much of the bytes stays free for what is not seen here: settings of the request, white space between messages."""
_LINE_CHARS = 150
"""What is put in the place of a part."""

Chosen = dict[int, str]
"""By its number among the parts, why it gives way."""


def size_words(size: int) -> str:
    """Bytes, as a person writes them."""
    return f"{size / 1_000_000:,.1f} MB" if size >= 1_000_000 else f"{size / 1_000:,.1f} kB"


def refused_alone(part: HeavyPart, limits: RequestLimits) -> str:
    """Why the provider refuses a part whatever else is in the request; empty if it does not."""
    edge = max(part.width, part.height)
    if part.kind == "picture" and limits.pixels and edge > limits.pixels:
        return f"the picture has {edge:,} pixels, and the provider takes {limits.pixels:,}"
    if part.kind == "picture" and limits.picture_chars and part.chars > limits.picture_chars:
        return f"the picture has {size_words(part.chars)} in base64, and the provider takes {size_words(limits.picture_chars)}"
    if part.kind == "document" and limits.media and part.pages > limits.media:
        return f"the document has {part.pages:,} pages, and the provider takes {limits.media:,}"
    return ""


def problems_with(parts: Sequence[HeavyPart], size: int, limits: RequestLimits) -> list[tuple[int | None, str]]:
    """What a provider would refuse of a request of so many bytes: the number of the part, None for the whole, and why."""
    found: list[tuple[int | None, str]] = [(n, why) for n, part in enumerate(parts) if (why := refused_alone(part, limits))]
    alone = {number for number, _ in found}
    count = sum(part.pages for part in parts)
    if limits.media and count > limits.media:
        found.append((None, _too_many(count, limits)))
    pictures = [n for n, part in enumerate(parts) if part.kind == "picture"]
    if limits.many_media and len(pictures) > limits.many_media:
        found += [(n, _many(parts[n], limits)) for n in pictures if n not in alone and _is_large(parts[n], limits)]
    if limits.request_bytes and size > limits.request_bytes:
        found.append((None, _too_large(size, limits)))
    return found


def parts_to_leave_out(parts: Sequence[HeavyPart], size: int, limits: RequestLimits, *, tokens: float = 0) -> Chosen:
    """The parts that give way to a line, each with the reason, of all in a request, in its order.

    A picture that is refused for itself goes at once. Then, as far as needed and a tenth of the limit further, the oldest
    pictures and documents, but for the newest three; then the largest results, but for the newest three; then these too.
    """
    choice = _Choice(parts)
    for number, part in enumerate(parts):
        if part.may_go and (why := refused_alone(part, limits)):
            choice.take(number, why)
    pictures = [n for n, part in enumerate(parts) if part.kind != "result" and n not in choice.chosen]
    results = [n for n, part in enumerate(parts) if part.kind == "result"]
    kept = pictures[-NEWEST:]
    old = [n for n in pictures if n not in kept]
    if limits.media and choice.media > limits.media:
        room = _freed(limits.media)
        choice.take_until((*old, *kept), _too_many(choice.media, limits), lambda: choice.media <= room, only_counted=True)
    _fit_many_pixels(choice, limits)
    largest = sorted(results[:-NEWEST], key=lambda n: -parts[n].chars)
    order = (*old, *largest, *kept, *sorted(results[-NEWEST:], key=lambda n: -parts[n].chars))
    allowed = round(limits.request_bytes * (1 - _ROOM))
    if limits.request_bytes and size - choice.freed_chars > allowed:
        room = _freed(allowed)
        choice.take_until(order, _too_large(size, limits), lambda: size - choice.freed_chars <= room)
    if limits.tokens and tokens - choice.freed_tokens > limits.tokens:
        room = _freed(limits.tokens)
        why = f"the request would have about {tokens:,.0f} tokens, and the window takes {limits.tokens:,}"
        choice.take_until(order, why, lambda: tokens - choice.freed_tokens <= room)
    return choice.chosen


class _Choice:
    """The parts that were chosen so far, and what they free."""

    def __init__(self, parts: Sequence[HeavyPart]) -> None:
        self.parts = parts
        self.chosen: Chosen = {}
        self.freed_chars = self.freed_tokens = 0
        self.media = sum(part.pages for part in parts)
        """The pictures and pages that are left."""

    def take(self, number: int, why: str) -> None:
        """One more part gives way."""
        self.chosen[number] = why
        self.media -= self.parts[number].pages
        self.freed_chars += max(0, self.parts[number].chars - _LINE_CHARS)
        self.freed_tokens += self.parts[number].tokens

    def take_until(self, order: Iterable[int], why: str, is_enough: Callable[[], bool], *, only_counted: bool = False) -> None:
        """Parts in this order, until enough is freed."""
        for number in order:
            if is_enough():
                return
            part = self.parts[number]
            if part.may_go and number not in self.chosen and not (only_counted and not part.pages):
                self.take(number, why)


def _fit_many_pixels(choice: _Choice, limits: RequestLimits) -> None:
    """Anthropic takes smaller pictures only where they are many: the old large ones go, or as many old ones as there are too
    many, whichever is less."""
    parts = choice.parts
    pictures = [n for n, part in enumerate(parts) if part.kind == "picture" and n not in choice.chosen]
    if not limits.many_media or len(pictures) <= limits.many_media:
        return
    large = [n for n in pictures if _is_large(parts[n], limits)]
    surplus = len(pictures) - _freed(limits.many_media)
    if not large:
        return
    if len(large) <= surplus and not set(large) & set(pictures[-NEWEST:]):
        choice.take_until(large, _many(parts[large[0]], limits), lambda: False)
    else:
        room = _freed(limits.many_media)
        why = f"with more than {limits.many_media} pictures the provider takes {limits.many_pixels:,} pixels"
        choice.take_until(pictures, why, lambda: sum(n not in choice.chosen for n in pictures) <= room)


def _freed(limit: int) -> int:
    """What may be left, so that the next turns fit in too."""
    return int(limit * (1 - FREED_SHARE))


def _is_large(part: HeavyPart, limits: RequestLimits) -> bool:
    return max(part.width, part.height) > limits.many_pixels > 0


def _many(part: HeavyPart, limits: RequestLimits) -> str:
    edge = max(part.width, part.height)
    return f"the picture has {edge:,} pixels, and with more than {limits.many_media} pictures {limits.many_pixels:,} are taken"


def _too_many(count: int, limits: RequestLimits) -> str:
    return f"the request would have {count:,} pictures and pages, and the provider takes {limits.media:,}"


def _too_large(size: int, limits: RequestLimits) -> str:
    return f"the request would have {size_words(size)}, and the provider takes {size_words(limits.request_bytes)}"
