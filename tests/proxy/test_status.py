"""`/redline/…`: what a running proxy says of itself."""

import re

from tests.proxy.support import proxy, upstream


def test_metrics_are_what_prometheus_reads(tmp_path):
    """Every sample line has a name, perhaps labels, and a number; each metric says its kind first."""
    with upstream() as up, proxy(up.url, tmp_path) as running:
        running.ask()
        running.ask(headers=[("x-session-id", "s")])
        running.settled(2)
        got = running.ask("GET", "/redline/metrics", None)
    text = got.body.decode()
    assert got.header("content-type")[0].startswith("text/plain; version=0.0.4")
    assert "redline_requests_total 2\n" in text
    assert 'redline_dear_requests_total{why="first"} 1\n' in text
    kinds = set(re.findall(r"^# TYPE (\S+) (?:counter|gauge)$", text, re.MULTILINE))
    for line in text.splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r'(\w+)(?:\{\w+="[^"]*"\})? -?[\d.e+-]+', line)
            assert match, line
            assert match[1] in kinds


def test_the_status_says_how_it_runs(tmp_path):
    """Mode, store, upstreams and open requests, and no unknown route falls through to a provider."""
    with upstream() as up, proxy(up.url, tmp_path, is_dry_run=True) as running:
        status = running.status()
        assert running.ask("GET", "/redline/nonsense", None).status == 404
        assert running.ask("GET", "/redline/health", None).status == 200
    assert (status["mode"], status["store_problem"], status["open_requests"]) == ("dry-run", "", 0)
    assert status["upstreams"]["anthropic"] == up.url
    assert up.seen == []
