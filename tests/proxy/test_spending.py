"""Limits on dollars: a line, then a refusal in the provider's own shape; over restarts and workers, never inside an answer."""

import json
import time

import pytest

from redline.errors import ValidationError
from redline.prices.own import parse_own_price
from redline.proxy.accounts import Accounts
from redline.proxy.spending import SpendLimits
from tests.proxy.support import ANSWER, PlainEditor, proxy, upstream

PATHS = {
    "anthropic": (
        "/v1/messages",
        {"model": "claude-opus-4-6", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    ),
    "openai_chat": ("/v1/chat/completions", {"model": "gpt-5.5", "messages": [{"role": "user", "content": "Hi"}]}),
    "openai_responses": ("/v1/responses", {"model": "gpt-5.5", "input": [{"role": "user", "content": "Hi"}]}),
    "gemini": ("/v1beta/models/gemini-3-pro:generateContent", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
}
DEAR = {"input_tokens": 100_000, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 20_000}
"""By Claude Opus 4.6: $0.50 for what is sent, $0.50 for the answer."""
USAGES = {
    "anthropic": {**ANSWER, "usage": DEAR},
    "openai_chat": {
        "choices": [{"message": {"role": "assistant", "content": "Hello"}}],
        "usage": {"prompt_tokens": 100_000, "completion_tokens": 20_000},
    },
    "openai_responses": {"output": [], "usage": {"input_tokens": 100_000, "output_tokens": 20_000}},
    "gemini": {
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}],
        "usageMetadata": {"promptTokenCount": 100_000, "candidatesTokenCount": 20_000},
    },
}


def answering(format):
    def serve(peer):
        while (seen := peer.read_request()) is not None:
            peer.seen.append(seen)
            peer.answer(USAGES[format])

    return serve


def ask(running, format="anthropic", session="one"):
    path, body = PATHS[format]
    return running.ask("POST", path, json.dumps(body).encode(), headers=[("x-session-id", session)])


@pytest.mark.parametrize("format", PATHS)
def test_a_session_stops_at_its_limit(format, tmp_path):
    """The request that passes the limit is answered whole; the next is refused, before anything of it is sent."""
    with upstream(answering(format)) as server, proxy(server.url, tmp_path, limits=SpendLimits(max_usd=0.2)) as running:
        first = ask(running, format)
        assert (first.status, json.loads(first.body)) == (200, USAGES[format])
        refused = ask(running, format)
        assert refused.status == (402 if format == "anthropic" else 400)
        error = json.loads(refused.body)["error"]
        assert "and its limit is $0.20 (--max-usd)" in error["message"]
        assert error.get("type", error.get("status")) == {
            "anthropic": "billing_error", "gemini": "INVALID_ARGUMENT"
        }.get(format, "invalid_request_error")  # fmt: skip
        assert ask(running, format, session="two").status == 200, "another session has its own"
        assert len(server.seen) == 2
        totals = running.settled(3)["totals"]
        assert (totals["over_limit"], totals["errors"]) == (1, {})


def test_sub_agents_count_to_their_session(tmp_path):
    """What Claude Code's sub-agents ask is the session's money."""
    with upstream(answering("anthropic")) as server, proxy(server.url, tmp_path, limits=SpendLimits(max_usd=0.5)) as running:
        assert ask(running, session="one/agent-7").status == 200
        assert ask(running, session="one").status == 402


def test_a_day_has_its_own_limit(tmp_path):
    """Whichever session asks."""
    limits = SpendLimits(max_usd_day=1.5)
    with upstream(answering("anthropic")) as server, proxy(server.url, tmp_path, limits=limits) as running:
        assert [ask(running, session=name).status for name in ("one", "two", "three")] == [200, 200, 402]
        assert running.status()["spending"]["today_usd"] == pytest.approx(2.0)


def test_sums_outlive_the_proxy_and_hold_for_all_workers(tmp_path):
    """What another process has written to the accounts counts, before and while this one runs."""
    limits, path = SpendLimits(max_usd=1.5), tmp_path / "store" / "proxy.accounts"
    with upstream(answering("anthropic")) as server:
        with proxy(server.url, tmp_path, limits=limits) as running:
            assert ask(running).status == 200
            running.settled(1)
        with proxy(server.url, tmp_path, limits=limits) as running:
            line = path.read_bytes()
            assert ask(running, session="other").status == 200
            with path.open("ab") as file:
                file.write(line)
            assert ask(running).status == 402


def test_a_warning_is_a_line_and_nothing_is_refused(tmp_path, caplog):
    """Once in the log, and in the status by project; the answers stay as they are."""
    limits = SpendLimits(warn_usd=0.5, warn_usd_day=2.5)
    with upstream(answering("anthropic")) as server, proxy(server.url, tmp_path, limits=limits) as running:
        answers = [ask(running) for _ in range(3)]
        assert all(json.loads(one.body) == USAGES["anthropic"] for one in answers)
        notes = running.settled(3)["spending"]["notes"]
    assert notes[""][0] == "session one has cost $3.00: more than $0.50 (--warn-usd)"
    assert len(notes[""]) == 2
    assert sum("--warn-usd)" in record.getMessage() for record in caplog.records) == 1


def test_a_model_without_a_price_is_refused_with_the_way_out(tmp_path):
    """A limit that cannot be kept is said at the first request; the user's own price, also of nothing, lets it pass."""
    path, body = PATHS["openai_chat"]
    raw = json.dumps({**body, "model": "my-model"}).encode()
    with upstream(answering("openai_chat")) as server:
        with proxy(server.url, tmp_path, limits=SpendLimits(max_usd=1)) as running:
            refused = running.ask("POST", path, raw)
            assert refused.status == 400
            assert "--prices my-model=INPUT/OUTPUT" in json.loads(refused.body)["error"]["message"]
        with proxy(server.url, tmp_path, limits=SpendLimits(max_usd=1), prices=(parse_own_price("my-model=5/25"),)) as running:
            assert [running.ask("POST", path, raw, headers=[("x-session-id", "s")]).status for _ in range(2)] == [200, 400]
        with proxy(server.url, tmp_path, limits=SpendLimits(max_usd=1), prices=(parse_own_price("my-model=0/0"),)) as running:
            assert [running.ask("POST", path, raw, headers=[("x-session-id", "t")]).status for _ in range(2)] == [200, 200]


def test_what_was_struck_for_a_refused_request_is_withdrawn(tmp_path):
    """It was never sent."""
    editor, limits = PlainEditor(b"Hi", b"Ho"), SpendLimits(max_usd=0.2)
    with upstream(answering("anthropic")) as server, proxy(server.url, tmp_path, editor=editor, limits=limits) as running:
        ask(running)
        ask(running)
        running.settled(2)
        end = time.monotonic() + 5
        while not editor.withdrawn and time.monotonic() < end:
            time.sleep(0.01)
    assert len(editor.withdrawn) == 1


def test_limits_are_checked_at_the_door():
    """The first is not above the second; a price has two to four numbers."""
    with pytest.raises(ValidationError, match=r"--warn-usd is \$5, above --max-usd of \$2"):
        SpendLimits(warn_usd=5, max_usd=2)
    for text in ("model", "model=1", "=1/2", "model=a/b", "model=1/2/3/4/5", "model=-1/2"):
        with pytest.raises(ValidationError):
            parse_own_price(text)
    price = parse_own_price("my=3/15/0.3")
    assert (price.model, price.input, price.output, price.cache_read, price.cache_write) == ("my", 3, 15, 0.3, 3)


def test_sums_without_a_limit_cost_nothing(tmp_path):
    """Nothing is read or refused where no limit is set."""
    accounts = Accounts(tmp_path / "a.accounts")
    assert not accounts.spending.limits.is_any
