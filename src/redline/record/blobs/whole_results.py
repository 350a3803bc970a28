"""Whole results as text files, which an agent can read where lines were left out of a result that its model was sent."""

import re
from pathlib import Path

from redline.errors import RedlineError, ValidationError
from redline.record.blobs.blobs import reference_of
from redline.record.blobs.directory import DirectoryBlobs
from redline.values.checks import short_repr

_DIGITS = 16
"""So many digits of its reference name a file: a model copies the name from a notice, and pays for each digit."""
_ENDING = ".txt"
_NAME = re.compile(rf"(?<![0-9A-Za-z_.-])([0-9a-f]{{{_DIGITS}}}){re.escape(_ENDING)}(?![0-9A-Za-z_-])")


class WholeResults(DirectoryBlobs):
    """Keeps each text as it was said, in a file for its owner only: `3f2a9c1b7d4e8f60.txt`."""

    def file_of(self, reference: str) -> Path:
        """The file of a reference, of which the first digits are enough."""
        name = f"{reference[:_DIGITS]}{_ENDING}"
        if not _NAME.fullmatch(name):
            raise ValidationError(f"{short_repr(reference)} names no whole result; copy the name of the file from the notice.")
        return self.path / name

    def reference_in(self, name: str) -> str | None:
        """The digits that name a file."""
        found = _NAME.fullmatch(name)
        return found[1] if found else None


def whole_content(text: str) -> bytes:
    """What the file of a result holds."""
    return text.encode("utf-8", "surrogatepass")


def whole_name(text: str) -> str:
    """The digits that name the file of a result, stored or not."""
    return reference_of(whole_content(text))[:_DIGITS]


def whole_file(folder: str, text: str) -> str:
    """The path of the file of a result in a folder, stored or not."""
    return str(WholeResults(folder).file_of(whole_name(text)))


def names_whole_results(text: str) -> set[str]:
    """The digits of the files of whole results that a text names: in a path, a command or a script."""
    return set(_NAME.findall(text)) if _ENDING in text else set()


def notice_folders(text: str, reference: str | None) -> set[str]:
    """The folders in which the notices of a text say, after a colon, that the file of a reference is; absolute paths only."""
    name = f"{(reference or '')[:_DIGITS]}{_ENDING}"
    lines = [line[: found.end()] for line in text.split("\n") for found in _NAME.finditer(line) if found[0] == name]
    files = (Path(line[colon.end() :]) for line in lines for colon in re.finditer(": ", line))
    return {str(file.parent) for file in files if file.is_absolute()}


class WholeFolders:
    """The folders that whole results go to. A problem with them is logged when it begins and when it is over."""

    def __init__(self) -> None:
        self.problem = ""
        """Why the last whole result could not be stored; empty if it was."""

    def put(self, folder: str, content: bytes) -> str:
        """Store a whole result in a folder: why that was not possible, or an empty text."""
        found = ""
        try:
            WholeResults(folder).put(content)
        except (RedlineError, OSError) as problem:
            found = str(problem)
        before, self.problem = self.problem, found
        if bool(found) == bool(before):
            return found
        import logging  # here, as a hook would wait for it

        logger = logging.getLogger("redline.conversation")
        if found:
            logger.warning("Whole results cannot be stored, so no lines are left out of them: %s", found)
        else:
            logger.warning("Whole results are stored again.")
        return found
