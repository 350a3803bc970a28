"""Every setting, declared once: its flag, key, variable and documentation follow, and where its value comes from."""

import contextlib
import json
import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from redline.errors import ValidationError
from redline.policy.presets import DEFAULT_PRESET, PRESETS

SettingData = str | int | float | bool | tuple[str, ...] | None
"""What a setting may be; None where nothing is said and a command finds its own."""

SECTIONS = {
    "proxy": "`redline proxy`, and the proxy that `redline run` starts",
    "inspector": "`redline serve`",
    "replay": "`redline replay`",
}
"""The tables of a `redline.toml` beside the policy, and whose they are."""

VARIABLES = {
    "REDLINE_CONFIG": "A `redline.toml` to take in the place of the project's, as `--config` does; `off` reads no file at all.",
    "REDLINE_CACHE": "`off` keeps nothing in the cache folder, so that every listing reads all sessions again.",
    "REDLINE_TRACEBACK": "`1` shows where in Redline an unexpected error arose.",
}
"""Variables that are no settings: neither flag nor key."""

_SWITCHES = {"on": "true", "yes": "true", "off": "false", "no": "false"}
"""Spellings in variables that `msgspec` does not take for true and false by itself."""
_LONGEST_SHOWN = 80

_Text = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f]*\Z")]
"""No control characters, which no name or address has."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. Flag, key and variable follow from its name."""

    full_name: str
    """Section and name, as `SETTINGS` has it."""
    kind: Literal["text", "address", "policy", "integer", "number", "switch", "list"]
    """An address is a folder or a database, a policy a name or a file; relative paths in a file start from its folder."""
    default: SettingData
    help: str
    metavar: str | None = None
    """How help shows the value, where the kind does not say it."""
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    """Of an address: values that are no path."""
    is_secret: bool = False
    """Never shown."""

    @property
    def from_project(self) -> bool:
        """Whether a project's file may say it: of switches only that they are on, of addresses only folders inside the project,
        of policies only a name."""
        return self.full_name in _FROM_PROJECT

    @property
    def section(self) -> str:
        """The table of a `redline.toml` that it is in."""
        return self.full_name.partition(".")[0]

    @property
    def name(self) -> str:
        """The name inside its section."""
        return self.full_name.partition(".")[2]

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def key(self) -> str:
        """In a file."""
        return f"[{self.section}] {self.name}"

    @property
    def variable(self) -> str:
        """In the environment; the proxy's have no section."""
        return "_".join(("REDLINE", *([] if self.section == "proxy" else [self.section]), self.name)).upper()

    def to_argv(self, value: SettingData) -> list[str]:
        """The value as it is written on a command line."""
        match value:
            case None:
                return []
            case bool():
                return [self.flag if value else self.flag.replace("--", "--no-", 1)]
            case tuple():
                return [word for one in value for word in (self.flag, one)]
        return [self.flag, str(value)]

    def parse(self, text: str) -> SettingData:
        """The value that the text of a variable means; several are apart by blanks."""
        match self.kind:
            case "list":
                return self.check(text.split())
            case "switch":
                word = text.strip().lower()
                return self._converted(text, _SWITCHES.get(word, word), is_strict=False)
            case "integer" | "number":
                return self._converted(text, text.strip(), is_strict=False)
        return self.check(text)

    def check(self, value: object) -> SettingData:
        """The value as commands take it; a ValidationError says what it must be."""
        return self._converted(value, value, is_strict=True)

    def _converted(self, given: object, value: object, *, is_strict: bool) -> SettingData:
        wanted, kind = self._wanted()
        try:
            converted: SettingData = msgspec.convert(value, kind, strict=is_strict)
        except msgspec.ValidationError:
            shown = repr(given)
            is_hidden = self.is_secret or self.kind == "address"  # which may hold a password
            told = "" if is_hidden else f", not {shown[:_LONGEST_SHOWN]}{'…' if len(shown) > _LONGEST_SHOWN else ''}"
            raise ValidationError(f"must be {wanted}{told}") from None
        return converted

    def _wanted(self) -> tuple[str, Any]:
        """What a value must be, in words and as a type."""
        match self.kind:
            case "integer":
                limits = "" if self.least is None else f" of {self.least} or more"
                limits = limits if self.most is None else f" from {self.least} to {self.most}"
                return f"a whole number{limits}", Annotated[int, Meta(ge=self.least, le=self.most)]
            case "number":
                return "a number above 0", Annotated[float, Meta(gt=0, le=sys.float_info.max)]
            case "switch":
                return "true or false", bool
            case "list":
                return "a list of texts", tuple[_Text, ...]
        if self.choices:
            return f"one of {', '.join(self.choices)}", Literal[self.choices]
        return "a text without control characters", _Text


_LOCAL = "127.0.0.1"
_ALLOW_HOST = "A further name under which clients reach it; again for each."
_FROM_PROJECT = {
    *("proxy.port", "proxy.store", "proxy.policy", "proxy.blobs", "proxy.dry_run", "proxy.redact", "proxy.deadline"),
    *("inspector.port", "inspector.read_only", "replay.prices"),
}
"""No setting that could send data or keys elsewhere, let others in, or use up the machine."""

_DECLARED = (
    Setting("proxy.port", "integer", 8484, "0 takes any that is free.", least=0, most=65535),
    Setting("proxy.host", "text", _LOCAL, "Any that other machines reach needs --token."),
    Setting("proxy.store", "address", "~/.redline", "Where the record is: a folder, sqlite:///FILE, postgresql://…"),
    Setting("proxy.policy", "policy", "default", f"{', '.join(PRESETS)}, or a redline.toml; default is {DEFAULT_PRESET}."),
    Setting("proxy.blobs", "address", "", "Where results go that the policy offloads: a folder, s3://…, gs://…, az://…"),
    Setting(
        "proxy.whole_in",
        "address",
        "",
        "Where agents can read results that lines are left out of; without it a folder with the store; off leaves none out.",
        metavar="FOLDER",
        words=("off",),
    ),
    Setting(
        "proxy.recall",
        "text",
        "file",
        "How a model gets back what was struck: in a file of the folder for whole results, by a tool that the proxy answers.",
        choices=("off", "file", "tool"),
    ),
    Setting(
        "proxy.upstream",
        "list",
        (),
        "Where requests go on to, for anthropic, openai or gemini; again for each.",
        "PROVIDER=URL",
    ),
    Setting(
        "proxy.keep",
        "text",
        "",
        "Delete for good what was not used for so long: 30d, 12h; without it nothing is deleted.",
        metavar="TIME",
    ),
    Setting("proxy.dry_run", "switch", False, "Change nothing, record everything, report what would have been saved."),
    Setting(
        "proxy.holdout",
        "text",
        "",
        "Send a share of the sessions as they come, such as 10%, to compare the others with: redline proof.",
        metavar="SHARE",
    ),
    Setting("proxy.workers", "integer", 1, "Processes that share the work.", least=1, most=256),
    Setting("proxy.token", "text", "", "What clients must send. REDLINE_TOKEN does the same, unseen.", is_secret=True),
    Setting("proxy.allow_host", "list", (), _ALLOW_HOST, metavar="NAME"),
    Setting(
        "proxy.allow_origin",
        "list",
        (),
        "A web page that may use it, by its origin; all others are refused; again for each.",
        "ORIGIN",
    ),
    Setting(
        "proxy.edit_subscriptions", "switch", False, "Edit what a subscription pays for, too; it is only observed otherwise."
    ),
    Setting(
        "proxy.report_usage",
        "text",
        "sent",
        "What answers tell the agent: the tokens that were sent, or those that would have been without strikes.",
        choices=("sent", "unstruck"),
    ),
    Setting("proxy.redact", "switch", False, "Keep secrets out of what is recorded."),
    Setting("proxy.deadline", "number", 100.0, "For editing a request; thrice as long more for each MB of it.", metavar="MS"),
    Setting("proxy.warn_usd", "number", None, "Say a line once a session has cost so many dollars.", metavar="USD"),
    Setting("proxy.max_usd", "number", None, "Refuse requests of a session that has cost so many dollars.", metavar="USD"),
    Setting("proxy.warn_usd_day", "number", None, "Say a line once a day has cost so many dollars.", metavar="USD"),
    Setting("proxy.max_usd_day", "number", None, "Refuse requests of a day that has cost so many dollars.", metavar="USD"),
    Setting(
        "proxy.prices",
        "list",
        (),
        "Your own price of a model, in dollars for a million tokens; again for each. Without it list prices count.",
        "MODEL=INPUT/OUTPUT[/READ/WRITE]",
    ),
    Setting("proxy.otel", "switch", False, "Export spans and metrics, to where the variables OTEL_… say."),
    Setting("inspector.port", "integer", 8585, "0 takes any that is free.", least=0, most=65535),
    Setting("inspector.host", "text", _LOCAL, "Any that other machines reach needs --allow-others."),
    Setting(
        "inspector.allow_others", "switch", False, "Let other machines look; they need the address printed, with its token."
    ),
    Setting("inspector.allow_host", "list", (), _ALLOW_HOST, metavar="NAME"),
    Setting("inspector.read_only", "switch", False, "No actions on Redline's own logs either."),
    Setting("inspector.open", "switch", False, "Open the page in the browser."),
    Setting(
        "replay.prices",
        "list",
        (),
        "A price rule as read/write/lifetime (0.1/1.25/5m), or a model, with :1h for its cache of an hour. "
        "May be repeated; without it the session's own model, and with --details six usual rules.",
    ),
    Setting("replay.jobs", "integer", None, "How many at a time; as many as there are cores without it.", least=1),
    Setting(
        "replay.engine",
        "text",
        "local",
        "Where: in processes of this machine, or on a Ray cluster (extra `ray`).",
        choices=("local", "ray"),
    ),
    Setting(
        "replay.address", "text", None, "The Ray cluster: auto, HOST:PORT or ray://HOST:10001; without it one on this machine."
    ),
)

SETTINGS: dict[str, Setting] = {setting.full_name: setting for setting in _DECLARED}
"""All of them, by section and name, in the order in which they are shown."""

FILE_NAME = "redline.toml"
POLICY_KEYS = (
    *("preset", "rules", "schedule", "words", "strategy", "project_root", "protection", "tools"),
    *("error_words", "error_signs", "observations", "compact_at", "compact"),
)
"""What is said at the top of a file: the policy, which `Policy.load` reads."""

_MOST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SettingValue:
    """The value of a setting, and its origin."""

    value: SettingData
    origin: Literal["variable", "config", "project", "user", "default"]
    where: str
    """For people: the variable, or the file and the key."""


@dataclass(frozen=True, slots=True)
class SettingFile:
    """What one file says."""

    path: Path
    origin: Literal["config", "project", "user"]
    """Named by the user, found in the project, or the user's own."""
    values: Mapping[str, SettingData]
    """By the setting's full name."""
    refused: tuple[Setting, ...] = ()
    """What is in a project's file and may not be, or not so."""

    @classmethod
    def read(cls, path: Path, origin: Literal["config", "project", "user"]) -> "SettingFile":
        """Read and check a file; a ValidationError names the file and the key."""
        values: dict[str, SettingData] = {}
        refused = []
        try:
            table = _read_table(path)
            for setting, given in _settings_in(table):
                try:
                    value = setting.check(given)
                    is_place = setting.kind == "address" and "://" not in str(value) and value not in setting.words
                    # A relative path starts from the file's folder, as whoever wrote the file meant it.
                    if value and (is_place or (setting.kind == "policy" and not str(value).isidentifier())):
                        value = str(path.parent.absolute() / Path(str(value)).expanduser())
                except (ValidationError, RuntimeError) as problem:  # a RuntimeError where `~name` is nobody's home
                    gap = " " if isinstance(problem, ValidationError) else ": "
                    raise ValidationError(f"{setting.key}{gap}{problem}") from problem
                if origin != "project" or _may_be_from_project(setting, value, path.parent):
                    values[setting.full_name] = value
                else:
                    refused.append(setting)
        except ValidationError as problem:
            raise ValidationError(f"{path}: {problem}") from problem
        if origin != "project" and "proxy.policy" not in values and any(key in table for key in POLICY_KEYS):
            values["proxy.policy"] = str(path)
        return cls(path, origin, values, tuple(refused))


@dataclass(frozen=True, slots=True)
class SettingSources:
    """All that is said outside of the command line, the strongest file first. A flag goes before all of it."""

    environ: Mapping[str, str]
    files: tuple[SettingFile, ...] = ()

    @classmethod
    def load(
        cls,
        config: str | None = None,
        *,
        folder: Path | None = None,
        home: Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> "SettingSources":
        """Read the files: the one that is named, else the project's; then the user's own.

        Of this process, unless another folder, home or environment is given. A ValidationError names the file and the key.
        """
        variables = os.environ if environ is None else environ
        config = config or variables.get("REDLINE_CONFIG") or ""
        if config.lower() == "off":
            return cls(variables)
        with contextlib.suppress(RuntimeError):  # a user without a home
            home = home or Path.home()
        own = user_file(home, variables)
        own = own if own and own.exists() else None
        files = []
        if config:
            files.append(SettingFile.read(Path(config).expanduser(), "config"))
        else:
            with contextlib.suppress(FileNotFoundError):  # a working directory that was deleted
                found = _project_file(folder or Path.cwd())
                if found and not (own and found.samefile(own)):
                    files.append(SettingFile.read(found, "project"))
        if own:
            files.append(SettingFile.read(own, "user"))
        return cls(variables, tuple(files))

    def find(self, setting: Setting) -> SettingValue:
        """The value that counts, checked."""
        if text := self.environ.get(setting.variable):
            try:
                return SettingValue(setting.parse(text), "variable", setting.variable)
            except ValidationError as problem:
                raise ValidationError(f"{setting.variable}: {problem}") from problem
        for file in self.files:
            if setting.full_name in file.values:
                return SettingValue(file.values[setting.full_name], file.origin, f"{file.path} {setting.key}")
        return SettingValue(setting.default, "default", "default")

    def warnings(self) -> Iterator[str]:
        """What a project's file says in vain, one sentence a file."""
        only = {"switch": " (only true is)", "policy": " (only a name is)", "address": " (only a folder inside the project is)"}
        for file in self.files:
            if file.refused:
                refused = ", ".join(one.key + only.get(one.kind, "") * one.from_project for one in file.refused)
                yield (
                    f"{file.path} is the project's and could be anybody's. Not taken from it: {refused}. "
                    "Use a flag, a variable or your own file, or name this one with --config."
                )


def user_file(home: Path | None, environ: Mapping[str, str]) -> Path | None:
    """`$XDG_CONFIG_HOME/redline/redline.toml`, else `~/.config/redline/redline.toml`, be it there or not."""
    chosen = Path(environ.get("XDG_CONFIG_HOME", ""))
    if chosen.is_absolute():
        return chosen / "redline" / FILE_NAME
    return home / ".config" / "redline" / FILE_NAME if home else None


def nearest(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """The known name that is spelled most like this one, then all known names."""
    meant = get_close_matches(name, list(known), n=1)
    return (f"Did you mean {meant[0]!r}? " if meant else "") + f"There are: {', '.join(known)}."


def _project_file(folder: Path) -> Path | None:
    """The nearest file from a folder up to the root of its git repository; outside of one, only in the folder itself."""
    folders = (folder, *folder.parents)
    root = next((number for number, one in enumerate(folders) if os.path.lexists(one / ".git")), 0)
    return next((one / FILE_NAME for one in folders[: root + 1] if os.path.lexists(one / FILE_NAME)), None)


def _read_table(path: Path) -> dict[str, Any]:
    try:
        if not path.is_file():
            raise ValidationError("it is no file, or not there. Give the path of a redline.toml.")
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise ValidationError("it is larger than 1 MB, which no redline.toml is.")
        return tomllib.loads(content.decode())
    except OSError as problem:
        raise ValidationError(f"{problem.strerror or problem}. Check the path and its permissions.") from problem
    except RecursionError:
        raise ValidationError("it is nested too deeply to be read.") from None
    except ValueError as problem:  # not TOML, not UTF-8, or a name that no file can have
        raise ValidationError(f"it is not TOML that can be read: {problem}") from problem


def _settings_in(table: Mapping[str, Any]) -> Iterator[tuple[Setting, object]]:
    """The settings in a file; an unknown key is an error."""
    for section, keys in table.items():
        if section in POLICY_KEYS:
            continue
        if section not in SECTIONS:
            raise ValidationError(f"there is no {section!r}. {nearest(section, (*SECTIONS, *POLICY_KEYS))}")
        if not isinstance(keys, dict):
            raise ValidationError(f"{section} must be a table: write [{section}] and its keys below")
        names = tuple(setting.name for setting in SETTINGS.values() if setting.section == section)
        for name, value in keys.items():
            if name not in names:
                raise ValidationError(f"[{section}] has no {name!r}. {nearest(name, names)}")
            yield SETTINGS[f"{section}.{name}"], value


def _may_be_from_project(setting: Setting, value: SettingData, folder: Path) -> bool:
    """Whether this may be set by whoever wrote the project's file: see `Setting.from_project`."""
    match setting.kind:
        case _ if not setting.from_project:
            return False
        case "switch":
            return value is True
        case "policy":
            return str(value).isidentifier()
        case "address":
            return "://" not in str(value) and Path(str(value)).resolve().is_relative_to(folder.resolve())
    return True


_HEAD = """\
# Settings of Redline. A flag goes before a variable, a variable before this file. `redline config` shows what counts.
# Remove the # before a key to set it. A policy (preset, rules, schedule, …) would come first, above the tables.
"""

_EXAMPLES: dict[str, SettingData] = {
    "proxy.blobs": "~/.redline/blobs",
    "proxy.whole_in": "~/.redline/whole",
    "proxy.holdout": "10%",
    "proxy.keep": "30d",
    "proxy.upstream": ("openai=https://openrouter.ai/api/v1",),
    "proxy.allow_origin": ("http://localhost:3000",),
    "proxy.warn_usd": 5.0,
    "proxy.max_usd": 10.0,
    "proxy.warn_usd_day": 20.0,
    "proxy.max_usd_day": 50.0,
    "proxy.prices": ("my-model=0.5/2",),
    "replay.jobs": 4,
    "replay.address": "auto",
}
"""What the file says of settings whose default says nothing."""


def setting_template(*, for_project: bool) -> str:
    """A `redline.toml` with every setting explained and commented out; for a project without what its file may not say."""
    sections = []
    for section, says in SECTIONS.items():
        lines = [f"[{section}]  # {says.replace('`', '')}"]
        for setting in SETTINGS.values():
            if setting.section == section and (setting.from_project or not for_project):
                value = _EXAMPLES.get(setting.full_name, setting.default)
                if for_project and setting.kind == "switch":
                    value = True
                if for_project and setting.kind == "address":
                    value = str(value).removeprefix("~/")
                lines += ["", f"# {setting.help}", f"# {setting.name} = {json.dumps(value, ensure_ascii=False)}"]
        sections.append("\n".join(lines) + "\n")
    return "\n".join([_HEAD, *sections])
