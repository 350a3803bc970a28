"""Other projects that install a package `redline` too: whose files are in the way of this one, and what to do."""

import base64
import hashlib
import re
from dataclasses import dataclass
from importlib.metadata import PackagePath, distributions

__all__ = ["DISTRIBUTION", "NameClash", "find_name_clashes", "name_clash_error"]

DISTRIBUTION = "redline-context"
"""The name under which Redline is installed. `redline`, `redline-ai` and `redlineai-sdk` are others' projects."""
_MOST_NAMED = 5
_IN_OUR_PACKAGE = re.compile(r"^redline[/\\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class NameClash:
    """Another project's files in the package `redline`."""

    name: str
    version: str
    files: int
    """How many files it has in the package."""
    replaced: tuple[str, ...]
    """Files of Redline that it wrote over."""

    def __str__(self) -> str:
        named = ", ".join(self.replaced[:_MOST_NAMED]) + (", …" if len(self.replaced) > _MOST_NAMED else "")
        lost = f", {len(self.replaced)} of them in the place of Redline's own ({named})" if self.replaced else ""
        again = f"pip uninstall {self.name}, then pip install --force-reinstall --no-deps {DISTRIBUTION}"
        files = f"{self.files} {'file' if self.files == 1 else 'files'}"
        return (
            f"{self.name} {self.version} installs a package `redline` too: {files}{lost}. Two such packages in one "
            f"environment break each other. Run: {again}. To keep both: pipx install {DISTRIBUTION}, "
            "or an environment for each."
        )


def find_name_clashes() -> tuple[NameClash, ...]:
    """Every installed project but Redline that has files in a package `redline`, by name."""
    ours: dict[str, PackagePath] = {}
    others: dict[str, tuple[str, set[str]]] = {}
    for distribution in distributions():
        # Most packages have no file there: their lists are searched as text, which is quick, and not taken apart.
        listed = distribution.read_text("RECORD") or distribution.read_text("installed-files.txt") or ""
        found = (distribution.files or ()) if _IN_OUR_PACKAGE.search(listed) else ()
        files = {str(file): file for file in found if file.parts[0] == "redline" and file.suffix != ".pyc"}
        if (name := distribution.name) == DISTRIBUTION:
            ours = ours or files
        elif files:
            others.setdefault(name, (distribution.version, {*files}))
    return tuple(
        NameClash(name, version, len(files), tuple(sorted(one for one in files & ours.keys() if _is_changed(ours[one]))))
        for name, (version, files) in sorted(others.items())
    )


def name_clash_error() -> ImportError | None:
    """What to raise where a name or a module of Redline is missing, if another project's files explain that."""
    found = find_name_clashes()
    return ImportError(" ".join(map(str, found)), name="redline") if found else None


def _is_changed(file: PackagePath) -> bool:
    """Whether a file is another than the one that was installed."""
    try:
        content = file.read_binary()
    except OSError:
        return True
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
    return file.hash is not None and file.hash.value != digest
