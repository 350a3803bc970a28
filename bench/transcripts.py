"""How fast a session file is indexed, beside a bare decode of its envelopes, and what it holds in memory.

python -m bench.transcripts [MEGABYTES]
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

import redline
from bench.generate import write_claude_code_session

__all__ = ["bare_decode", "full_decode", "index", "index_then_touch", "resident_bytes"]

_ROUNDS = 3


class _Envelope(msgspec.Struct, rename="camel"):
    """The least a reader must know of a line."""

    uuid: str | None = None
    parent_uuid: str | None = None
    type: str | None = None
    timestamp: str | None = None
    message: msgspec.Raw = msgspec.Raw()


def bare_decode(path: Path) -> int:
    """Every line through the JSON parser, nothing kept but the envelopes."""
    decode = msgspec.json.Decoder(_Envelope).decode
    with path.open("rb") as file:
        return sum(1 for line in file if decode(line) is not None)


def full_decode(path: Path) -> int:
    """Every line decoded whole."""
    decode = msgspec.json.Decoder().decode
    with path.open("rb") as file:
        return sum(1 for line in file if decode(line) is not None)


def index(path: Path) -> redline.Transcript:
    """What `read_transcript` does before content is asked for."""
    transcript = redline.read_transcript(path)
    assert sum(len(conversation.entries) for conversation in transcript)
    return transcript


def index_then_touch(path: Path) -> redline.Transcript:
    """What `read_transcript` does, and then each message decoded once, none kept."""
    transcript = redline.read_transcript(path)
    assert sum(len(entry.message.parts) for conversation in transcript for entry in conversation.entries)
    return transcript


def main() -> None:
    """Print a table of speed and memory."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        lines = write_claude_code_session(path, megabytes * 1_000_000)
        size = path.stat().st_size
        print(f"\nReading a Claude Code file of {size / 1e6:.0f} MB, {lines:,} lines (best of {_ROUNDS})\n")
        speeds = {job.__name__: _best_seconds(job, path) for job in (bare_decode, full_decode, index, index_then_touch)}
        print(f"{'':20} {'MB/s':>8} {'beside bare':>12} {'memory / file size':>20}")
        for name, seconds in speeds.items():
            ratio = seconds / speeds["bare_decode"]
            print(f"{name:20} {size / seconds / 1e6:8.0f} {ratio:11.2f}x {_memory_share(name, path, size):20.3f}")


def _best_seconds(job: Callable[[Path], object], path: Path) -> float:
    return min(_seconds(job, path) for _ in range(_ROUNDS))


def _seconds(job: Callable[[Path], object], path: Path) -> float:
    start = time.perf_counter()
    job(path)
    return time.perf_counter() - start


def _memory_share(name: str, path: Path, size: int) -> float:
    """What a fresh process holds after the job, beyond what it held before, as a share of the file's size."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.transcripts", "--measure", name, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout) / size


def _measure(name: str, path: str) -> None:
    jobs: dict[str, Callable[[Path], object]] = {
        job.__name__: job for job in (bare_decode, full_decode, index, index_then_touch)
    }
    redline.read_transcript  # noqa: B018 - what the package loads is no part of the job
    before = resident_bytes()
    kept = jobs[name](Path(path))
    print(max(0, resident_bytes() - before))
    del kept


def resident_bytes() -> int:
    """What the process holds now; the peak would include what its parent held when it was started."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        _measure(*sys.argv[2:4])
    else:
        main()
