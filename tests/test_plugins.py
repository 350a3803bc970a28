"""Other packages add rules, agents and commands; a broken one breaks nothing."""

import importlib
import json
import subprocess
import sys

import pytest

from tests.cli.run import FROM_HERE

MODULE = '''
from dataclasses import dataclass
import click
from redline.agents.readers import Reader, Transcript
from redline.agents.registry import KnownAgent
from redline.rules import StaleTerminal

@dataclass(frozen=True, slots=True)
class Shout(StaleTerminal):
    """Marks what is loud."""
    name = "shout"
    volume: int = 11

class Loud(Reader):
    """Reads the files of an agent of its own."""
    name = "loud"
    def recognizes(self, sample):
        return isinstance(sample.document, dict) and "loud" in sample.document
    def read(self, source):
        return Transcript(source.path, self.name, ())

LOUD = KnownAgent((Loud(),))

@click.command()
def hello():
    """Say hello."""
    click.echo("hello, loudly")
'''
POINTS = """
[redline.rules]
shout = loud:Shout
stale_terminal = loud:Shout

[redline.agents]
loud = loud:LOUD

[redline.commands]
hello = loud:hello
broken = loud:nowhere
inspect = loud:hello
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with a package in it, as pip leaves it."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "loud.py").write_text(MODULE)
    (folder / "loud_package-1.0.dist-info").mkdir()
    (folder / "loud_package-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: loud-package\nVersion: 1.0\n")
    (folder / "loud_package-1.0.dist-info" / "entry_points.txt").write_text(POINTS)
    return folder


def run(folder, *arguments):
    path = f"{FROM_HERE['PYTHONPATH']}:{folder}"
    env = {**FROM_HERE, "PATH": "", "PYTHONPATH": path, "HOME": str(folder), "REDLINE_CACHE": "off"}
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=env, check=False)


def test_a_rule_of_another_package_is_taken_by_name(installed):
    """In Python and in a policy's file, with settings; a name that is taken stays Redline's, with one warning."""
    code = """
import json, redline, warnings
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    named = redline.Policy(rules=("shout",)).made_rules()[0]
    tabled = redline.Policy.of_table({"rules": [{"name": "shout", "volume": 3}, "stale_terminal"]})
written = redline.Policy.of_table({"rules": [{"name": "shout", "volume": 3}]}).toml()
own = [type(rule).__name__ for rule in tabled.made_rules()]
print(json.dumps([named.volume, tabled.rules[0].volume, own, written.splitlines()[0], [str(one.message) for one in told]]))
"""
    done = run(installed, "-c", code)
    *found, warned = json.loads(done.stdout)
    assert found == [11, 3, ["Shout", "StaleTerminal"], 'rules = [{ name = "shout", volume = 3 }]']
    assert len(warned) == 1
    assert "stale_terminal of the package loud-package is not used" in warned[0]


def test_an_agent_of_another_package_is_read(installed, tmp_path):
    """Its files are recognised before plain lists are tried."""
    (tmp_path / "session.json").write_text('{\n "loud": true, "messages": []}')
    done = run(installed, "-m", "redline", "inspect", tmp_path / "session.json", "--json")
    assert json.loads(done.stdout)["format"] == "loud", done.stderr


def test_a_command_of_another_package_is_listed_and_run(installed):
    """It has a heading of its own, which imports nothing; a broken one is a line that names its package, and breaks nothing."""
    listed = run(installed, "-X", "importtime", "-m", "redline", "--help")
    assert "From other packages:\n" in listed.stdout
    assert "hello" in listed.stdout
    assert "loud" not in {line.rpartition("|")[2].strip() for line in listed.stderr.splitlines()}
    assert run(installed, "-m", "redline", "hello").stdout == "hello, loudly\n"
    broken = run(installed, "-m", "redline", "broken")
    assert (broken.returncode, broken.stdout) == (2, "")
    assert broken.stderr.startswith("redline: broken of the package loud-package cannot be loaded (AttributeError: ")
    assert "Usage: redline inspect" in run(installed, "-m", "redline", "inspect", "--help").stdout


def test_nothing_is_imported_where_no_package_adds_anything():
    """`importlib.metadata` takes longer than the rest of `redline --help`."""
    plugins = importlib.import_module("redline.plugins")
    assert plugins.plugin_points("redline.nothing") == ()
