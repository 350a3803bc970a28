"""Options that are settings too: what is not on the command line comes from variables, files and defaults."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TypeVar, cast

import click
from click.core import ParameterSource

from redline.cli.output import complain
from redline.errors import RedlineError, ValidationError
from redline.policy.settings import SETTINGS, Setting, SettingSources, SettingValue

_Function = TypeVar("_Function", bound=Callable[..., Any])

_CONFIG = "redline.config"
_SOURCES = "redline.sources"


class SettingOption(click.Option):
    """The option of a setting. One that is passed on is looked for on the command line only, by this command."""

    def __init__(self, _: Sequence[str], *, setting: Setting, is_passed_on: bool) -> None:
        is_switch, default = setting.kind == "switch", setting.default
        numbers = {"integer": click.IntRange(setting.least, setting.most), "number": click.FloatRange(0.0, min_open=True)}
        words = click.Choice(setting.choices) if setting.choices else click.STRING
        super().__init__(
            [setting.name, setting.to_argv(True)[0] + "/" + setting.to_argv(False)[0] if is_switch else setting.flag],
            type=None if is_switch else numbers.get(setting.kind, words),
            is_flag=is_switch,
            default=None if is_passed_on or default == () else default,
            show_default=not is_passed_on and not is_switch and default not in ((), "", None),
            multiple=setting.kind == "list",
            metavar=setting.metavar or {"address": "ADDRESS", "policy": "NAME_OR_FILE"}.get(setting.kind),
            help=setting.help,
        )
        self.setting = setting
        self.is_passed_on = is_passed_on

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """What the command line says, else what is said elsewhere."""
        value, source = super().consume_value(ctx, opts)
        if source is ParameterSource.COMMANDLINE or self.is_passed_on or ctx.resilient_parsing:
            return value, source
        found = found_setting(ctx, self.setting)
        return (value, source) if found.origin == "default" else (found.value, ParameterSource.DEFAULT_MAP)


def with_settings(*names: str, passed_on: Sequence[str] = ()) -> Callable[[_Function], _Function]:
    """Give a command the options of these settings, and `--config`. Below `@click.command`, like `@click.option`.

    Those that are passed on to another command, which finds what is not given by itself, are None where they are not given.
    """

    def decorate(function: _Function) -> _Function:
        function = config_option(function)
        for name in reversed((*names, *passed_on)):  # the last decorator is the first option
            function = click.option(cls=SettingOption, setting=SETTINGS[name], is_passed_on=name in passed_on)(function)
        return function

    return decorate


def config_of(ctx: click.Context) -> str | None:
    """The file that `--config` names."""
    return cast("str | None", ctx.meta.get(_CONFIG))


def sources_of(ctx: click.Context) -> SettingSources:
    """The variables and files of this run, read once; what a project's file says in vain is complained of."""
    if _SOURCES not in ctx.meta:
        ctx.meta[_SOURCES] = SettingSources.load(config_of(ctx))
        for warning in ctx.meta[_SOURCES].warnings():
            complain(warning)
    return cast("SettingSources", ctx.meta[_SOURCES])


def found_setting(ctx: click.Context, setting: Setting) -> SettingValue:
    """What variables and files say of a setting. A ValidationError says which of them holds what cannot be used."""
    found = sources_of(ctx).find(setting)
    checker = _CHECKERS.get(setting.full_name)
    if checker is None or found.origin == "default" or (setting.full_name == "proxy.blobs" and not found.value):
        return found
    module, name = checker
    try:
        with contextlib.suppress(ImportError):  # an extra that is not there is named by the command that needs it
            getattr(import_module(f"redline.{module}"), name)(found.value)
    except RedlineError as problem:
        raise ValidationError(f"{found.where}: {problem}") from problem
    return found


_CHECKERS = {
    "proxy.store": ("record.backends", "parse_address"),
    "proxy.blobs": ("record.blobs.opening", "open_blobs"),
    "proxy.policy": ("policy.policy", "find_policy"),
    "proxy.upstream": ("proxy.settings", "parse_upstreams"),
    "proxy.allow_origin": ("proxy.settings", "check_origins"),
    "proxy.token": ("proxy.settings", "check_token"),
    "proxy.holdout": ("transport.holdout", "parse_share"),
    "replay.prices": ("cli.replay", "find_prices"),
}
"""By setting, the module and the function that refuse a value nobody could use. A module is loaded only for what is set."""


def found_settings(ctx: click.Context) -> tuple[dict[Setting, SettingValue], tuple[str, ...]]:
    """Every setting that can be used, and what is wrong with the others."""
    found: dict[Setting, SettingValue] = {}
    problems: dict[str, None] = {}  # a file that cannot be read is one problem, not one for each setting
    for setting in SETTINGS.values():
        try:
            found[setting] = found_setting(ctx, setting)
        except RedlineError as problem:
            problems[str(problem)] = None
    return found, tuple(problems)


config_option = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=lambda ctx, _, config: ctx.meta.update({_CONFIG: config}),
    help="Settings from this redline.toml, not the project's; off reads none. `redline config` shows all.",
)
"""Given to every command that has settings."""
