"""One peer beside Redline, in the environment of the peer: make bench-peers ONLY=langchain.

python -m bench.peers NAME FILE [--lengths 100 1000 10000] [--cases 300] [--megabytes 50]

What is found is written to the file as JSON; `python -m bench.peers.report` makes tables of all of them.
"""

import argparse
import json
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from bench.peers.peer import Peer
from bench.peers.reading import measure_reading
from bench.peers.repairs import measure_repairs
from bench.peers.requests import measure_requests


def main() -> None:
    """Measure what the peer has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--megabytes", type=int, default=50)
    asked = parser.parse_args()
    peer: Peer = import_module(f"bench.peers.{asked.name}").PEER
    found = {
        "name": asked.name,
        "versions": {package: version(package) for package in peer.packages},
        "requests": measure_requests(peer.ways, asked.lengths) if peer.ways else [],
        "repairs": measure_repairs(peer.repairs, asked.cases) if peer.repairs else [],
        "reading": measure_reading(peer.readers, asked.megabytes) if peer.readers else [],
    }
    asked.file.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
