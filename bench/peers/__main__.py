"""One peer beside Redline, in the environment of the peer: make bench-peers ONLY=langchain.

python -m bench.peers NAME FILE [--parts requests repairs reading] [--lengths 100 1000 10000] [--cases 300] [--megabytes 50]

What is found is written to the file as JSON; `python -m bench.peers.report` makes tables of all of them. Parts that are not
measured again stay as they are in the file.
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

_PARTS = ("requests", "repairs", "reading")


def main() -> None:
    """Measure what the peer has."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("file", type=Path)
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=_PARTS)
    parser.add_argument("--lengths", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--megabytes", type=int, default=50)
    asked = parser.parse_args()
    peer: Peer = import_module(f"bench.peers.{asked.name}").PEER
    found = json.loads(asked.file.read_text()) if asked.file.exists() else {part: [] for part in _PARTS}
    found |= {"name": asked.name, "versions": {package: version(package) for package in peer.packages}}
    if "requests" in asked.parts and peer.ways:
        found["requests"] = measure_requests(peer.ways, asked.lengths)
    if "repairs" in asked.parts and peer.repairs:
        found["repairs"] = measure_repairs(peer.repairs, asked.cases)
    if "reading" in asked.parts and peer.readers:
        found["reading"] = measure_reading(peer.readers, asked.megabytes)
    asked.file.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
