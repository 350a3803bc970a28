"""Other projects install a package `redline`, too: doctor, the command and the import say whose files are in the way."""

import base64
import csv
import hashlib
import io
import json
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "redline"
OTHERS = {
    "redline-ai": {"redline/__init__.py": "VERSION = 1\n", "redline/agent.py": "class Agent: ...\n"},
    "redlineai-sdk": {"redline/errors.py": "class SdkError(Exception): ...\n"},
    "redline": {"redline/readme.txt": "An empty project of 2011.\n"},
}
"""What each of them puts into the package: one takes the place of `__init__.py`, one of another file, one of nothing."""


def wheel(folder, name, version, files):
    """A wheel as pip takes it."""
    info, stem = f"{name.replace('-', '_')}-{version}.dist-info", name.replace("-", "_")
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = io.StringIO()
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
        csv.writer(rows).writerow((path, f"sha256={digest}", len(content)))
    path = folder / f"{stem}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for place, content in {**files, f"{info}/RECORD": f"{rows.getvalue()}{info}/RECORD,,\n".encode()}.items():
            archive.writestr(place, content)
    return path


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    """An environment with Redline in it, from a wheel, which finds what it needs in the one of the tests."""
    folder = tmp_path_factory.mktemp("clean")
    venv.create(folder / "env", with_pip=False)
    paths = [path for path in sys.path if path.endswith("site-packages")]
    packages = next((folder / "env").rglob("site-packages"))
    needs = packages / "needs"
    needs.mkdir()  # what Redline needs, without the Redline that is installed beside it
    for name in ("msgspec", "click", "rich", "markdown_it", "mdurl", "pygments"):
        found = next(Path(path, name) for path in paths if Path(path, name).exists())
        (needs / name).symlink_to(found)
    (packages / "needs.pth").write_text("needs\n")
    files = {
        f"redline/{path.relative_to(SOURCE).as_posix()}": path.read_bytes() for path in SOURCE.rglob("*") if path.is_file()
    }
    ours = {place: content for place, content in files.items() if "__pycache__" not in place}
    install(folder / "env", wheel(folder, "redline-context", "0.2.0", ours))
    return folder


def install(environment, *wheels):
    """By pip, which writes over what is there."""
    target = next(environment.rglob("site-packages"))
    quiet = ("--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-compile")
    command = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", *quiet, *wheels]
    subprocess.run(command, check=True)
    assert target.is_dir()


def python(environment, *words):
    env = {"PATH": "/bin:/usr/bin", "HOME": str(environment), "REDLINE_CACHE": "off", "REDLINE_CONFIG": "off"}
    return subprocess.run(
        [environment / "bin" / "python", *words], capture_output=True, text=True, env=env, cwd=environment, check=False
    )


@pytest.fixture
def environment(clean, tmp_path):
    shutil.copytree(clean / "env", tmp_path / "env", symlinks=True)
    return tmp_path / "env"


def test_without_others_nothing_is_said(environment):
    """Redline alone is found whole."""
    done = python(environment, "-m", "redline", "doctor", "--json")
    assert (done.returncode, json.loads(done.stdout)["problems"]) == (0, [])


def test_files_beside_ours_are_told_by_the_doctor(environment, tmp_path):
    """Nothing is broken yet: the doctor says which project it is, and its exit code that there is something to do."""
    install(environment, wheel(tmp_path, "redline", "0.0.1", encoded("redline")))
    done = python(environment, "-m", "redline", "doctor", "--json")
    (problem,) = json.loads(done.stdout)["problems"]
    assert done.returncode == 1
    assert problem.startswith("redline 0.0.1 installs a package `redline` too: 1 file. ")
    assert "pip uninstall redline, then pip install --force-reinstall --no-deps redline-context" in problem
    assert "pipx install redline-context" in problem
    assert problem in python(environment, "-m", "redline", "doctor").stderr


def test_our_beginning_is_gone(environment, tmp_path):
    """The command, and what is imported from inside, say whose `__init__.py` Python found."""
    install(environment, wheel(tmp_path, "redline-ai", "0.3.1", encoded("redline-ai")))
    done = python(environment, "-m", "redline", "doctor")
    assert done.returncode == 1
    assert done.stderr.startswith("redline: redline-ai 0.3.1 installs a package `redline` too: 2 files, 1 of them in the place")
    assert "(redline/__init__.py)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_of_ours_is_gone(environment, tmp_path):
    """What needs it says whose it is now, in Python and on the command line."""
    install(environment, wheel(tmp_path, "redlineai-sdk", "1.2", encoded("redlineai-sdk")))
    done = python(environment, "-c", "import redline; redline.Conversation")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        "ImportError: redlineai-sdk 1.2 installs a package `redline` too: 1 file, 1 of"
    )
    done = python(environment, "-m", "redline", "--version")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("redline: redlineai-sdk 1.2 installs")


def test_the_advice_helps(environment, clean, tmp_path):
    """Who does what the message says has a Redline that is whole."""
    install(environment, wheel(tmp_path, "redline-ai", "0.3.1", encoded("redline-ai")))
    pip = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python"]
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "redline-ai"], check=True)
    (ours,) = clean.glob("*.whl")
    subprocess.run([*pip, "install", "--quiet", "--force-reinstall", "--no-deps", "--no-index", ours], check=True)
    done = python(environment, "-m", "redline", "doctor", "--json")
    assert (done.returncode, json.loads(done.stdout)["problems"]) == (0, [])


def encoded(name):
    return {place: content.encode() for place, content in OTHERS[name].items()}
