"""Write the tables in docs/settings.md anew from the declarations of the settings: `python -m tests.write_settings`."""

from redline.policy.presets import DEFAULT_PRESET, PRESETS
from redline.policy.settings import SECTIONS, SETTINGS, VARIABLES, Setting
from tests.generated import DOCS, page_with

PAGE = DOCS / "settings.md"

_IN_PROJECT = {"switch": "only `true`", "policy": "only a name", "address": "only a folder inside the project"}


def page() -> str:
    """The whole page."""
    others = "\n".join(f"| `{name}` | {says} |" for name, says in VARIABLES.items())
    sections = [section(name, says) for name, says in SECTIONS.items()]
    last = f"### Variables that are no settings\n\n| variable | meaning |\n|---|---|\n{others}\n"
    return page_with(PAGE.name, "write_settings", "\n".join([*sections, presets(), last]))


def presets() -> str:
    """A row for each policy that has a name."""
    rows = "\n".join(f"| `{preset.name}` | {preset.says} |" for preset in PRESETS.values())
    says = f"For `--policy`, and wherever Python takes a `policy`; `default` is `{DEFAULT_PRESET}`."
    return f"### Policies by name\n\n{says}\n\n| name | what it strikes |\n|---|---|\n{rows}\n"


def section(name: str, says: str) -> str:
    """A table of a file: whose it is, and a row for each of its keys."""
    rows = "\n".join(row(setting) for setting in SETTINGS.values() if setting.section == name)
    head = "| key | flag | variable | default | in a project's file | meaning |\n|---|---|---|---|---|---|"
    return f"### `[{name}]`\n\n{says}\n\n{head}\n{rows}\n"


def row(setting: Setting) -> str:
    """A setting."""
    in_project = _IN_PROJECT.get(setting.kind, "yes") if setting.from_project else "no"
    default = "" if setting.default in (None, (), "") else f"`{str(setting.default).lower()}`"
    names = f"| `{setting.name}` | `{setting.flag}` | `{setting.variable}` |"
    return f"{names} {default} | {in_project} | {setting.help} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
