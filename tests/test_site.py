"""The documents as a site: every page in its tree, every link and anchor good, nothing fetched from elsewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
LOOKED_UP = {"command-line.md", "loops.md", "reference.md", "results.md", "rules.md", "replay-and-results.md"}
"""Pages of tables, or of a loop for each SDK: nobody reads them from top to bottom."""
LONGEST_PAGE = 250


class _Settings(yaml.SafeLoader):
    """Also of a file that names a Python function."""


_Settings.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def nav():
    """The pages of the tree, in order."""

    def pages(entry):
        match entry:
            case str():
                yield entry
            case dict() | list():
                for one in entry.values() if isinstance(entry, dict) else entry:
                    yield from pages(one)

    return [*pages(yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=_Settings)["nav"])]


def test_every_page_has_its_place():
    """Once, as a tutorial, a guide, an explanation or reference."""
    there = {path.relative_to(DOCS).as_posix() for path in [*DOCS.glob("*.md"), *(DOCS / "adapters").glob("*.md")]}
    assert sorted(nav()) == sorted(there), "add the page to nav in mkdocs.yml"


@pytest.mark.parametrize("page", sorted({*DOCS.glob("*.md")}), ids=lambda page: page.name)
def test_a_page_can_be_read_through(page):
    """What one reads from top to bottom has at most 250 lines."""
    lines = page.read_text(encoding="utf-8").count("\n")
    assert lines <= LONGEST_PAGE or page.name in LOOKED_UP


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("material", reason="make .venv/.dev installs it")
    folder = tmp_path_factory.mktemp("site")
    env = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return folder


def test_the_site_is_whole(site):
    """Built without a network and without a warning: each page, and an index of words that finds what they say."""
    assert [page for page in nav() if not (site / page).with_suffix(".html").exists()] == []
    index = (site / "search" / "search_index.json").read_text(encoding="utf-8")
    assert '"location":"operations.html#' in index
    assert not (site / "site").exists()


LOADED = re.compile(r"<(?:script|img|iframe)[^>]* src=\"([^\"]*)\"|<link[^>]* href=\"([^\"]*)\"")


def test_no_page_loads_anything_from_elsewhere(site):
    """No fonts, scripts, styles or pictures of other hosts, in pages or in styles."""
    for page in site.rglob("*.html"):
        found = ["".join(one) for one in LOADED.findall(page.read_text(encoding="utf-8"))]
        assert found
        assert [one for one in found if re.match(r"(https?:)?//", one)] == [], page.name
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    assert re.findall(r"url\(['\"]?(?:https?:)?//", styles) == []


def test_links_keep_their_anchors(site):
    """Headings have the names on the site that they have in the repository, where the tests follow the links."""
    page = (site / "rules.html").read_text(encoding="utf-8")
    assert 'id="what-will-hardly-be-used-again-three-presets"' in page
    assert 'href="schedules.html#when-free"' in page
    assert "failure_signs.toml</code>" in page or "failure_signs.toml" in page
    assert "../src/redline/tools/failure_signs.toml" not in page
