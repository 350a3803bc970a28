"""Every setting, declared once: its flag, its key in `redline.toml`, its variable and its documentation come from here."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["SECTIONS", "SETTINGS", "VARIABLES", "Setting", "SettingData"]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. Flag, key and variable follow from its name."""

    section: str
    name: str
    kind: Literal["text", "address", "policy", "integer", "number", "switch", "list"]
    """An address is a folder or a database, a policy a name or a file; relative paths in a file start from its folder."""
    default: SettingData
    help: str
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    above: float | None = None
    """A number must be more than this."""
    choices: tuple[str, ...] = ()
    example: SettingData = None
    """For the file that `redline config --init` writes, where the default says nothing."""
    is_secret: bool = False
    """Never shown."""
    from_project: bool = False
    """Whether a project's file may say it: of switches only that they are on, of addresses only a folder inside the project, of
    policies only a name. What could send data or keys elsewhere, let others in, or use up the machine may not."""

    @property
    def full_name(self) -> str:
        """As `SETTINGS` has it."""
        return f"{self.section}.{self.name}"

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

    def words(self, value: SettingData) -> list[str]:
        """The value as it is written on a command line."""
        match value:
            case None:
                return []
            case bool():
                return [self.flag if value else self.flag.replace("--", "--no-", 1)]
            case tuple():
                return [word for one in value for word in (self.flag, one)]
        return [self.flag, str(value)]


_LOCAL = "127.0.0.1"
_ALLOW_HOST = "A further name under which clients reach it; again for each."

_DECLARED = (
    Setting(
        section="proxy",
        name="port",
        kind="integer",
        default=8484,
        least=0,
        most=65535,
        help="0 takes any that is free.",
        from_project=True,
    ),
    Setting(section="proxy", name="host", kind="text", default=_LOCAL, help="Any that other machines reach needs --token."),
    Setting(
        section="proxy",
        name="store",
        kind="address",
        default="~/.redline",
        metavar="ADDRESS",
        help="Where the record is: a folder, sqlite:///FILE, postgresql://…",
        from_project=True,
    ),
    Setting(
        section="proxy",
        name="policy",
        kind="policy",
        default="default",
        metavar="NAME_OR_FILE",
        help="careful, balanced, bold, stale, superseded, documents, masking, or a redline.toml; default is careful.",
        from_project=True,
    ),
    Setting(
        section="proxy",
        name="blobs",
        kind="address",
        default="",
        metavar="ADDRESS",
        example="~/.redline/blobs",
        help="Where results go that the policy offloads: a folder, s3://…, gs://…, az://…",
        from_project=True,
    ),
    Setting(
        section="proxy",
        name="upstream",
        kind="list",
        default=(),
        metavar="PROVIDER=URL",
        example=("openai=https://openrouter.ai/api/v1",),
        help="Where requests go on to, for anthropic, openai or gemini; again for each.",
    ),
    Setting(
        section="proxy",
        name="dry_run",
        kind="switch",
        default=False,
        help="Change nothing, record everything, report what would have been saved.",
        from_project=True,
    ),
    Setting(
        section="proxy",
        name="workers",
        kind="integer",
        default=1,
        least=1,
        most=256,
        help="Processes that share the work.",
    ),
    Setting(
        section="proxy",
        name="token",
        kind="text",
        default="",
        help="What clients must send. REDLINE_TOKEN does the same, unseen.",
        is_secret=True,
    ),
    Setting(section="proxy", name="allow_host", kind="list", default=(), metavar="NAME", help=_ALLOW_HOST),
    Setting(
        section="proxy",
        name="allow_origin",
        kind="list",
        default=(),
        metavar="ORIGIN",
        example=("http://localhost:3000",),
        help="A web page that may use it, by its origin; all others are refused; again for each.",
    ),
    Setting(
        section="proxy",
        name="edit_subscriptions",
        kind="switch",
        default=False,
        help="Edit what a subscription pays for, too; it is only observed otherwise.",
    ),
    Setting(
        section="proxy",
        name="redact",
        kind="switch",
        default=False,
        help="Keep secrets out of what is recorded.",
        from_project=True,
    ),
    Setting(
        section="proxy",
        name="deadline",
        kind="number",
        default=100.0,
        above=0.0,
        metavar="MS",
        help="For editing a request; thrice as long more for each MB of it.",
        from_project=True,
    ),
    Setting(
        section="proxy",
        name="otel",
        kind="switch",
        default=False,
        help="Export spans and metrics, to where the variables OTEL_… say.",
    ),
    Setting(
        section="inspector",
        name="port",
        kind="integer",
        default=8585,
        least=0,
        most=65535,
        help="0 takes any that is free.",
        from_project=True,
    ),
    Setting(
        section="inspector",
        name="host",
        kind="text",
        default=_LOCAL,
        help="Any that other machines reach needs --allow-others.",
    ),
    Setting(
        section="inspector",
        name="allow_others",
        kind="switch",
        default=False,
        help="Let other machines look; they need the address printed, with its token.",
    ),
    Setting(section="inspector", name="allow_host", kind="list", default=(), metavar="NAME", help=_ALLOW_HOST),
    Setting(
        section="inspector",
        name="read_only",
        kind="switch",
        default=False,
        help="No actions on Redline's own logs either.",
        from_project=True,
    ),
    Setting(section="inspector", name="open", kind="switch", default=False, help="Open the page in the browser."),
    Setting(
        section="replay",
        name="prices",
        kind="list",
        default=(),
        help="A price rule as read/write/lifetime (0.1/1.25/5m), or a model, with :1h for its cache of an hour. "
        "May be repeated; without it the session's own model, and with --details six usual rules.",
        from_project=True,
    ),
    Setting(
        section="replay",
        name="jobs",
        kind="integer",
        default=None,
        least=1,
        example=4,
        help="How many at a time; as many as there are cores without it.",
    ),
    Setting(
        section="replay",
        name="engine",
        kind="text",
        default="local",
        choices=("local", "ray"),
        help="Where: in processes of this machine, or on a Ray cluster (extra `ray`).",
    ),
    Setting(
        section="replay",
        name="address",
        kind="text",
        default=None,
        example="auto",
        help="The Ray cluster: auto, HOST:PORT or ray://HOST:10001; without it one on this machine.",
    ),
)

SETTINGS: dict[str, Setting] = {setting.full_name: setting for setting in _DECLARED}
"""All of them, by section and name, in the order in which they are shown."""
