"""`redline cache`, over the records of a real proxy and a provider with a prompt cache, and over session files of agents."""

import contextlib
import json
import urllib.request

import pytest

from redline import Editor, Policy
from redline.testing import ProviderCache, fake_provider
from redline.transport.editing import WireEditor
from tests.cache_breaks.changes import CHANGES, PATHS, first_request
from tests.cli.run import redline
from tests.cli.sample import write_session
from tests.proxy.support import proxy

SECRET = "sk-ant-api03-" + "a1B2c3D4" * 10


def post(url, asked):
    request = urllib.request.Request(url + asked.path, asked.raw, {**asked.headers, "content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        answer.read()


@contextlib.contextmanager
def proxied(tmp_path, **settings):
    """A proxy with a store, before a provider with a prompt cache."""
    with (
        fake_provider(cache=ProviderCache()) as provider,
        proxy(provider.url, tmp_path, open_editor=opener(tmp_path / "store"), **settings) as running,
    ):
        yield running, f"http://127.0.0.1:{running.port}"


def opener(store):
    return lambda: WireEditor(Editor(store, policy=Policy(rules=())))


def ask_with_a_new_date(url, format, first="11-19", then="11-20"):
    """Two requests, the second with another date in its system prompt."""
    asked = first_request(format)
    asked.system = [text.replace("11-19", first) for text in asked.system]
    post(url, asked)
    asked = asked.with_more()
    asked.system = [text.replace(first, then) for text in asked.system]
    post(url, asked)


@pytest.mark.parametrize("format", PATHS)
def test_a_date_is_found_through_the_proxy(format, tmp_path):
    """Place, both texts, the cost and what to set: in the record, the status, the metrics and by the command."""
    with proxied(tmp_path) as (running, url):
        ask_with_a_new_date(url, format)
        status = running.settled(2)
        metrics = running.ask("GET", "/redline/metrics", None).body.decode()
    assert status["totals"]["cache_breaks"] == {"system": 1}
    assert status["totals"]["lost_usd"] > 0
    (row,) = status["cache_breaks"][""]
    assert (row["place"], row["what"], row["before"], row["after"]) == ("system block 2, line 14", "the date", "", "")
    assert 'redline_cache_breaks_total{cause="system"} 1' in metrics
    done = redline("cache", tmp_path / "store", "--json")
    assert done.returncode == 0, done.stderr
    (told,) = map(json.loads, done.stdout.splitlines())
    assert (told["before"], told["after"]) == ("Today's date: 2026-11-19", "Today's date: 2026-11-20")
    assert (told["count"], told["by"], told["lost_usd"]) == (1, "client", row["lost_usd"])
    text = redline("cache", tmp_path / "store", width=80).stdout
    assert "1 ×  system block 2, line 14 changed: the date (the client): " in " ".join(text.split("\n"))
    assert "--exclude-dynamic-system-prompt-sections" in text
    assert max(map(len, text.splitlines())) <= 80


def test_it_is_found_after_a_restart(tmp_path):
    """Digests of the last request are in the accounts: the place is named, though the old words are not known any more."""
    asked = first_request("anthropic")
    with fake_provider(cache=ProviderCache()) as provider:
        for number in range(2):
            with proxy(provider.url, tmp_path, open_editor=opener(tmp_path / "store")) as running:
                post(f"http://127.0.0.1:{running.port}", asked)
                running.settled(number + 1)
            asked = asked.with_more()
            CHANGES["the date in the system prompt"].make(asked)
    (told,) = map(json.loads, redline("cache", tmp_path / "store", "--json").stdout.splitlines())
    assert (told["kind"], told["place"], told["before"]) == ("system", "system block 2", "")


def test_secrets_are_not_kept(tmp_path):
    """Where the changed words hold a key, a word stands for it, in every file of the store."""
    with proxied(tmp_path, redacts=True) as (running, url):
        ask_with_a_new_date(url, "anthropic", f"key={SECRET}", f"key={SECRET[:-4]}wxyz")
        running.settled(2)
    (told,) = map(json.loads, redline("cache", tmp_path / "store", "--json").stdout.splitlines())
    assert told["before"]
    assert SECRET[:-8] not in json.dumps(told)
    assert SECRET[:-8] not in (tmp_path / "store" / "proxy.accounts").read_text()


def test_what_is_deleted_is_forgotten(tmp_path):
    """`redline rm` takes digests and places out of the accounts, too."""
    with proxied(tmp_path) as (running, url):
        ask_with_a_new_date(url, "anthropic")
        running.settled(2)
    path = next((tmp_path / "store").glob("*.jsonl"))
    assert redline("rm", f"{tmp_path / 'store'}#{path.stem}", "--yes").returncode == 0
    left = (tmp_path / "store" / "proxy.accounts").read_text()
    assert "system block" not in left
    assert "Bash" not in left


def test_of_an_agents_file_only_what_usage_tells(tmp_path):
    """No place in a system prompt that is not in the file."""
    done = redline("cache", write_session(tmp_path / "session.jsonl"))
    assert done.returncode == 0
    assert "system block" not in done.stdout
    assert done.stdout


def test_without_a_store_it_says_how_to_begin_one(tmp_path):
    """And exits with 2."""
    done = redline("cache", HOME=tmp_path)
    assert done.returncode == 2
    assert "redline run" in done.stderr
