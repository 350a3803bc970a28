"""The options of a command told from its operands, as GNU tools do it, without a look at the environment."""

from collections.abc import Iterator, Sequence

__all__ = ["Options", "Parsed"]

Parsed = tuple[list[tuple[str, str]], list[str]]
"""Options in order, each with its value or an empty string, and operands."""


class Options:
    """What options a command takes: letters with `:` after those that take a value, words with `=`, as for `getopt`."""

    def __init__(self, letters: str, words: str = "") -> None:
        self._letters = {letter: letters[at : at + 1] == ":" for at, letter in enumerate(letters, 1) if letter != ":"}
        self._words = {word.removesuffix("="): word.endswith("=") for word in words.split()}

    def parse(self, arguments: Sequence[str]) -> Parsed | None:
        """The options and operands, in any order; None where an option is not known or lacks its value."""
        options: list[tuple[str, str]] = []
        operands: list[str] = []
        rest = iter(arguments)
        for word in rest:
            if word[:1] != "-" or word == "-":
                operands.append(word)
            elif word == "--":
                operands += rest
            elif not (self._take_word if word[1] == "-" else self._take_letters)(word, rest, options):
                return None
        return options, operands

    def _take_letters(self, cluster: str, rest: Iterator[str], options: list[tuple[str, str]]) -> bool:
        """`-rn`, `-n5` or `-n 5`."""
        for end, letter in enumerate(cluster[1:], 2):
            takes_value = self._letters.get(letter)
            value = cluster[end:] or next(rest, None) if takes_value else ""
            if takes_value is None or value is None:
                return False
            options.append((f"-{letter}", value))
            if takes_value:
                break
        return True

    def _take_word(self, word: str, rest: Iterator[str], options: list[tuple[str, str]]) -> bool:
        """`--lines 5` or `--lines=5`, also shortened while it stays clear which is meant."""
        start, equals, given = word[2:].partition("=")
        known = [start] if start in self._words else [name for name in self._words if name.startswith(start)]
        if len(known) != 1:
            return False
        takes_value = self._words[known[0]]
        value = next(rest, None) if takes_value and not equals else given
        if value is None or (equals and not takes_value):
            return False
        options.append((f"--{known[0]}", value))
        return True
