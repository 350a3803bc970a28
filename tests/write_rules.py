"""Write the settings of every rule in docs/rules.md anew from the rules themselves: `python -m tests.write_rules`."""

import ast
import dataclasses
import inspect

from redline.rules import DEFAULT_RULES, RULES, Rule
from tests.generated import DOCS, page_with

PAGE = DOCS / "rules.md"


def page() -> str:
    """The whole page."""
    return page_with(PAGE.name, "write_rules", "\n".join(section(rule) for rule in RULES.values()))


def section(rule: type[Rule]) -> str:
    """What a rule marks, whether it is on, and its settings."""
    state = "On by default." if rule.name in DEFAULT_RULES else "Off by default."
    where = f"`redline.rules.{rule.__name__}`"
    rows = "\n".join(setting_rows(rule))
    table = f"| setting | default | meaning |\n|---|---|---|\n{rows}\n"
    return f"### `{rule.name}`\n\n{inspect.getdoc(rule)}\n\n{state} {where}\n\n{table}"


def setting_rows(rule: type[Rule]) -> list[str]:
    """A row for each setting; its meaning is the sentence below the field."""
    meanings = field_docs(rule)
    return [f"| `{field.name}` | {shown(field.default)} | {meanings[field.name]} |" for field in dataclasses.fields(rule)]


def field_docs(rule: type[Rule]) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(rule)).body
    pairs = zip(definition.body, definition.body[1:], strict=False)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairs
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr)
    }


def shown(default: object) -> str:
    """A default as one writes it."""
    is_number = isinstance(default, int) and not isinstance(default, bool)
    return f"`{default:_}`" if is_number else f"`{default!r}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
