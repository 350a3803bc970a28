"""Every call of the system that a small conversation makes fails once: on a full disk, by short writes, fsync, open and read.

`REDLINE_FAULTS=1` (`make test-faults`) tries every number of the failing call; else it is every few.
"""

import os

import pytest

from tests.faults.faulty import needs_compiler, run_faulty
from tests.faults.sweep import FACES, FAULTS
from tests.record.logs import needs_small_file_system, run_with_room

STEP = 1 if os.environ.get("REDLINE_FAULTS") else 9


@needs_compiler
@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_call_that_fails(tmp_path, kind, face):
    """Nothing acknowledged is lost, nothing half-written is read, the error says where and what to do, and it is done again."""
    counts = run_faulty(tmp_path, "tests.faults.sweep", str(tmp_path), kind, face, str(STEP)).split()
    assert len(counts) == len(FAULTS)
    assert sum(map(int, counts)) > 4, "hardly a call has failed"


@needs_small_file_system
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_file_system_that_is_full(tmp_path, kind):
    """A conversation and an Editor say so, keep what they have, and go on when there is room."""
    script = f"""
import sys
from pathlib import Path
from tests.faults.sweep import fill_file_system
fill_file_system(Path(sys.argv[1]), {kind!r})
"""
    run_with_room(tmp_path, 512 << 10, script)
