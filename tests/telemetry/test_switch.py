"""Telemetry without OpenTelemetry: a line that says which extra is missing."""

import os
import sys

import pytest

from redline import MissingExtraError
from redline.telemetry import instrument
from tests.cli.run import SOURCE, redline


@pytest.fixture
def without_opentelemetry(tmp_path):
    """A package of its name that cannot be imported, found before the real one."""
    (tmp_path / "opentelemetry").mkdir()
    (tmp_path / "opentelemetry" / "__init__.py").write_text("raise ImportError('not here')")
    return os.pathsep.join([str(tmp_path), str(SOURCE)])


def test_the_library_names_its_extra(monkeypatch):
    """`instrument()` says what to install; nothing is switched on."""
    monkeypatch.setitem(sys.modules, "redline.telemetry.instruments", None)
    with pytest.raises(MissingExtraError, match=r"redline-context\[otel\]"):
        instrument()


@pytest.mark.parametrize("command", [("proxy", "--port", "0"), ("proxy", "--port", "0", "--dry-run")])
def test_the_command_names_its_extra_before_it_starts(command, without_opentelemetry, tmp_path):
    """It does not wait for the first request."""
    done = redline(*command, "--otel", "--store", tmp_path / "store", PYTHONPATH=without_opentelemetry)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pip install 'redline-context[otlp]'" in done.stderr
