"""References: lines that a part before has word for word are left out, and a notice says where they stand."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from redline.folds.sight import DIFF_MARKS, LINE_NUMBER, Block, LineStart, ViewedPart, is_worth_it
from redline.record.records import Reference

_QUOTED = re.compile(r"^\[lines \d+–\d+: as in the ", re.MULTILINE)


def quotes_reference(text: str) -> bool:
    """Whether a text that was never folded has what looks like a notice, as when a program prints an earlier request."""
    return "–" in text and _QUOTED.search(text) is not None


def refer(
    lines: Sequence[str], starts: LineStart, blocks: Sequence[Block], source_of: Callable[[ViewedPart], str]
) -> tuple[list[str], tuple[Reference, ...]]:
    """The lines of a text with notices in the place of blocks that are in sight, and where their lines stand.

    A block is left as it is if its very lines cannot be said by the lines that are in sight.
    """
    left, found, end = list[str](), list[Reference](), 0
    for block in blocks:
        references = [whole] if (whole := _reference(lines, block, source_of)) is not None else []
        if not references and starts == "diff mark":
            pieces = (_reference(lines, piece, source_of) for piece in _by_mark(lines, block))
            references = [one for one in pieces if one is not None]
        for reference in references:
            left += [*lines[end : reference.start], _notice(reference)]
            end = reference.start + reference.count
        found += references
    return [*left, *lines[end:]], tuple(found)


def referred_lines(reference: Reference, part: ViewedPart) -> Sequence[str] | None:
    """The lines that a reference leaves out, read from their source as sent; None if the source was struck or changed."""
    held = part.words if reference.before or reference.is_bare else part.lines
    lines = held[reference.line : reference.line + reference.count]
    if part.text is None or len(lines) < reference.count:
        return None
    if not reference.before:
        return lines
    if reference.before in DIFF_MARKS:
        return [reference.before + line for line in lines]
    number = LINE_NUMBER.fullmatch(reference.before)
    if number is None:
        return None
    pad, digits, mark = number.groups()
    width, filler = len(pad) + len(digits), pad[:1] or " "
    first = int(digits)
    return [f"{str(first + place).rjust(width, filler)}{mark}{line}" for place, line in enumerate(lines)]


def digest_of(lines: Sequence[str] | None) -> str:
    """Names lines, so that it is seen if others stand in their place; empty for none."""
    if lines is None:
        return ""
    return hashlib.blake2b("\n".join(lines).encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _by_mark(lines: Sequence[str], block: Block) -> Iterator[Block]:
    """The blocks in a block of a diff that have one mark before all their lines."""
    numbered = enumerate(lines[block.start : block.start + block.count])
    for mark, run in groupby(numbered, lambda one: one[1][:1]):
        places = [place for place, _ in run]
        start = block.start + places[0]
        if mark in DIFF_MARKS and is_worth_it(lines, start, len(places)):
            yield Block(start, len(places), block.part, block.line + places[0])


def _reference(lines: Sequence[str], block: Block, source_of: Callable[[ViewedPart], str]) -> Reference | None:
    part, own = block.part, list(lines[block.start : block.start + block.count])
    number, mark = LINE_NUMBER.match(own[0]), own[0][:1]
    source = source_of(part)
    before = number[0] if number is not None else mark if mark in DIFF_MARKS else ""
    for form in (("", False), (before, False), ("", True)):
        reference = Reference(part.index, part.at, block.line, block.count, block.start, source, digest_of(own), *form)
        if referred_lines(reference, part) == own:
            return reference
    return None


def _notice(reference: Reference) -> str:
    """Tells the model which lines are left out, and where it has them."""
    before, how = reference.before, ""
    if before in DIFF_MARKS:
        how = f", here with `{before}` before each"
    elif before:
        how = f", here numbered from {before.strip()[:-1].lstrip('0 ')}"
    elif reference.is_bare:
        how = ", without what stands before each line there"
    first, line = reference.start + 1, reference.line + 1
    place = f", from its line {line}" if line > 1 else ""
    return f"[lines {first}–{first + reference.count - 1}: as in {reference.source} above{place}{how}]"
