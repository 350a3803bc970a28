"""Work on many sessions: in processes of this machine, or on a Ray cluster, to which sessions are shipped."""

import os
import re
import secrets
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from redline.errors import ExecutionError, MissingExtraError, ValidationError
from redline.record.backends import parse_address
from redline.sessions.catalog.session_files import JOURNAL, SessionInput, is_object_address

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Results(Collection[_Item], Generic[_Item, _Result]):
    """Items, one after the other as they are done, and what became of each."""

    def __init__(self, items: Sequence[_Item], done: Iterable[_Item], result_of: Callable[[_Item], _Result]) -> None:
        self._items, self._done = items, done
        self.result_of = result_of
        """Waits for the result of an item. What went wrong with it is raised."""

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._done)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return item in self._items


@contextmanager
def in_processes(items: Sequence[_Item], job: Callable[[_Item], _Result], jobs: int) -> Iterator[Results[_Item, _Result]]:
    """The job on every item, in as many processes as are of use."""
    if min(jobs, len(items)) <= 1:
        yield Results(items, items, job)
        return
    pool = process_pool(min(jobs, len(items)))
    try:
        waiting = {item: pool.submit(job, item) for item in items}
        yield Results(items, items, lambda item: waiting[item].result())
    finally:
        pool.shutdown(cancel_futures=True)


def process_pool(jobs: int) -> ProcessPoolExecutor:
    """Processes that Ctrl-C ends without a word; whoever waits for one is told."""
    # A process with threads must not be forked. Those of obstore are none of Python's, and a fork that reads waits for ever.
    has_threads = threading.active_count() > 1 or "obstore" in sys.modules
    context = get_context("spawn") if has_threads else None
    return ProcessPoolExecutor(jobs, mp_context=context, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_DFL))


MOST_LOSSES = 10
"""So often an item is done again after its worker was lost: one that ends every worker must not go on for ever."""

_ADDRESS = re.compile(r"auto|(ray://)?(?P<server>[^/\s]+:\d+)")
_ANSWER_SECONDS = 5
_OBJECT_BYTES = 256 << 20
"""What Ray may keep in memory on this machine; what is more goes to disk."""
_AHEAD = 2
"""How many items there are in the cluster for each of its cores: one in work, one on its way."""


class NamedItem(Protocol):
    """What there is work on."""

    @property
    def name(self) -> str:
        """For errors."""


_NamedItem = TypeVar("_NamedItem", bound=NamedItem)
_Parcel = TypeVar("_Parcel")


@contextmanager
def on_ray(
    items: Sequence[_NamedItem],
    job: Callable[[_Parcel], _Result],
    *,
    pack: Callable[[_NamedItem], _Parcel],
    address: str | None = None,
    jobs: int | None = None,
) -> Iterator[Results[_NamedItem, _Result]]:
    """The job on every item, as the cluster gets to it. `pack` makes of an item what travels; it is called here. Without an
    address the cluster is on this machine, with `jobs` cores. With one, `jobs` items are there at a time."""
    with _connected(address, jobs) as ray:
        run = ray.remote(num_cpus=1, max_retries=MOST_LOSSES)(_run)
        work: _RayWork[_NamedItem, _Result] = _RayWork(ray, run, ray.put(job), pack, jobs if address else None)
        yield Results(items, work.done(items), work.result_of)


def _run(job: Callable[[_Parcel], _Result], parcel: _Parcel) -> _Result:
    return job(parcel)


@dataclass
class _RayWork(Generic[_NamedItem, _Result]):
    """Items in the cluster, and the results that have come back."""

    ray: Any
    run: Any
    job: Any
    pack: Callable[[_NamedItem], object]
    most: int | None
    results: dict[_NamedItem, _Result | Exception] = field(default_factory=dict)

    def done(self, items: Sequence[_NamedItem]) -> Iterator[_NamedItem]:
        """Each item when its result is here. Only so many are sent ahead as keep the cluster busy."""
        waiting, in_work = iter(items), dict[Any, _NamedItem]()
        try:
            while True:
                # A cluster may grow while it works.
                most = self.most or max(1, _AHEAD * int(self.ray.cluster_resources().get("CPU", 0)))
                for item in islice(waiting, max(0, most - len(in_work))):
                    try:
                        in_work[self.run.remote(self.job, self.ray.put(self.pack(item)))] = item
                    except OSError as problem:
                        self.results[item] = problem
                        yield item
                if not in_work:
                    return
                (first, *_), _ = self.ray.wait(list(in_work), num_returns=1)
                item = in_work.pop(first)
                self.results[item] = self._fetched(first, item)
                yield item
        except ConnectionError as problem:
            raise ExecutionError(f"The connection to the Ray cluster is lost: {_in_short(problem)}.") from problem

    def result_of(self, item: _NamedItem) -> _Result:
        """The result of a finished item."""
        result = self.results.pop(item)
        if isinstance(result, Exception):
            raise result
        return result

    def _fetched(self, reference: Any, item: _NamedItem) -> _Result | Exception:
        exceptions = self.ray.exceptions
        try:
            result: _Result = self.ray.get(reference)
            return result
        except exceptions.RayTaskError as problem:
            cause = problem.cause
            return cause if isinstance(cause, Exception) else ExecutionError(f"{item.name}: {_in_short(problem)}")
        except exceptions.RuntimeEnvSetupError as problem:  # the same for every item
            raise ExecutionError(f"The workers of the Ray cluster cannot be given Redline: {_in_short(problem)}.") from problem
        except exceptions.RayError as problem:
            lost = f"lost its worker {MOST_LOSSES + 1} times, the last time so: {_in_short(problem)}."
            return ExecutionError(f"{item.name} {lost} Is there enough memory for it?")


@contextmanager
def _connected(address: str | None, jobs: int | None) -> Iterator[Any]:
    """Ray, while it is connected. The workers get the package as it is here, so that the same code runs everywhere."""
    settings: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    settings["runtime_env"] = {"py_modules": [str(Path(__file__).parents[2])]}
    with ExitStack() as stack:
        stack.enter_context(_printing_to_stderr())
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # Ray looks at its variables when it is imported
        if address is None:
            # Ray puts sockets there, whose paths must be short; so like Ray itself, not where TMPDIR says
            place = os.environ.get("RAY_TMPDIR", "/tmp")
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="redline-ray-", dir=place))
            # only this machine reaches it, with a key of its own; it leaves nothing behind
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # what makes every process of Ray listen on 127.0.0.1 only
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)  # Ray would write one to the user's home
            settings |= {
                "address": "local",
                "num_cpus": jobs or os.cpu_count() or 1,
                "include_dashboard": False,
                "object_store_memory": _OBJECT_BYTES,
                "_node_ip_address": "127.0.0.1",
                "_temp_dir": folder,
            }
        try:
            import ray.exceptions  # a folder named `ray` can be imported too
        except ImportError as problem:
            raise MissingExtraError("--engine ray", "ray") from problem
        if address is not None:
            settings["address"] = _checked(address)
        stack.callback(ray.shutdown)
        try:
            with _interrupted_after():
                ray.init(**settings)
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as problem:
            where = f"The Ray cluster at {address}" if address else "A Ray cluster on this machine"
            how = " From outside the cluster, write ray://HOST:10001." if address else ""
            raise ExecutionError(f"{where} cannot be used: {_in_short(problem)}.{how}") from problem
        yield ray


@contextmanager
def _printing_to_stderr() -> Iterator[None]:
    """What Ray prints in the block, in Python, in C++ or in a process that it starts, goes to standard error: standard output
    is for what the command was asked for."""
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started this
        yield
        return
    sys.stdout.flush()
    before = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(before, 1)
        os.close(before)


@contextmanager
def _interrupted_after() -> Iterator[None]:
    """Ctrl-C in the block counts at its end: a cluster that is half started would leave processes behind."""
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if asked:
        raise KeyboardInterrupt


def _checked(address: str) -> str:
    """The address, if something answers there. Ray itself would wait for more than a minute."""
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ValidationError(f"{address!r} is no address of a Ray cluster. Write auto, HOST:PORT or ray://HOST:10001.")
    import grpc
    from ray._private.services import canonicalize_bootstrap_address  # nothing public says what `auto` means

    try:
        server = found["server"] or canonicalize_bootstrap_address(address)
    except (ConnectionError, ValueError):
        server = None
    if server is None or os.environ.get("RAY_USE_TLS") == "1":
        return address  # Ray says at once what is wrong
    # Proxies of the environment are for the web
    with grpc.insecure_channel(server, options=[("grpc.enable_http_proxy", 0)]) as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_ANSWER_SECONDS)
        except grpc.FutureTimeoutError as problem:
            raise ExecutionError(
                f"No Ray cluster answers at {address} within {_ANSWER_SECONDS} seconds. Check the address, and that it runs."
            ) from problem
    return address


def _in_short(problem: Exception) -> str:
    """The first line; Ray adds where in its own insides it was."""
    return str(problem).strip().partition("\n")[0].rstrip(" .:")[:300]


_CHATS, _PROJECT = "chats", ".project_root"
"""Beside the folder that Gemini CLI keeps its sessions in, the file that names their project."""


@dataclass(frozen=True, slots=True)
class ShippedSession:
    """A session, and the bytes of the files that it is read from."""

    session: SessionInput
    files: tuple[tuple[str, bytes], ...] = ()
    """Each by its path below a folder; the session itself comes first. None where the session is at an address."""

    @classmethod
    def of(cls, session: SessionInput) -> "ShippedSession":
        """Read its files. Those of an SQLite address stay where they are: they hold more than this session."""
        if session.problem:
            return cls(session)
        if "://" in session.place:
            if is_object_address(session.place):
                return cls(session)
            backend, path_in_it, conversation = parse_address(session.place)  # another process works in another folder
            return cls(replace(session, place=backend.address_of(backend.resolved(path_in_it), conversation)))
        path = session.file.absolute()
        chats = next((folder for folder in path.resolve().parents if folder.name == _CHATS), None)
        if chats is not None:
            path = path.resolve()
        root = path.parent if chats is None else chats.parent
        beside = (Path(f"{path}{JOURNAL}"), root / _PROJECT)
        found = (path, *(one for one in beside if one.is_file()))
        return cls(session, tuple((str(one.relative_to(root)), one.read_bytes()) for one in found))

    @contextmanager
    def unpacked(self) -> Iterator[SessionInput]:
        """The session with its files on this machine, for as long as the block lasts."""
        if not self.files:
            yield self.session
            return
        with tempfile.TemporaryDirectory(prefix="redline-") as folder:
            for name, content in self.files:
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            member = self.session.place.rpartition("#")[2] if self.session.conversation else ""
            yield replace(self.session, place=str(Path(folder, self.files[0][0])) + (f"#{member}" if member else ""))
