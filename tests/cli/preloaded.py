"""A process that has loaded the command line and forks for each command, so that tests do not wait for imports each time.

What runs is what `python -m redline` runs, in a process of its own, with its own streams, environment, signals and end.
"""

import importlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

_LONGEST = 1 << 17
_SERVER = "from tests.cli.preloaded import serve; serve()"
_COMMAND = "import runpy; runpy.run_module('redline', run_name='__main__', alter_sys=True)"


class Preloaded:
    """The process that forks, and what it is asked."""

    def __init__(self, environment):
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = threading.Lock()
        command = [sys.executable, "-c", f"{_SERVER}\n{_COMMAND}", str(theirs.fileno())]
        self._server = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        theirs.close()

    def run(self, arguments, *, env, stdin, timeout):
        """What the command printed and its exit code; `stdin` is a text, a file, or None for nothing to read."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as typed:
            if isinstance(stdin, str):
                typed.write(stdin.encode())
                typed.seek(0)
            ended, tell = os.pipe()
            request = json.dumps({"arguments": arguments, "env": env, "folder": str(Path.cwd())}).encode()
            streams = [(stdin if hasattr(stdin, "fileno") else typed).fileno(), out.fileno(), err.fileno(), tell]
            with self._lock:
                socket.send_fds(self._ours, [request], streams)
            os.close(tell)
            with os.fdopen(ended, "rb") as told:
                code = _code_told(told, arguments, timeout)
            out.seek(0)
            err.seek(0)
            printed, complained = (file.read().decode().replace("\r\n", "\n") for file in (out, err))
        return subprocess.CompletedProcess(["redline", *arguments], code, printed, complained)


def _code_told(told, arguments, timeout):
    """The exit code; a command that takes too long is killed."""
    process, code = int(told.readline()), []
    waits = threading.Thread(target=lambda: code.append(told.readline()), daemon=True)
    waits.start()
    waits.join(timeout)
    if not code:
        os.kill(process, signal.SIGKILL)
        waits.join()
        raise subprocess.TimeoutExpired(["redline", *arguments], timeout)
    return int(code[0])


def serve():
    """Fork for each command that is asked for, and go on with it in the new process; the server itself never returns."""
    from redline.cli import COMMANDS

    for name in (*(f"redline.cli.{command}" for command in COMMANDS), "redline.conversation.conversation"):
        importlib.import_module(name)
    with socket.socket(fileno=int(sys.argv[1])) as asked:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the processes between
        while True:
            request, streams, _, _ = socket.recv_fds(asked, _LONGEST, 4)
            if not request:
                os._exit(0)
            if os.fork() == 0:
                asked.close()
                break
            for stream in streams:
                os.close(stream)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    *standard, tell = streams
    if child := os.fork():
        for stream in standard:
            os.close(stream)
        os.write(tell, b"%d\n" % child)
        os.write(tell, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        os._exit(0)
    os.close(tell)
    _become(json.loads(request), standard)


def _become(request, streams):
    """Take the streams, the environment and the arguments of the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    os.chdir(request["folder"])
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)), encoding="utf-8", errors="backslashreplace", line_buffering=True
    )
    sys.argv = ["redline", *request["arguments"]]
