"""A `redline.toml` in which every setting is explained and commented out."""

import json

from redline.settings.declared import SECTIONS, SETTINGS, SettingData

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
                    f"# {setting.name} = {_toml(setting.default if setting.example is None else setting.example)}",
                ]
        sections.append("\n".join(lines) + "\n")
    return "\n".join([_HEAD, *sections])


def _toml(value: SettingData) -> str:
    return json.dumps(value, ensure_ascii=False)
