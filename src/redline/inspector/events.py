"""What grows is told at once: sessions are watched while somebody listens, and changes are sent as server-sent events."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from redline.errors import RedlineError
from redline.inspector.served import ServedSessions
from redline.values import payloads

__all__ = ["Events"]

_LOOK_S = 0.5
"""How often the sessions that are looked at are looked for growth."""
_LIST_S = 3.0
"""How often new sessions are looked for."""
_TELL_S = 1.0
"""How often the list is told anew while its numbers are worked out."""
_WATCHED_S = 120.0
_SIGN_OF_LIFE_S = 15.0
_MOST_WAITING = 100


class Events:
    """Tells every listener what changed. While nobody listens, nothing is watched."""

    def __init__(self, sessions: ServedSessions) -> None:
        self._sessions = sessions
        self._listeners: set[asyncio.Queue[bytes]] = set()
        self._watching: list[asyncio.Task[None]] = []
        self._is_closed = False

    async def stream(self) -> AsyncIterator[bytes]:
        """The events from now on, and a sign of life now and then."""
        queue: asyncio.Queue[bytes] = asyncio.Queue(_MOST_WAITING)
        self._listeners.add(queue)
        try:
            yield b"retry: 1000\n\n"
            while not self._is_closed:
                try:
                    yield await asyncio.wait_for(queue.get(), _SIGN_OF_LIFE_S)
                except TimeoutError:
                    yield b": alive\n\n"
        finally:
            self._listeners.discard(queue)

    def start(self) -> None:
        """Begin to watch."""
        self._watching = [asyncio.create_task(self._watch_opened()), asyncio.create_task(self._watch_list())]

    async def close(self) -> None:
        """Let all listeners go."""
        self._is_closed = True
        self._tell(b": closed\n\n")
        for task in self._watching:
            task.cancel()
        await asyncio.gather(*self._watching, return_exceptions=True)

    def _tell(self, event: bytes) -> None:
        for queue in self._listeners:
            with contextlib.suppress(asyncio.QueueFull):  # who does not read misses some, and asks again later
                queue.put_nowait(event)

    async def _watch_opened(self) -> None:
        """What somebody looks at, for as long as they listen."""
        known: dict[str, str] = {}
        while True:
            for session in self._sessions.recent(_WATCHED_S) if self._listeners else ():
                before = known.get(session.id, session.version)
                with contextlib.suppress(RedlineError, OSError):  # whoever asks for it is told
                    await asyncio.to_thread(session.refresh)
                if session.version != before:
                    self._tell(_event("session", {"id": session.id, "version": session.version}))
                known[session.id] = session.version
            await asyncio.sleep(_LOOK_S)

    async def _watch_list(self) -> None:
        """Which sessions there are, and their numbers; once, and then for as long as somebody listens."""
        is_first = True
        while True:
            if self._listeners or is_first:
                is_new = await asyncio.to_thread(self._sessions.look)
                working = asyncio.create_task(asyncio.to_thread(self._sessions.work_out_rows))
                while not (await asyncio.wait([working], timeout=_TELL_S))[0]:
                    self._tell(_event("sessions", {}))
                if working.result() or is_new:
                    self._tell(_event("sessions", {}))
                is_first = False
            await asyncio.sleep(_LIST_S)


def _event(name: str, data: dict[str, object]) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + payloads.encode(data) + b"\n\n"
