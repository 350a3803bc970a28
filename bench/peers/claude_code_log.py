"""claude-code-log: reading a session file of Claude Code."""

from pathlib import Path

from claude_code_log.converter import load_transcript

from bench.peers.peer import Peer

__all__ = ["PEER"]


def load(path: Path) -> object:
    """`load_transcript` without its cache."""
    return load_transcript(path, silent=True)


PEER = Peer(packages=("claude-code-log",), readers={"claude-code-log load_transcript": load})
