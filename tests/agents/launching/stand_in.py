"""A stand-in for a proxy, run as a program: says on any path that it is one, proves it, counts requests, ends on SIGTERM.

`python stand_in.py PORT [TOKEN]`; a socket that it is handed goes before the port.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from redline.proxy.settings import parse_target
from redline.servers.listening import handed_over
from redline.servers.ownership import CHALLENGE_HEADER, PROOF_HEADER, known_keys, proofs

_requests = []


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        """The status for `/redline/status`; everything else is a request that is counted for the label in its path."""
        target = parse_target(self.path)
        if not target.path.startswith("/redline/"):
            _requests.append(target.label)
        sums = {"sent_tokens": 1000, "read_tokens": 900, "struck_tokens": 50, "cost_usd": 2.0, "saved_usd": 0.5}
        projects = {label: {"requests": _requests.count(label), **sums} for label in set(_requests)}
        said = json.dumps({"mode": "edit", "store": "/some store", "projects": projects}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.send_header(PROOF_HEADER, proofs(_keys, self.headers.get(CHALLENGE_HEADER, ""), self.server.server_port))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        """Nothing."""


if __name__ == "__main__":
    _keys = known_keys(*sys.argv[2:] or [""])
    listening = handed_over()
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler, bind_and_activate=listening is None)
    if listening is not None:
        server.socket.close()
        server.socket, server.server_port = listening, listening.getsockname()[1]
    server.serve_forever()
