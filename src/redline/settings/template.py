"""A `redline.toml` in which every setting is explained and commented out."""

import json

from redline.settings.declared import SECTIONS, SETTINGS, Setting

__all__ = ["setting_template"]

_HEAD = """\
# Settings of Redline. A flag goes before a variable, a variable before this file. `redline config` shows what counts.
# Remove the # before a key to set it. A policy (preset, rules, schedule, …) would come first, above the tables.
"""


def setting_template(*, for_project: bool) -> str:
    """The text of the file; for a project without what its file may not say."""
    sections = []
    for section, says in SECTIONS.items():
        lines = [f"[{section}]  # {says.replace('`', '')}"]
        for setting in SETTINGS.values():
            if setting.section == section and (setting.from_project or not for_project):
                lines += [
                    "",
                    f"# {setting.help}",
                    f"# {setting.name} = {_example(setting, for_project=for_project)}",
                ]
        sections.append("\n".join(lines) + "\n")
    return "\n".join([_HEAD, *sections])


def _example(setting: Setting, *, for_project: bool) -> str:
    """A value that may be in this file, as TOML."""
    value = setting.default if setting.example is None else setting.example
    if for_project and setting.kind == "switch":
        value = True
    if for_project and setting.kind == "address":
        value = str(value).removeprefix("~/")
    return json.dumps(value, ensure_ascii=False)
