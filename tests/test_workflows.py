"""The workflows do what the Makefile does, with no more rights than that takes."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
TARGETS = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_is_the_makefile(path):
    """Every step is a target that anybody can run, or an action at a fixed commit; jobs end, and may only read."""
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    assert all(job["timeout-minutes"] <= 60 for job in workflow["jobs"].values())
    for step in steps(workflow):
        if "run" in step:
            assert re.fullmatch(r"make ([\w-]+)", step["run"])[1] in TARGETS
        else:
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"])
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_every_python_and_system_is_tried():
    """Those that the metadata promise."""
    matrix = read(ROOT / ".github" / "workflows" / "gate.yml")["jobs"]["gate"]["strategy"]["matrix"]
    assert matrix["python"] == PYTHONS
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert promised == PYTHONS


def test_only_a_tag_publishes():
    """By the trust of the package index in this workflow: no token, and no rights for what builds."""
    workflow = read(ROOT / ".github" / "workflows" / "release.yml")
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML 1.1 takes the word on for true
    assert "permissions" not in workflow["jobs"]["build"]
    assert workflow["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("tag", "code"), [("v0.2.0", 0), ("v0.2.1", 2), ("v0x2.0", 2), ("", 2)])
def test_a_tag_is_the_version(tag, code):
    """Else the build ends before anything is published."""
    done = subprocess.run(["make", "check-tag", f"GITHUB_REF_NAME={tag}"], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == code


def test_nothing_in_them_is_unsafe():
    """What zizmor knows of: rights, templates in scripts, actions that can change."""
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("make .venv/.dev installs it")
    done = subprocess.run(
        [zizmor, "--offline", "--no-progress", ".github"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_is_one(path):
    """With a name, a description, and fields whose ids are each their own."""
    form = read(path)
    assert {"name", "description", "body"} <= form.keys()
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert all(field["attributes"]["label"] and field["type"] in ("textarea", "input", "dropdown") for field in fields)
    assert len({field["id"] for field in fields}) == len(fields)


def test_the_citation_is_of_this_version():
    """And of this project."""
    cited = read(ROOT / "CITATION.cff")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{cited["version"]}"' in project
    assert f'license = "{cited["license"]}"' in project
