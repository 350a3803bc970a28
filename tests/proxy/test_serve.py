"""A proxy as it is started: what it needs for a first request is loaded before the request comes."""

import subprocess
import sys

PROGRAM = """
import json, sys
from redline.proxy.serve import _open_editor
from redline.proxy.settings import ProxySettings
from redline.rules.worth import shipped_model
from redline.testing import asks, conversation, says
from redline.transport.editing import Call
from tests.measure_bytes import PATHS

turns = [says("user", "go"), *asks("Read", {"file_path": "/a"}, "one line " * 400, id="c")]
bodies = {path: json.dumps({field: conversation(format, turns)}).encode() for format, (path, field) in PATHS.items()}
editor = _open_editor(ProxySettings(sys.argv[1]))
misses = shipped_model.cache_info().misses
for path, body in bodies.items():
    assert not editor.edit(Call("POST", path, {}, body)).failure
print(shipped_model.cache_info().misses - misses)
"""


def test_the_first_request_loads_no_weights(tmp_path):
    """A resumed session needs its strikes and its repair at once: loading the weights takes longer than a request may."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path / "store")], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("0\n", "")
