"""Write docs/reference.md anew from the public names and their docstrings: `python -m tests.write_reference`."""

import inspect
import re
import typing
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from types import ModuleType

import redline
from redline.conversation.history import ConversationHistory
from tests.generated import DOCS, page_with

PAGE = DOCS / "reference.md"

GROUPS = {
    "Conversations": ("Conversation", "open", "Store", "Policy", "Protection", "Request", "Strike", "Placeholders", "ZH", "EN"),
    "Plain lists": (
        "check",
        "Problem",
        "make_legal",
        "clean_orphaned_tool_calls",
        "convert",
        "Conversion",
        "simplify_outdated_terminal_results",
        "simplify_historical_file_reads",
        "filter_messages",
        "load_session_messages",
    ),
    "Large results, and secrets": (
        "offload_tool_results",
        "OffloadResult",
        "read_offloaded",
        "recall",
        "recall_tool",
        "search_tool",
        "redact",
        "redact_text",
    ),
    "Sessions of other agents": (
        "read_transcript",
        "Transcript",
        "session_places",
        "inspect_transcript",
        "mend_transcript",
    ),
}
"""The names of `redline` in the order in which one meets them; errors have a table of their own."""

PACKAGES = (
    "rules",
    "schedules",
    "log",
    "blobs",
    "store",
    "prices",
    "formats",
    "tools",
    "tokens",
    "transcripts",
    "values",
    "telemetry",
    "testing",
    "aio",
)


RESULTS = ("Conversion", "OffloadResult", "Problem", "Request", "Strike", "Transcript")
"""What Redline makes and nobody else: how it is called is of no interest."""


def page() -> str:
    """The whole page."""
    return page_with(PAGE.name, "write_reference", "\n".join((*top_sections(), *package_sections(), error_section())))


def top_sections() -> Iterator[str]:
    """The names of `redline` itself; a class that has methods is listed with them."""
    for title, names in groups().items():
        lines = [line for name in names for line in (entry(redline, name), *members(getattr(redline, name)))]
        yield f"## {title}\n\n" + "\n".join(lines) + "\n"


def groups() -> dict[str, tuple[str, ...]]:
    """The groups, and whatever belongs to none of them yet."""
    listed = {name for names in GROUPS.values() for name in names} | set(import_module("redline.errors").__all__)
    rest = tuple(name for name in redline.__all__ if name not in listed)
    return {**GROUPS, "More": rest} if rest else GROUPS


def package_sections() -> Iterator[str]:
    """A section for each package whose names are public."""
    for name in PACKAGES:
        package = import_module(f"redline.{name}")
        names = getattr(package, "__all__", ())
        if names:
            entries = "\n".join(entry(package, one) for one in names)
            yield f"## redline.{name}\n\n{sentence(package)}\n\n{entries}\n"


def error_section() -> str:
    """The tree of errors, and a row for each."""
    errors = import_module("redline.errors")
    tree = "\n".join((errors.__doc__ or "").strip().splitlines()[2:])
    rows = "\n".join(f"| `{name}` | {sentence(getattr(errors, name), whole=True)} |" for name in errors.__all__)
    table = f"| error | when |\n|---|---|\n{rows}\n"
    return f"## Errors\n\nAll of them are in `redline` and in `redline.errors`.\n\n```text\n{tree}\n```\n\n{table}"


def entry(home: ModuleType, name: str) -> str:
    """One line: the name as it is called, and what it is."""
    value = getattr(home, name)
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        told = constant_sentence(home, name) or alternatives(value)
        return f"- `{name}`: {told}" if told else f"- `{name}`"
    called = "" if name in RESULTS else arguments(value)
    return f"- `{name}{called}`: {sentence(value)}"


def alternatives(value: object) -> str:
    """Of a type that is one of several, which."""
    names = [one.__name__ if inspect.isclass(one) else repr(one) for one in typing.get_args(value)]
    return f"One of {', '.join(f'`{name}`' for name in names)}." if names else ""


def members(value: object) -> Iterator[str]:
    """The methods and properties that a class defines itself, those of a conversation's history included."""
    if not inspect.isclass(value):
        return
    defined = {**vars(value), **(vars(ConversationHistory) if issubclass(value, ConversationHistory) else {})}
    for name, member in defined.items():
        called = getattr(value, name)
        told = sentence(getattr(member, "func", member))
        if not name.startswith("_") and told and (callable(called) or isinstance(member, property | cached_property)):
            yield f"  - `.{name}{arguments(called) if callable(called) else ''}`: {told}"


def arguments(value: object) -> str:
    """How it is called, without types; nothing for a protocol or a base class."""
    if getattr(value, "_is_protocol", False) or inspect.isabstract(value):
        return ""
    signature = inspect.signature(value)
    shown = [short(parameter) for name, parameter in signature.parameters.items() if name not in ("self", "cls")]
    return str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty)).replace("'…'", "…")


def short(parameter: inspect.Parameter) -> inspect.Parameter:
    """A parameter without its type; a default that takes a line of its own is left to the docstring."""
    default = parameter.default
    if default is not inspect.Parameter.empty and (len(repr(default)) > 24 or re.search(r"<| object at ", repr(default))):
        default = "…"
    return parameter.replace(annotation=inspect.Parameter.empty, default=default)


def sentence(value: object, *, whole: bool = False) -> str:
    """The first sentence of a docstring, or its first paragraph; nothing for one that Python made up."""
    text = inspect.getdoc(value) or ""
    if inspect.isclass(value) and text.startswith(f"{value.__name__}("):
        return ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    found = re.match(r"(.*?[.!?])(?= [A-Z`]|$)", paragraph)
    return paragraph if whole or not found else found[1]


def constant_sentence(home: ModuleType, name: str) -> str:
    """What the source says below a constant."""
    for module in [home, *(import_module(one) for one in modules_of(home))]:
        source = inspect.getsource(module)
        if found := re.search(rf'^{name}\b[^\n]*=(?:(?!\n\S).|\n[)}}\]])*\n"""(.*?)"""', source, re.MULTILINE | re.DOTALL):
            return " ".join(found[1].split())
    return ""


def modules_of(home: ModuleType) -> list[str]:
    """The modules that a package takes its names from."""
    if home is redline:
        return ["redline.values.words"]
    source = inspect.getsource(home)
    return list(dict.fromkeys(re.findall(r"^\s*from (redline\.[\w.]+) import", source, re.MULTILINE)))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
