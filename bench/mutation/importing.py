"""Other code in the place of files: what is imported in this process from now on is what a function makes of them."""

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

__all__ = ["replace_code"]


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - one loader has one module
        return self._code


class _Finder(MetaPathFinder):
    def __init__(self, code_of: Callable[[Path], CodeType | None]) -> None:
        self._code_of = code_of

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.startswith("redline.") else None
        if spec is None or spec.origin is None or (code := self._code_of(Path(spec.origin))) is None:
            return None
        spec.loader = _Loader(name, spec.origin, code)
        return spec


def replace_code(code_of: Callable[[Path], CodeType | None]) -> None:
    """Import other code for the files of Redline that the function knows; none of it may be imported yet."""
    if any(name.startswith("redline") for name in sys.modules):
        raise RuntimeError("Redline is imported already: its code cannot be replaced in this process")
    sys.meta_path.insert(0, _Finder(code_of))
