"""Conversations for asyncio: each call runs in a thread of the conversation's own, and the loop goes on meanwhile."""

import asyncio
import concurrent.futures
import contextvars
import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast, overload

from redline.conversation import conversation, opening
from redline.conversation.compacting import DEFAULT_KEPT, Outlining
from redline.conversation.outlining import OUTLINE
from redline.errors import ExecutionError
from redline.record.log import Log
from redline.values.checks import check_function

__all__ = ["AsyncConversation", "Conversation", "open"]

P = ParamSpec("P")
T = TypeVar("T")

Talk = conversation.Conversation
Summarize = Callable[[list[Any]], str | Awaitable[str]]
"""From messages, in the provider's shape, to the text that replaces them. Async functions run on the loop."""


class _Method(Generic[P, T]):
    """A method of the conversation, to be awaited. Its parameters are those of the method, so the two cannot differ."""

    def __init__(self, method: Callable[Concatenate[Talk, P], T]) -> None:
        self._method, self.__doc__ = method, method.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: "AsyncConversation", owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, instance: "AsyncConversation | None", owner: type) -> Self | Callable[P, Coroutine[Any, Any, T]]:
        if instance is None:
            return self

        @functools.wraps(self._method)
        async def call(*args: P.args, **settings: P.kwargs) -> T:
            return instance._given(await instance._run(functools.partial(self._method, instance._talk, *args, **settings)))

        return call


class _Value(Generic[T]):
    """A property of the conversation, to be awaited: `await talk.messages`."""

    def __init__(self, value: Callable[[Talk], T]) -> None:
        self._value = value

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: "AsyncConversation", owner: type) -> Awaitable[T]: ...
    def __get__(self, instance: "AsyncConversation | None", owner: type) -> Self | Awaitable[T]:
        if instance is None:
            return self
        return _Later(functools.partial(instance._run, functools.partial(self._value, instance._talk)))


class _Later(Generic[T]):
    """Something to await. Unlike a coroutine it may be looked at and forgotten."""

    def __init__(self, start: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._start = start

    def __await__(self) -> Generator[Any, Any, T]:
        return self._start().__await__()


def _another(method: Callable[Concatenate[Talk, P], Talk]) -> "_Method[P, AsyncConversation]":
    """A method whose conversation is given for asyncio, too."""
    return cast("_Method[P, AsyncConversation]", _Method(method))


class AsyncConversation:
    """A conversation whose every method and value is awaited; what each does is said at `redline.Conversation`.

    Calls are carried out one after the other, in the order in which they were made. One that is cancelled before its turn does
    nothing; one that is cancelled while it runs is carried out to its end, unless it waits for an async function, which is
    cancelled. Either way the conversation is whole, and can go on.
    """

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._worker = concurrent.futures.ThreadPoolExecutor(max_workers=1, thread_name_prefix="redline")
        self._is_closed = False
        self._turn = _RunningCall()

    def __repr__(self) -> str:
        return f"<aio {repr(self._talk)[1:]}"

    messages = _Value(lambda talk: talk.messages)
    all_messages = _Value(lambda talk: talk.all_messages)
    visible_indices = _Value(lambda talk: talk.visible_indices)
    name = _Value(lambda talk: talk.name)
    policy = _Value(lambda talk: talk.policy)
    origin = _Value(lambda talk: talk.origin)
    format = _Value(lambda talk: talk.format)
    current_batch = _Value(lambda talk: talk.current_batch)
    batches = _Value(lambda talk: talk.batches)
    batch_boundaries = _Value(lambda talk: talk.batch_boundaries)
    strikes = _Value(lambda talk: talk.strikes)
    branches = _Value(lambda talk: talk.branches)

    add = _Method(Talk.add)
    add_response = _Method(Talk.add_response)
    process = _Method(Talk.process)
    start_batch = _Method(Talk.start_batch)
    rollback = _Method(Talk.rollback)
    pin = _Method(Talk.pin)
    unpin = _Method(Talk.unpin)
    undo = _Method(Talk.undo)
    rewind = _Method(Talk.rewind)
    refresh = _Method(Talk.refresh)
    switch = _Method(Talk.switch)
    fork = _another(Talk.fork)
    request_at = _Method(Talk.request_at)
    preview_compaction = _Method(Talk.preview_compaction)
    preview_outline = _Method(Talk.preview_outline)
    check_summary = _Method(Talk.check_summary)
    compaction_steps = _Method(Talk.compaction_steps)
    finish_compaction = _another(Talk.finish_compaction)
    record_usage = _Method(Talk.record_usage)
    check_tokens = _Method(Talk.check_tokens)
    learn_limit = _Method(Talk.learn_limit)
    request = _Method(Talk.request)
    preview = _Method(Talk.preview)
    recall = _Method(Talk.recall)
    search = _Method(Talk.search)

    # --- what takes a function of the caller's, which may be async here

    async def compact(
        self,
        summarize: Summarize | Outlining,
        *,
        keep_last: int = DEFAULT_KEPT,
        in_place: bool = False,
        log: Log | str | os.PathLike[str] | None = None,
        budget_tokens: int | None = None,
        check: bool = False,
    ) -> "AsyncConversation":
        """Replace older history by a summary or an outline. Until it is there, other calls of this conversation wait."""
        asked = OUTLINE if summarize == OUTLINE else self._asked(summarize)
        settings: dict[str, Any] = {"log": log, "budget_tokens": budget_tokens, "check": check}
        made = await self._run(lambda: self._talk.compact(asked, keep_last=keep_last, in_place=in_place, **settings))
        return cast("AsyncConversation", self._given(made))

    async def compact_when(self, *, tokens: int, summarize: Summarize, keep_last: int, most_failures: int = 3) -> None:
        """Compact in place whenever `check_tokens` finds more than so many. After failures in a row it stops trying."""
        asked = self._asked(summarize)
        settings = {"tokens": tokens, "keep_last": keep_last, "most_failures": most_failures}
        await self._run(lambda: self._talk.compact_when(summarize=asked, **settings))

    async def on_token_limit(self, callback: Callable[[int, int], object]) -> None:
        """Call back with (used, limit), once for each time that the limit is passed. An async function is awaited."""
        asked = self._asked(callback)
        await self._run(lambda: self._talk.on_token_limit(asked))

    # --- the end

    async def close(self) -> None:
        """Carry out what was called before, let go of the log, and end the thread. Nothing can be called afterwards."""
        if not self._is_closed:
            self._is_closed = True
            self._worker.submit(self._talk.close)
        await asyncio.to_thread(self._worker.shutdown)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # --- the pieces

    async def _run(self, call: Callable[[], T]) -> T:
        """Carry a call out in the thread when its turn has come."""
        if self._is_closed:
            raise ExecutionError("This conversation was closed. Open it again.")
        if (task := asyncio.current_task()) is not None and task is self._turn.asking:
            raise ExecutionError(
                "This conversation waits for the function that calls it now, so both would wait for ever. "
                "Call it from a task of its own (asyncio.create_task), or when the function has returned."
            )
        self._talk._summary_loop = asyncio.get_running_loop()
        turn, context = _RunningCall(), contextvars.copy_context()  # the thread is in the caller's span, if there is one
        try:
            return await asyncio.get_running_loop().run_in_executor(self._worker, context.run, self._take_turn, turn, call)
        except asyncio.CancelledError:
            turn.cancel()
            raise

    def _take_turn(self, turn: "_RunningCall", call: Callable[[], T]) -> T:
        self._turn = turn
        return call()

    def _given(self, value: T) -> T:
        """What a call gave; a conversation is given for asyncio, too."""
        if not isinstance(value, Talk):
            return value
        return cast("T", self if value is self._talk else AsyncConversation(value))

    def _asked(self, function: Callable[..., T | Awaitable[T]]) -> Callable[..., T]:
        """A function of the caller's as the thread calls it; what is to be awaited is awaited on the loop."""
        check_function("What is to be called", function)
        loop = asyncio.get_running_loop()

        def asked(*args: object) -> T:
            answer = function(*args)
            return self._turn.wait_for(answer, loop) if inspect.isawaitable(answer) else answer

        return asked


Conversation = AsyncConversation
"""The name in `redline.aio.Conversation`."""


class _RunningCall:
    """A call that runs, and its wait for an async function on the loop."""

    def __init__(self) -> None:
        self._is_cancelled = False
        self._waited_for: concurrent.futures.Future[Any] | None = None
        self.asking: asyncio.Task[Any] | None = None
        """The task that the call waits for."""

    def cancel(self) -> None:
        """Wait no longer."""
        self._is_cancelled = True
        if self._waited_for is not None:
            self._waited_for.cancel()

    def wait_for(self, answer: Awaitable[T], loop: asyncio.AbstractEventLoop) -> T:
        """In the thread: what the loop makes of it."""

        async def in_task() -> T:
            self.asking = asyncio.current_task()
            try:
                return await answer
            finally:
                self.asking = None

        self._waited_for = future = asyncio.run_coroutine_threadsafe(in_task(), loop)
        if self._is_cancelled:
            future.cancel()
        while not future.done():
            try:
                return future.result(timeout=1.0)
            except TimeoutError:  # of the second, or of the answer, which is given below
                if loop.is_closed():
                    raise ExecutionError("The event loop was closed before the answer came.") from None
        return future.result()


def _opening(function: Callable[P, Talk]) -> Callable[P, Coroutine[Any, Any, AsyncConversation]]:
    @functools.wraps(function)
    async def opened(*args: P.args, **settings: P.kwargs) -> AsyncConversation:
        return AsyncConversation(await asyncio.to_thread(function, *args, **settings))

    return opened


open = _opening(opening.open)  # noqa: A001 - the public word, as in redline.open
