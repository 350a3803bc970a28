"""The version of Redline that runs."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["package_version"]


@cache
def package_version() -> str:
    """As it was installed; `from source` where it runs from a path, uninstalled."""
    try:
        return version("redline-context")
    except PackageNotFoundError:
        return "from source"
