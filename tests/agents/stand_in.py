"""A stand-in for a proxy, run as a program: says on any path that it is one, counts requests, and ends on SIGTERM."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_requests = []


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        """The status for `/redline/status`; everything else is a request that is counted for the label in its path."""
        if self.path != "/redline/status":
            _requests.append(self.path.split("/")[2])
        sums = {"sent_tokens": 1000, "read_tokens": 900, "struck_tokens": 50, "cost_usd": 2.0, "saved_usd": 0.5}
        projects = {label: {"requests": _requests.count(label), **sums} for label in set(_requests)}
        said = json.dumps({"mode": "edit", "store": "/some store", "projects": projects}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_):
        """Nothing."""


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
