"""Where a setting's value comes from: the order of the sources, what is refused at the door, what a project may not say."""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redline import Policy
from redline.errors import ValidationError
from redline.policy.settings import SETTINGS, SettingFile, SettingSources, setting_template

PORTS = st.none() | st.integers(0, 65535)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def load(base, *, project="", user="", config=None, **environ):
    """The sources of a user in a project, as texts."""
    folder, home = base / "project", base / "home"
    folder.mkdir(exist_ok=True)
    for path, text in ((folder / "redline.toml", project), (home / ".config/redline/redline.toml", user)):
        if text:
            write(path, text)
    return SettingSources.load(config, folder=folder, home=home, environ=environ)


def port_of(sources):
    return sources.find(SETTINGS["proxy.port"])


@given(variable=PORTS, project=PORTS, user=PORTS, config=PORTS)
def test_the_highest_source_counts(variable, project, user, config):
    """Variable, then the file that is named, or else the project's, then the user's, then the default."""
    with tempfile.TemporaryDirectory() as name:
        texts = {"project": project, "user": user}
        said = {source: f"[proxy]\nport = {port}" for source, port in texts.items() if port is not None}
        named = None if config is None else str(write(Path(name) / "named.toml", f"[proxy]\nport = {config}"))
        environ = {} if variable is None else {"REDLINE_PORT": str(variable)}
        found = port_of(load(Path(name), config=named, **said, **environ))
    order = {"variable": variable, "config": config, "project": None if named else project, "user": user, "default": 8484}
    assert (found.origin, found.value) == next((origin, port) for origin, port in order.items() if port is not None)


VALUES = {
    "integer": lambda one: st.integers(one.least or 0, one.most or 10_000),
    "number": lambda _: st.floats(0.001, 1e9),
    "switch": lambda _: st.booleans(),
    "list": lambda _: st.lists(st.text("abc=:/.", min_size=1), min_size=1).map(tuple),
    "text": lambda one: st.sampled_from(one.choices) if one.choices else st.text("abc.:-", min_size=1),
    "address": lambda _: st.just("sqlite:////some/chats.db"),
    "policy": lambda _: st.sampled_from(["bold", "careful"]),
}


@given(st.data())
def test_every_setting_is_the_same_in_a_variable_and_in_a_file(data):
    """What a file says and what a variable says are read to one value."""
    setting = data.draw(st.sampled_from(list(SETTINGS.values())))
    value = data.draw(VALUES[setting.kind](setting))
    text = " ".join(value) if isinstance(value, tuple) else str(value)
    with tempfile.TemporaryDirectory() as name:
        in_file = load(Path(name), user=f"[{setting.section}]\n{setting.name} = {json.dumps(value)}").find(setting)
    in_variable = SettingSources({setting.variable: text}).find(setting)
    assert (in_file.origin, in_variable.origin) == ("user", "variable")
    assert in_file.value == in_variable.value == value


@given(st.text())
def test_a_variable_is_read_or_named_in_an_error(text):
    """Whatever is in it, nothing but a value that fits or a ValidationError with its name comes of it."""
    for setting in SETTINGS.values():
        said = ""
        try:
            found = SettingSources({setting.variable: text}).find(setting)
        except ValidationError as problem:
            said = str(problem)
        assert said.startswith(f"{setting.variable}: must be ") or found.origin == ("variable" if text else "default")


def test_names_are_all_different():
    """No two settings have a variable in common, nor two of one section a flag."""
    assert len({setting.variable for setting in SETTINGS.values()}) == len(SETTINGS)
    assert len({(setting.section, setting.flag) for setting in SETTINGS.values()}) == len(SETTINGS)


# --- a project's file

DANGEROUS = """
[proxy]
host = "0.0.0.0"
token = "a-token-of-16-letters"
upstream = ["anthropic=https://elsewhere.example"]
allow_host = ["elsewhere.example"]
edit_subscriptions = true
workers = 200
dry_run = false
redact = false
store = "{store}"
policy = "{policy}"

[inspector]
host = "0.0.0.0"
allow_others = true
allow_host = ["elsewhere.example"]

[replay]
engine = "ray"
address = "ray://elsewhere.example:10001"
"""

STORES = (
    "postgresql://elsewhere.example/db",
    "sqlite:////tmp/x.db",
    "/tmp/store",
    "../store",
    "~/store",
    "link",
    "//host/share",
)


@pytest.mark.parametrize("store", STORES)
def test_a_project_cannot_send_data_elsewhere_or_let_others_in(tmp_path, store):
    """A file that one merely has in the working directory sets none of these; one warning names them all."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "link").symlink_to(tmp_path)
    user = "[proxy]\ndry_run = true\nredact = true\n"
    sources = load(tmp_path, project=DANGEROUS.format(store=store, policy="own.toml"), user=user)
    for setting in SETTINGS.values():
        found = sources.find(setting)
        is_users = setting.full_name in ("proxy.dry_run", "proxy.redact")
        assert (found.value, found.origin) == ((True, "user") if is_users else (setting.default, "default"))
    (warning,) = sources.warnings()
    assert all(
        key in warning for key in ("host", "token", "upstream", "store", "policy", "[inspector] host", "[replay] address")
    )
    assert "a-token-of-16-letters" not in warning


@pytest.mark.parametrize("name", sorted(name for name, setting in SETTINGS.items() if setting.kind in ("text", "list")))
def test_texts_of_a_project_are_refused_unless_listed(tmp_path, name):
    """Texts are where addresses, names and secrets are. Whoever lets a project set one more must say so here."""
    assert SETTINGS[name].from_project == (name == "replay.prices")


def test_a_file_that_is_named_may_say_everything(tmp_path):
    """The user's own, and the one that `--config` names, are trusted."""
    text = DANGEROUS.format(store="postgresql://h/db", policy="own.toml")
    named = write(tmp_path / "named.toml", text)
    for sources in (load(tmp_path, config=str(named)), load(tmp_path, user=text)):
        assert sources.find(SETTINGS["proxy.host"]).value == "0.0.0.0"
        assert sources.find(SETTINGS["proxy.store"]).value == "postgresql://h/db"
        assert list(sources.warnings()) == []


def test_a_project_may_say_the_rest(tmp_path):
    """Port, a policy's name, a folder of its own, that nothing is changed, that secrets are left out."""
    text = '[proxy]\nport = 1\npolicy = "bold"\nstore = "logs"\ndry_run = true\nredact = true\n'
    sources = load(tmp_path, project=text)
    values = [sources.find(SETTINGS[f"proxy.{name}"]).value for name in ("port", "policy", "store", "dry_run", "redact")]
    assert values == [1, "bold", str(tmp_path / "project" / "logs"), True, True]
    assert list(sources.warnings()) == []


def test_a_policy_counts_in_files_that_are_trusted(tmp_path):
    """The words of a policy are said to the model, so a project's is taken only by name; the user's is the proxy's."""
    text = 'preset = "bold"\n[proxy]\nport = 5\n'
    assert load(tmp_path, project=text).find(SETTINGS["proxy.policy"]).value == "default"
    (tmp_path / "project" / "redline.toml").unlink()
    path = load(tmp_path, user=text).find(SETTINGS["proxy.policy"]).value
    assert Policy.load(path) == Policy.bold()


# --- finding and reading


def test_the_nearest_file_up_to_the_root_of_the_repository(tmp_path):
    """A folder's own file goes before its parent's; beyond the repository, and outside of one, nothing is looked at."""
    outer, root, inner = (write(tmp_path / place / "redline.toml", "[proxy]\nport = 1") for place in ("", "repo", "repo/a/b"))
    (tmp_path / "repo" / "a" / "c").mkdir()

    def found(folder):
        return [file.path for file in SettingSources.load(folder=folder, home=tmp_path / "home", environ={}).files]

    assert found(tmp_path / "repo" / "a" / "c") == []
    subprocess.run(["git", "init", "-q", str(tmp_path / "repo")], check=True)
    assert found(inner.parent) == [inner]
    assert found(tmp_path / "repo" / "a" / "c") == [root]
    root.unlink()
    assert found(tmp_path / "repo" / "a" / "c") == []
    assert found(tmp_path) == [outer]


def test_off_reads_no_file(tmp_path):
    """Variables still count."""
    sources = load(tmp_path, user="[proxy]\nport = 1", REDLINE_CONFIG="off", REDLINE_WORKERS="3")
    assert (port_of(sources).value, sources.find(SETTINGS["proxy.workers"]).value) == (8484, 3)


def test_the_folder_of_the_desktop_standard_is_looked_at(tmp_path):
    """XDG_CONFIG_HOME goes before ~/.config."""
    write(tmp_path / "xdg" / "redline" / "redline.toml", "[proxy]\nport = 2")
    assert port_of(load(tmp_path, user="[proxy]\nport = 1", XDG_CONFIG_HOME=str(tmp_path / "xdg"))).value == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[proxy]\nprot = 1", "Did you mean 'port'?"),
        ("[proxi]\nport = 1", "Did you mean 'proxy'?"),
        ("preste = 'bold'", "Did you mean 'preset'?"),
        ("proxy = 1", "proxy must be a table"),
        ("[proxy]\nport = 'abc'", "[proxy] port must be a whole number from 0 to 65535, not 'abc'"),
        ("[proxy]\nport = true", "[proxy] port must be a whole number"),
        ("[proxy]\nport = 65536", "not 65536"),
        ("[proxy]\ndeadline = nan", "[proxy] deadline must be a number above 0"),
        ("[proxy]\ndeadline = inf", "[proxy] deadline must be a number above 0"),
        ("[proxy]\ndry_run = 1", "[proxy] dry_run must be true or false, not 1"),
        ("[proxy]\nupstream = 'openai=x'", "[proxy] upstream must be a list of texts"),
        ('[proxy]\nstore = "a\\u0000b"', "[proxy] store must be a text without control characters"),
        ('[proxy]\nstore = "~nobody-of-this-name/x"', "[proxy] store"),
        ("[replay]\nengine = 'x'", "must be one of local, ray, not 'x'"),
        ("[proxy", "not TOML"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("#" * (1 << 20) + "#", "larger than 1 MB"),
    ],
    ids=lambda text: text[:30],
)
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path, text, words):
    """The file and the key, and what was probably meant."""
    with pytest.raises(ValidationError) as problem:
        load(tmp_path, project=text)
    assert str(tmp_path / "project" / "redline.toml") in str(problem.value)
    assert words in str(problem.value)


def test_a_file_that_the_system_does_not_give_is_named(tmp_path):
    """With its own word for why."""
    with pytest.raises(ValidationError, match=r"File name too long\. Check the path and its permissions"):
        SettingFile.read(tmp_path / ("x" * 300), "config")


@pytest.mark.parametrize("wrong", ['token = ["my-secret-token"]', 'store = "postgresql://me:my-secret@host/db\\n"'])
def test_a_secret_is_in_no_error(tmp_path, wrong):
    """Also where it is wrong."""
    with pytest.raises(ValidationError) as problem:
        load(tmp_path, user=f"[proxy]\n{wrong}")
    assert "my-secret" not in str(problem.value)


@pytest.mark.parametrize(
    "make", [lambda path: path.mkdir(), lambda path: os.mkfifo(path), lambda path: path.symlink_to("gone")]
)
def test_what_is_no_file_is_refused(tmp_path, make):
    """A folder, a pipe that would never end, a link to nothing."""
    (tmp_path / "project").mkdir()
    make(tmp_path / "project" / "redline.toml")
    with pytest.raises(ValidationError, match="no file"):
        load(tmp_path)


def test_a_policy_file_may_hold_settings_of_commands(tmp_path):
    """`Policy.load` passes over their tables, and still refuses what it does not know."""
    path = write(tmp_path / "redline.toml", 'preset = "bold"\n[proxy]\nport = 5\n')
    assert Policy.load(path) == Policy.bold()
    with pytest.raises(ValidationError, match="Did you mean 'preset'"):
        Policy.load(write(path, "preste = 'bold'"))


@pytest.mark.parametrize("for_project", [True, False])
def test_the_template_is_valid_with_and_without_its_marks(tmp_path, for_project):
    """As it is written it sets nothing; with all marks removed every key is taken."""
    text = setting_template(for_project=for_project)
    place = "project" if for_project else "user"
    (file,) = load(tmp_path, **{place: text}).files
    assert file.values == {}
    lines = [line.removeprefix("# ") if " = " in line else line for line in text.splitlines()]
    (file,) = load(tmp_path, **{place: "\n".join(lines)}).files
    wanted = {name for name, setting in SETTINGS.items() if setting.from_project or not for_project}
    assert (set(file.values), file.refused) == (wanted, ())
