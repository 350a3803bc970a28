"""Transports for httpx and httpx2: an SDK's requests pass through Redline, and come back as the provider answers them."""

import dataclasses
import functools
import importlib
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from redline.errors import ValidationError
from redline.providers.answers import Answer, AnswerReader
from redline.providers.api import MOST_BODY_BYTES
from redline.providers.apis import find_api
from redline.providers.compression import compress, decompress
from redline.transport.editing import CACHE_TOUCH, REFUSALS, Call, Edited, WireEditor, make_editor
from redline.values.checks import check_text

if TYPE_CHECKING:
    from redline.conversation.editor import Editor
    from redline.policy.policy import Policy
    from redline.policy.presets import PresetName

    _AnyTransport: Any = object
else:
    _AnyTransport = object

_logger = logging.getLogger("redline.wire")
_LIBRARIES = ("httpx", "httpx2")
_FIRST_ERROR = 400


class _EditingTransport(_AnyTransport):  # type: ignore[misc]  # a transport of both libraries, neither of which we depend on
    """What both transports do, but for waiting. Which library they serve shows in the first request."""

    _inner_kind: str
    _owned: "Editor | None" = None
    """The Editor that was opened here, and is closed here."""

    def __init__(
        self,
        store: "str | os.PathLike[str] | Editor | None" = None,
        *,
        policy: "Policy | PresetName | None" = None,
        transport: Any = None,
        session: str = "",
        namespace: str = "",
        editor: "Editor | None" = None,
    ) -> None:
        if editor is not None and store is not None:
            raise ValidationError("An Editor has its own store. Pass the store to the Editor, or leave the Editor out.")
        given = store if editor is None else editor
        made = make_editor(given, policy)
        self._owned = made if made is not given else None
        self._wire = WireEditor(made)
        self._inner = transport
        self._session, self._namespace = check_text("session", session), check_text("namespace", namespace)

    def _sender(self, request: Any) -> Any:
        """The transport that was given, else one of the request's own library."""
        if self._inner is None:
            self._inner = getattr(importlib.import_module(_library_of(request)), self._inner_kind)()
        return self._inner

    def _edit(self, request: Any) -> tuple[Edited | None, Any]:
        """What Redline makes of a request that was read, and the request to send."""
        try:
            headers = {name.lower(): value for name, value in request.headers.items()}
            encoding = headers.get("content-encoding", "")
            body = decompress(request.content, encoding, most_bytes=MOST_BODY_BYTES)
            query = request.url.query.decode("latin-1")
            call = Call(
                request.method, request.url.path, headers, body, session=self._session, query=query, namespace=self._namespace
            )
            edited = self._wire.edit(call)
            if edited.is_changed:
                return edited, _with_body(request, compress(edited.body, encoding))
        except Exception:
            _logger.exception("A request to %s is sent as it was given", request.url.path)
            return None, request
        return edited, request

    def _shrunk(self, edited: Edited, request: Any, response: Any) -> tuple[Edited, Any] | None:
        """A smaller request, where the provider's error, which was read, says that this one was over a limit."""
        smaller = self._wire.shrink(edited, response.status_code, response.content)
        if smaller is None:
            return None
        return smaller, _with_body(request, compress(smaller.body, request.headers.get("content-encoding", "")))

    def _sent_as_given(self, edited: Edited, status: int, then: int) -> Edited:
        """The provider refused our body, and what was given was sent: if it took that, the history is left alone for good."""
        if then < _FIRST_ERROR:
            self._wire.refused(edited, status)
        reason = f"the provider answered {status} to a changed body"
        return dataclasses.replace(edited, body=edited.call.body, request=None, untouched=reason)

    def _tee(self, response: Any, edited: Edited | None) -> Any:
        """The response, whose bytes are also read on the side."""
        if edited is None or edited.request is None or edited.read is None or response.status_code != 200:
            return response
        headers = response.headers
        encoding = "" if response.is_closed else headers.get("content-encoding", "")
        reader = AnswerReader(edited.read.format, headers.get("content-type", ""), encoding)

        def answered(answer: Answer | None) -> None:
            self._wire.answered(edited, answer, self._wire.watch(edited, answer))

        if response.is_closed:  # it has been read, as the answers of mocks are
            reader.feed(response.content)
            answered(reader.finish())
        else:
            response.stream = _teed_stream(_library_of(response))(response.stream, reader, answered)
        return response


class RedlineTransport(_EditingTransport):
    """A transport for the sync clients of httpx and httpx2: `httpx.Client(transport=RedlineTransport("chats"))`.

    It takes the address of a store, or an Editor, which it does not close. What is sent elsewhere, and everything of a request
    but the messages in its body, passes untouched. `transport` does the sending; `session` names the history, for
    a client that has but one; `namespace` says whose histories these are, where one key serves many users.
    """

    _inner_kind = "HTTPTransport"

    def handle_request(self, request: Any) -> Any:
        """Send a request with the messages that the model is to see, and give back what the provider answers."""
        sender = self._sender(request)
        if _is_beside(request):
            return sender.handle_request(request)
        request.read()
        edited, sent = self._edit(request)
        response = sender.handle_request(sent)
        if edited is not None and response.status_code in REFUSALS:
            response.read()
            if smaller := self._shrunk(edited, request, response):
                again = sender.handle_request(smaller[1])
                if again.status_code < _FIRST_ERROR:
                    return self._tee(again, smaller[0])
                again.close()
        if edited is not None and edited.is_changed and response.status_code in REFUSALS:
            response.close()
            status, response = response.status_code, sender.handle_request(request)
            edited = self._sent_as_given(edited, status, response.status_code)
        return self._tee(response, edited)

    def close(self) -> None:
        """Let go of the connections, and of the store if it was opened here."""
        if self._inner is not None:
            self._inner.close()
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        if self._inner is not None:
            self._inner.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncRedlineTransport(_EditingTransport):
    """A transport for the async clients of httpx and httpx2; what it takes and does is said at `RedlineTransport`.

    Bodies are read and edited in a thread, so that the loop goes on meanwhile.
    """

    _inner_kind = "AsyncHTTPTransport"

    async def handle_async_request(self, request: Any) -> Any:
        """Send a request with the messages that the model is to see, and give back what the provider answers."""
        sender = self._sender(request)
        if _is_beside(request):
            return await sender.handle_async_request(request)
        await request.aread()
        edited, sent = await _in_thread(self._edit, request)
        response = await sender.handle_async_request(sent)
        if edited is not None and response.status_code in REFUSALS:
            await response.aread()
            if smaller := await _in_thread(self._shrunk, edited, request, response):
                again = await sender.handle_async_request(smaller[1])
                if again.status_code < _FIRST_ERROR:
                    return self._tee(again, smaller[0])
                await again.aclose()
        if edited is not None and edited.is_changed and response.status_code in REFUSALS:
            await response.aclose()
            status, response = response.status_code, await sender.handle_async_request(request)
            edited = await _in_thread(self._sent_as_given, edited, status, response.status_code)
        return self._tee(response, edited)

    async def aclose(self) -> None:
        """Let go of the connections, and of the store if it was opened here."""
        if self._inner is not None:
            await self._inner.aclose()
        if self._owned is not None:
            await _in_thread(self._owned.close)

    async def __aenter__(self) -> Self:
        if self._inner is not None:
            await self._inner.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Tee:
    """A stream of bytes that a reader sees, too; when it is closed, at its end or before, the reader says what it read."""

    def __init__(self, stream: Any, reader: AnswerReader, answered: Callable[[Answer | None], None]) -> None:
        self._stream, self._reader, self._answered = stream, reader, answered
        self._is_open = True

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            self._reader.feed(chunk)
            yield chunk

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._reader.feed(chunk)
            yield chunk

    def close(self) -> None:
        """Close the provider's stream, and tell what it said so far."""
        try:
            self._stream.close()
        finally:
            self._tell()

    async def aclose(self) -> None:
        """Close the provider's stream, and tell what it said so far, also if the caller was cancelled."""
        try:
            await self._stream.aclose()
        finally:
            await _in_thread(self._tell)

    def _tell(self) -> None:
        if self._is_open:
            self._is_open = False
            self._answered(self._reader.finish())


@functools.cache
def _teed_stream(library: str) -> type[_Tee]:
    """A tee that a library's clients take for a stream of their own."""
    streams = importlib.import_module(library)
    return type("TeedStream", (_Tee, streams.SyncByteStream, streams.AsyncByteStream), {})


def _is_beside(request: Any) -> bool:
    """Whether a request is of no interest here: it asks no model, and says nothing of a cache."""
    path = request.url.path
    return find_api(request.method, path) is None and not path.endswith(CACHE_TOUCH)


def _library_of(value: object) -> str:
    """The library whose request or response this is, also of a class derived from it."""
    roots = [kind.__module__.partition(".")[0] for kind in type(value).__mro__]
    return next((root for root in roots if root in _LIBRARIES), _LIBRARIES[0])


def _with_body(request: Any, body: bytes) -> Any:
    """The request with another body, and the length of that; every other header as it was, in its place."""
    headers = [
        (name, str(len(body)).encode() if name.lower() == b"content-length" else value)
        for name, value in request.headers.raw
        if name.lower() != b"transfer-encoding"
    ]
    kind: Any = type(request)
    return kind(request.method, request.url, headers=headers, content=body, extensions=request.extensions)


async def _in_thread(call: Callable[..., Any], *args: object) -> Any:
    """What a call gives, made in a thread: on asyncio and on trio, and to its end even if the caller is cancelled."""
    import anyio.to_thread  # both libraries bring it

    with anyio.CancelScope(shield=True):
        return await anyio.to_thread.run_sync(call, *args)
