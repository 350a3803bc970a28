"""Options that are settings too: what is not on the command line comes from variables, files and defaults."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from redline.cli.output import complain
from redline.errors import RedlineError, ValidationError
from redline.settings import SETTINGS, Setting, SettingSources, SettingValue

__all__ = ["SettingOption", "config_of", "config_option", "found_setting", "found_settings", "sources_of", "with_settings"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

_CONFIG = "redline.config"
_SOURCES = "redline.sources"


class SettingOption(click.Option):
    """The option of a setting. One that is passed on is looked for on the command line only, by this command."""

    def __init__(self, _: Sequence[str], *, setting: Setting, is_passed_on: bool) -> None:
        is_switch, default = setting.kind == "switch", setting.default
        super().__init__(
            [setting.name, setting.words(True)[0] + "/" + setting.words(False)[0] if is_switch else setting.flag],
            type=_type(setting),
            is_flag=is_switch,
            default=None if is_passed_on or default == () else default,
            show_default=not is_passed_on and not is_switch and default not in ((), "", None),
            multiple=setting.kind == "list",
            metavar=setting.metavar,
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
            option = click.option(cls=SettingOption, setting=SETTINGS[name], is_passed_on=name in passed_on)
            function = option(function)
        return function

    return decorate


def config_of(ctx: click.Context) -> str | None:
    """The file that `--config` names."""
    config: str | None = ctx.meta.get(_CONFIG)
    return config


def sources_of(ctx: click.Context) -> SettingSources:
    """The variables and files of this run, read once; what a project's file says in vain is complained of."""
    if _SOURCES not in ctx.meta:
        ctx.meta[_SOURCES] = SettingSources.load(config_of(ctx))
        for warning in ctx.meta[_SOURCES].warnings():
            complain(warning)
    sources: SettingSources = ctx.meta[_SOURCES]
    return sources


def found_setting(ctx: click.Context, setting: Setting) -> SettingValue:
    """What variables and files say of a setting. A ValidationError says which of them holds what cannot be used."""
    found = sources_of(ctx).find(setting)
    if found.origin != "default":
        try:
            _check_meaning(setting, found.value)
        except RedlineError as problem:
            raise ValidationError(f"{found.where}: {problem}") from problem
    return found


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


def _type(setting: Setting) -> "click.ParamType[Any] | None":  # which takes an argument in newer versions of click only
    match setting.kind:
        case "integer":
            return click.IntRange(setting.least, setting.most)
        case "number":
            return click.FloatRange(setting.above, min_open=True)
        case "switch":
            return None
    return click.Choice(setting.choices) if setting.choices else click.STRING


def _check_meaning(setting: Setting, value: Any) -> None:
    """Whether those who use the value could; their modules are loaded only for what is set."""
    with contextlib.suppress(ImportError):  # an extra that is not there is named by the command that needs it
        match setting.full_name:
            case "proxy.store":
                from redline.log.addresses import parse_address

                parse_address(value)
            case "proxy.blobs" if value:
                from redline.blobs.opening import open_blobs

                open_blobs(value)
            case "proxy.policy":
                from redline.presets import find_policy

                find_policy(value)
            case "proxy.upstream":
                from redline.proxy.upstreams import parse_upstreams

                parse_upstreams(value)
            case "proxy.allow_origin":
                from redline.proxy.settings import check_origins

                check_origins(value)
            case "proxy.token":
                from redline.proxy.settings import check_token

                check_token(value)
            case "replay.prices":
                from redline.cli.replay import check_prices

                check_prices(value)


def _set_config(ctx: click.Context, _: click.Parameter, config: str | None) -> None:
    ctx.meta[_CONFIG] = config


config_option = click.option(
    "--config",
    metavar="FILE",
    is_eager=True,
    expose_value=False,
    callback=_set_config,
    help="Settings from this redline.toml, not the project's; off reads none. `redline config` shows all.",
)
"""Given to every command that has settings."""
