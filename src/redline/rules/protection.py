"""What is never struck, whatever a rule says: pins, protected tools and paths, and results that report a failure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from redline.errors import ValidationError
from redline.rules.facts import Seen
from redline.rules.settings import make_names
from redline.tools import Lists, Reads, Writes
from redline.values.checks import check_flags


@dataclass(frozen=True, slots=True)
class Protection:
    """Settings that hold for every rule."""

    tools: frozenset[str] = frozenset()
    """Names of tools whose calls and results stay."""
    paths: tuple[str, ...] = ()
    """Globs (`*.md`, `src/**`): calls and results about such a file stay. `*` also matches across separators."""
    errors: bool = True
    """Whether results that report a failure stay."""

    def __post_init__(self) -> None:
        check_flags("protection", errors=self.errors)
        object.__setattr__(self, "tools", make_names(self.tools, "protection", "tools"))
        is_list = isinstance(self.paths, Iterable) and not isinstance(self.paths, str | Mapping)
        if not is_list or not all(isinstance(path, str) for path in self.paths):
            raise ValidationError(f"protection: paths must be a list of globs, not {self.paths!r}; write ['*.md']")
        object.__setattr__(self, "paths", tuple(self.paths))

    def covers(self, seen: Seen) -> bool:
        """Whether a part stays."""
        if self.errors and seen.is_error:
            return True
        if self.tools and seen.tool in self.tools:
            return True
        if not self.paths:
            return False
        paths = [action.path.replace("\\", "/") for action in seen.actions if isinstance(action, Reads | Writes | Lists)]
        return any(fnmatchcase(path, glob) or fnmatchcase(path, f"*/{glob}") for path in paths for glob in self.paths)
