"""What people set once: each setting is declared in one place, and found in flags, variables and files."""

from redline.settings.declared import SECTIONS, SETTINGS, VARIABLES, Setting, SettingData
from redline.settings.setting_files import FILE_NAME, SettingFile, user_file
from redline.settings.sources import SettingSources, SettingValue
from redline.settings.template import setting_template

__all__ = [
    "FILE_NAME",
    "SECTIONS",
    "SETTINGS",
    "VARIABLES",
    "Setting",
    "SettingData",
    "SettingFile",
    "SettingSources",
    "SettingValue",
    "setting_template",
    "user_file",
]
