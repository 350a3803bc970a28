"""Write docs/rules.md anew from the rules themselves: `python -m tests.write_rules`."""

import ast
import dataclasses
import inspect
from pathlib import Path

from redline.rules import DEFAULT_RULES, RULES
from redline.rules.rule import Rule

PAGE = Path(__file__).resolve().parents[1] / "docs" / "rules.md"

INTRODUCTION = """# Rules: what may go

```python
import redline
from redline.rules import MaskedResults
from redline.testing import asks, conversation, says

found = "orders.py:1: def total()\\n" * 20
turns = [turn for number in range(6) for turn in asks("Grep", {"pattern": "total"}, found, id=f"t{number}")]
talk = redline.Conversation(conversation("gemini", [says("user", "Where is it?"), *turns]))
request = talk.request(rules=["stale_terminal", MaskedResults(keep_recent=2, words=redline.EN)])
print(request.explain())
assert request.stats.by_rule["masked_results"].strikes == 4
```

A rule says what may go, and why; the [schedule](request.md#schedules) says when. A rule is switched on by its name in
`rules=`, with its defaults, or as an object with settings of your own: for all requests in the
[policy](conversation.md#settings), `Policy(rules=[…], words=redline.EN)`, or for one, as above. Two are on if you say nothing
(`redline.default_rules(project_root=…)`); `redline.RULES` has them all by name. Nothing is struck?
[A checklist](why-nothing-is-struck.md).

For every rule: results that report a failure stay (unless both its `errors_too` and `Protection(errors=False)` are set),
pinned messages and [protected](request.md#what-is-never-struck) tools and paths stay, what the provider ran itself is left
alone, nothing grows (unless `may_grow`), and a placeholder is never replaced by another. Of several rules that mark the same
part, the first counts.

Settings are checked when the rule is made: a wrong one is a `ValidationError` that names it. Names of tools may come in any
collection. Rules with equal settings are equal, and can be kept in sets.

## Words

All that Redline says to a model is in one value, `redline.Words`: every placeholder and stub, the answer to an interrupted
call, the line for messages that are not shown, the heading of a tool description. Two come with Redline: `redline.DOCUMENTS`
(Chinese, as the documents have them; the default) and `redline.EN`. Make your own from one of them, with
`dataclasses.replace(redline.EN, stale_terminal="[old output]")`; they are checked when they are made.
`Policy(words=…)` sets them for a conversation.

A rule that puts words in the place of something takes `words=`, or the one text as `placeholder=` (`notice=`, `stub=`). What
is a placeholder in any of these words is recognised and left alone, whichever are set.

`redline.rules.make_rules` makes a tuple of rules for one project and in one language, from names and rules. A rule that
leaves `project_root` or `words` open gets these; what it says itself stays:

```python
from redline.rules import HistoricalReads, StaleTerminal, make_rules

rules = make_rules(["stale_terminal", HistoricalReads(keep_recent=3)], words=redline.EN, project_root="/home/dev/shop")
assert rules[0] == StaleTerminal(words=redline.EN)
assert rules[1] == HistoricalReads(keep_recent=3, words=redline.EN, project_root="/home/dev/shop")
```

How to write one: [ten lines](request.md#a-rule-of-your-own).
"""


def page() -> str:
    """The whole page."""
    return "\n".join((INTRODUCTION, *(section(rule) for rule in RULES.values())))


def section(rule: type[Rule]) -> str:
    """What a rule marks, whether it is on, and its settings."""
    state = "On by default." if rule.name in DEFAULT_RULES else "Off by default."
    where = f"`redline.rules.{rule.__name__}`"
    rows = "\n".join(setting_rows(rule))
    table = f"| setting | default | meaning |\n|---|---|---|\n{rows}\n"
    return f"## `{rule.name}`\n\n{inspect.getdoc(rule)}\n\n{state} {where}\n\n{table}"


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
