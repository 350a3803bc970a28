"""`redline config`: every setting, its value and where that comes from; or a `redline.toml` to begin with."""

import contextlib
import os
from pathlib import Path

import click

from redline.cli.loaded_session import EXIT_OK, EXIT_UNREADABLE
from redline.cli.output import Column, complain, say, say_json, show_rows
from redline.cli.setting_options import config_option, found_settings, sources_of
from redline.errors import ExecutionError, ValidationError
from redline.files import create_whole, make_directory
from redline.policy.settings import FILE_NAME, Setting, SettingData, setting_template, user_file
from redline.record.addresses import masked

_MASK = "***"


@click.command("config")
@click.option(
    "--init", "begins", is_flag=True, help="Write a redline.toml here, with every setting explained and commented out."
)
@click.option("--user", "is_for_user", is_flag=True, help="With --init: write your own, in ~/.config/redline.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object, for programs.")
@config_option
def command(begins: bool, is_for_user: bool, as_json: bool) -> int:
    """Show every setting, its value, and where that comes from: a variable, a file, or the default.

    A flag goes before a variable, that before the project's redline.toml, that before your own in ~/.config/redline. The
    project's is the nearest from the working directory up to the root of its git repository. As it may be anybody's, what
    could send data or keys elsewhere is not taken from it. Secrets are not shown.

    Exit code 0, or 2 if something is set that cannot be used.

    \b
    Examples:
      redline config
      redline config --init
      REDLINE_PORT=9000 redline config --json
    """
    if begins:
        return _begin(is_for_user)
    if is_for_user:
        raise ValidationError("--user says where --init writes. Add --init.")
    context = click.get_current_context()
    files = sources_of(context).files
    found, problems = found_settings(context)
    for problem in problems:
        complain(problem)
    code = EXIT_UNREADABLE if problems else EXIT_OK
    if as_json:
        settings = {
            setting.full_name: {"value": _shown(setting, one.value), "from": one.origin, "where": one.where}
            for setting, one in found.items()
        }
        say_json({"settings": settings, "files": [{"path": str(file.path), "from": file.origin} for file in files]}, indent=2)
        return code
    rows = [(setting.full_name, _words(_shown(setting, one.value)), one.where) for setting, one in found.items()]
    show_rows((Column("setting", least=20), Column("value", "note", least=16), Column("from", "note", least=20)), rows)
    if not files:
        say("No redline.toml is read. `redline config --init` writes one here, with --user your own.")
    return code


def _begin(is_for_user: bool) -> int:
    """Write a file, unless there is one."""
    home = None
    with contextlib.suppress(RuntimeError):  # a user without a home
        home = Path.home()
    path = user_file(home, os.environ) if is_for_user else Path(FILE_NAME)
    if path is None:
        raise ExecutionError("There is no home folder to write to. Set HOME or XDG_CONFIG_HOME.")
    try:
        if is_for_user:
            make_directory(path.parent)
        is_written = create_whole(path, setting_template(for_project=not is_for_user).encode())
    except OSError as problem:
        raise ExecutionError(f"{path}: {problem.strerror or problem}. Check the folder and its permissions.") from problem
    if not is_written:
        raise ExecutionError(f"{path} is there already, and stays as it is. Edit it, or move it away.")
    say(f"{path} is written. Remove the # before what you want to set; `redline config` shows what counts.")
    return EXIT_OK


def _shown(setting: Setting, value: SettingData) -> SettingData:
    """The value with its secrets masked."""
    if setting.is_secret:
        return _MASK if value else value
    return masked(value) if isinstance(value, str) else value


def _words(value: SettingData) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return " ".join(value)
        case float():
            return f"{value:g}"
    return "" if value is None else str(value)
