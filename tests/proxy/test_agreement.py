"""A session that went through the proxy cost and saved the same wherever it is asked: to the cent, in all four APIs."""

import json
import re
import sys
from pathlib import Path

import pytest

from redline.proxy.accounts import Accounts
from redline.record.reading import read_log_file
from redline.record.records import SavedTokens
from redline.sessions.replay.history import history_of_log
from redline.store.proxy_files import accounts_path
from redline.testing import fake_provider
from tests.cli.run import redline
from tests.inspector.support import inspector
from tests.test_agreement import write_generated

AGENT = """
import json, os, sys, urllib.request as u
from redline.formats import find_format
from redline.testing import asks, conversation, says
format, path, model, turns = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
names = {"anthropic": "ANTHROPIC_BASE_URL", "gemini": "GOOGLE_GEMINI_BASE_URL"}
base = os.environ[names.get(format, "OPENAI_BASE_URL")]
said = [says("user", "Make all parts, please")]
for number in range(turns):
    lines = "".join(f"part_{number}_{line}.c compiled\\n" for line in range(300 if number < 8 else 4))
    name = "src/parts.py" if number % 3 else f"src/part_{number}.py"
    said += asks("Read", {"file_path": name}, lines, id=f"c{number}")
    if number % 5 == 2:
        said += asks("Bash", {"command": "make"}, "compiling all the parts of it\\n" * 60, id=f"b{number}")
    messages = conversation(format, said)
    if format == "anthropic":
        *before, last = messages[-1]["content"]
        messages[-1] = {**messages[-1], "content": [*before, {**last, "cache_control": {"type": "ephemeral"}}]}
    body = {find_format(format).messages_field: messages}
    if format != "gemini":
        body |= {"model": model} | ({"max_tokens": 50} if format == "anthropic" else {})
    headers = dict.fromkeys(("x-api-key", "x-goog-api-key"), "made-up") | {"authorization": "Bearer made-up"}
    headers |= {"content-type": "application/json", "x-session-id": "one"}
    u.urlopen(u.Request(base + path, json.dumps(body).encode(), headers), timeout=30).read()
"""

APIS = {
    "anthropic": ("/v1/messages", "claude-sonnet-4-5", "anthropic"),
    "openai_chat": ("/chat/completions", "gpt-5.1", "openai"),
    "openai_responses": ("/responses", "gpt-5.1", "openai"),
    "gemini": ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", "gemini"),
}


_TOKENS = (("would_strike_tokens", "struck_tokens"), ("would_fold_tokens", "folded_tokens"))


def run_agent(tmp_path, format, policy, *options, turns=26):
    """A run of a small agent through `redline run`; what was printed at the end."""
    path, model, provider_name = APIS[format]
    script = tmp_path / "agent.py"
    script.write_text(AGENT)
    with fake_provider() as provider:
        done = redline(
            "run",
            *("--store", tmp_path / "store", "--upstream", f"{provider_name}={provider.url}", "--policy", policy, *options),
            *("--", sys.executable, script, format, path, model, turns),
            HOME=str(tmp_path),
            TMPDIR=str(tmp_path),
        )
    assert done.returncode == 0, done.stderr
    assert set(provider.statuses) == {200}, provider.exchanges[-1].answer
    assert len(provider.exchanges) == turns
    return done.stderr


def told(*arguments, home):
    done = redline(*arguments, HOME=str(home))
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("format", "policy", "is_dry_run"),
    [(format, ("documents", "bold")[number // 2], bool(number % 2)) for number, format in enumerate(APIS)],
)
def test_every_surface_says_the_same_of_a_run(tmp_path, format, policy, is_dry_run):
    """The closing lines, the accounts, `sessions`, `replay`, `explain`, `inspect` and the inspector (R111, R115)."""
    closing = run_agent(tmp_path, format, policy, *(["--dry-run"] if is_dry_run else []))
    accounts = Accounts(accounts_path(str(tmp_path / "store")))
    accounts.refresh()
    totals = accounts.totals.report()
    saved = totals["would_save_usd" if is_dry_run else "saved_usd"]
    struck, folded = (totals[would if is_dry_run else did] for would, did in _TOKENS)
    assert struck > 0
    assert (folded > 0) == (policy == "bold")
    assert f"{f'{folded:,} tokens folded' if folded else ''}" in closing or is_dry_run
    assert totals["saved_usd" if is_dry_run else "would_save_usd"] == 0
    paid, verb, amount = re.search(
        r"paid \$([\d.]+) at list prices\n(?:redline: )?(would have )?(?:saved|cost more, by) \$([\d.]+)", closing
    ).groups()
    assert (float(paid), float(amount)) == (pytest.approx(totals["cost_usd"], abs=6e-5), pytest.approx(abs(saved), abs=6e-5))
    assert bool(verb) == is_dry_run

    (row,) = [row for row in told("sessions", "--json", tmp_path / "store", home=tmp_path) if row["requests"]]
    assert (row["cost_usd"], row["saved_usd"]) == (pytest.approx(totals["cost_usd"], abs=2e-6), pytest.approx(saved, abs=2e-6))
    assert row["is_observed"] == is_dry_run
    log = row["path"]
    bills = [
        SavedTokens() if one.usage is None else one.bill.saved for one in history_of_log(read_log_file(Path(log))).requests
    ]
    assert (sum(one.struck for one in bills), sum(one.folded for one in bills)) == (struck, folded)
    (replayed,) = told("replay", log, "--json", home=tmp_path)
    bill = replayed["advice"]["paid"]
    assert bill["usd"] == pytest.approx(totals["cost_usd"], abs=2e-6)
    assert bill["would_save_usd" if is_dry_run else "saved_usd"] == pytest.approx(saved, abs=2e-6)
    assert bill["saved_usd" if is_dry_run else "would_save_usd"] == 0
    (explained,) = told("explain", log, "--json", home=tmp_path)
    assert (explained["paid_usd"], explained["saved_usd"]) == (
        pytest.approx(totals["cost_usd"], abs=2e-6),
        pytest.approx(saved, abs=2e-6),
    )
    assert explained["is_would"] == is_dry_run
    assert sum(one["saved_usd"] for one in explained["rules"]) == pytest.approx(saved, abs=2e-6)
    (inspected,) = told("inspect", log, "--json", home=tmp_path)
    assert inspected["cost_usd"] == pytest.approx(totals["cost_usd"], abs=2e-6)
    with inspector(log, home=tmp_path) as running:
        address = running.session()
        for _ in range(100):
            header = running.get(address)
            if not header["is_pending"]:
                break
    assert (header["cost_usd"], header["saved_usd"]) == (
        pytest.approx(totals["cost_usd"], abs=2e-6),
        pytest.approx(saved, abs=2e-6),
    )
    assert header["is_would"] == is_dry_run


def test_sizes_of_a_struck_session_are_those_that_were_sent(tmp_path):
    """What `show` says a request sends is what the provider was sent, though it was struck (R111)."""
    run_agent(tmp_path, "anthropic", "bold")
    (row,) = [row for row in told("sessions", "--json", tmp_path / "store", home=tmp_path) if row["requests"]]
    shown = redline("export", row["path"], "--to", "json", HOME=str(tmp_path))
    value = json.loads(shown.stdout)
    assert any(request["struck_tokens"] for request in value["requests"])
    made = [request for request in value["requests"] if request["usage"]]  # the others were answered elsewhere
    assert len(made) == 26
    for request in made:
        assert request["sent_tokens"] == pytest.approx(request["usage"]["input"], rel=0.1, abs=100)


def test_the_agents_own_file_is_not_counted_again(tmp_path):
    """A session file of an agent that ran behind Redline is known by the proxy's store, or by usage too small for what the
    file holds; nothing is advised for it, and nothing is said to be saved once more (R112)."""
    session = tmp_path / "one.jsonl"
    write_generated(session, 2)
    (plain,) = told("replay", session, "--json", home=tmp_path)
    assert plain["advice"]["sessions_thinned"] == 0
    (tmp_path / ".redline").mkdir()
    line = {"at": 1.0, "status": 200, "session": "s", "struck_tokens": 4_000, "folded_tokens": 1_000}
    (tmp_path / ".redline" / "proxy.accounts").write_text(json.dumps(line) + "\n")
    (known,) = told("replay", session, "--json", home=tmp_path)
    assert (known["advice"]["sessions_thinned"], known["advice"]["policy"]) == (1, None)
    text = " ".join(redline("replay", session, HOME=str(tmp_path)).stdout.split())
    assert "It ran behind Redline" in text
    assert "it is not counted here again" in text
