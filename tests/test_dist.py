"""Wheel and sdist: all that belongs in them is there, and each works alone where nothing else of the project is."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
QUICK = ("tests/values", "tests/view", "tests/rules/test_faded.py", "tests/cli/test_demo.py", "tests/test_house.py")
"""Tests of the sdist that take less than a minute together; its Makefile runs all of them."""

installed = pytest.mark.skipif(
    "REDLINE_DIST" not in os.environ, reason="make test-dist installs wheel and sdist, by the package index"
)


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    """What `make dist` builds: the sdist from the checkout, the wheel from the sdist."""
    pytest.importorskip("build", reason="make .venv/.dev installs it")
    if there := os.environ.get("REDLINE_DIST"):
        return Path(there).resolve()
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def tracked():
    """The files of the repository; an sdist has none to ask."""
    found = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)
    if found.returncode or "pyproject.toml" not in found.stdout.split():
        pytest.skip("this is no checkout")
    return {path for path in found.stdout.splitlines() if (ROOT / path).exists()}


def test_the_sdist_is_the_project(dist):
    """Every file of the repository, so that whoever has the sdist can go on with the project; nothing of this machine."""
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert tracked() - names == set()
    assert [name for name in names if name.startswith((".venv", "dist/", ".git/")) or "__pycache__" in name] == []


def test_the_wheel_is_the_package(dist):
    """Every file of `src`, data and pages too, metadata that names it, and nothing else."""
    (path,) = dist.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"\nName: {project['name']}\nVersion: {project['version']}\n" in metadata
    assert {name.removeprefix("src/") for name in tracked() if name.startswith("src/")} - names == set()
    assert [name for name in names if not name.startswith("redline/") and ".dist-info/" not in name] == []


@installed
def test_the_wheel_works_alone(dist, tmp_path):
    """In an empty environment, with what pip brings along: the demo, the commands, the inspector's pages."""
    (wheel,) = dist.glob("*.whl")
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    quiet = ("--quiet", "--disable-pip-version-check", "--retries", "8")
    subprocess.run([python, "-m", "pip", "install", *quiet, f"{wheel}[inspector,proxy]"], check=True)
    env = {"PATH": "/bin:/usr/bin", "HOME": str(tmp_path)}

    def run(*words):
        command = [tmp_path / "env" / "bin" / "redline", *words]
        return subprocess.run(command, capture_output=True, text=True, env=env, cwd=tmp_path, check=True).stdout

    assert "struck" in run("demo")
    assert run("--version") == f"redline {tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']['version']}\n"
    assert "run" in run("--help")
    assert '"problems": []' in run("doctor", "--json")
    code = "import redline, redline.inspector.app, redline.proxy.serve; print(redline.__file__)"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, env=env, cwd=tmp_path, check=True)
    assert str(tmp_path / "env") in done.stdout


@installed
def test_the_sdist_passes_its_own_tests(dist, tmp_path):
    """Unpacked where nothing else of the project is, with its own sources: style and the quick tests."""
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        archive.extractall(tmp_path, filter="data")
    (folder,) = (one for one in tmp_path.iterdir() if one.is_dir())
    env = {**os.environ, "PYTHONPATH": str(folder / "src"), "HYPOTHESIS_PROFILE": "gate"}
    env.pop("REDLINE_DIST")
    where = subprocess.run(
        [sys.executable, "-c", "import redline; print(redline.__file__)"], capture_output=True, text=True, env=env, check=True
    )
    assert where.stdout.startswith(str(folder))
    subprocess.run([sys.executable, "-m", "ruff", "check", "src", "tests"], cwd=folder, check=True)
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", *QUICK]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
