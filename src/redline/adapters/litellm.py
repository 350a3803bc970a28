"""LiteLLM: a callback that edits each attempt at a call, in the SDK and in its proxy, and is told the usage."""

import asyncio
import logging
import os
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from litellm.integrations.custom_logger import CustomLogger
from msgspec import structs

from redline.conversation.editor import Editor
from redline.errors import ValidationError
from redline.policy.policy import Policy, find_policy
from redline.policy.presets import PresetName
from redline.policy.settings import SETTINGS, SettingSources
from redline.providers import find_format
from redline.providers.answers import Answer
from redline.providers.api import Api
from redline.providers.apis import find_api
from redline.providers.sdk_objects import plain_message, plain_value
from redline.providers.usage import read_usage
from redline.transport.editing import Call, Edited, WireEditor, make_editor
from redline.values import payloads
from redline.values.checks import check_text

__all__ = ["RedlineHandler"]

_logger = logging.getLogger("redline.adapters")
_PATHS = {
    "completion": "/chat/completions",
    "acompletion": "/chat/completions",
    "responses": "/responses",
    "aresponses": "/responses",
    "anthropic_messages": "/messages",
}
"""By LiteLLM's names of its functions, where a body with their arguments would be sent."""
_MOST_CALLS = 1_000
"""Calls under way at a time, as far as they are remembered: one that was cancelled is never answered."""


@dataclass(frozen=True, slots=True)
class _EditedArguments:
    """A call of LiteLLM, edited."""

    path: str
    edited: Edited
    messages: Sequence[Any]
    """What is sent."""


class RedlineHandler(CustomLogger):
    """Strikes what is out of date from what the model is sent; the lists that you pass to LiteLLM stay whole.

    `litellm.callbacks = [RedlineHandler("chats")]` edits `acompletion`, `aresponses`, `responses` and `anthropic_messages`,
    also through a Router. LiteLLM asks no callback before a sync `completion`: pass its arguments through `edit_kwargs`.
    `store` is a folder, the address of a database, or an Editor; without one a process that is started again cannot send the
    same bytes.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | PresetName | None = None,
        namespace: str = "",
    ) -> None:
        super().__init__()
        self._wire = WireEditor(make_editor(store, policy))
        self._namespace = check_text("namespace", namespace)
        self._calls: OrderedDict[str, _EditedArguments] = OrderedDict()
        """By LiteLLM's id, those that are not answered yet."""
        self._lock = Lock()
        self._tells_of_sync_calls = True
        """Until it was told, or the caller has found `edit_kwargs`."""

    @property
    def editor(self) -> Editor:
        """The Editor that is asked."""
        return self._wire.editor

    def edit_kwargs(self, **arguments: Any) -> dict[str, Any]:
        """The arguments of a sync call with the messages to send: `litellm.completion(**redline.edit_kwargs(model=…, …))`.

        Those of `litellm.responses` are taken, too. Usage arrives if the handler is among the callbacks as well.
        """
        self._tells_of_sync_calls = False
        return self._edited(arguments, "responses" if "input" in arguments else "completion")

    def log_pre_api_call(self, model: Any, messages: Any, kwargs: dict[str, Any]) -> None:
        """Say once that a sync call is sent as it is: LiteLLM shows it here, where nothing can be changed any more."""
        if not self._tells_of_sync_calls or kwargs.get("call_type") != "completion":
            return
        if str(kwargs.get("litellm_call_id")) not in self._calls:
            self._tells_of_sync_calls = False
            _logger.warning(
                "Nothing is struck from litellm.completion: LiteLLM asks no callback before a sync call. Pass the arguments "
                "through the handler, litellm.completion(**handler.edit_kwargs(model=…, messages=…)), or await "
                "litellm.acompletion."
            )

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any]:
        """Edit the messages of one attempt at a call."""
        return await asyncio.to_thread(self._edited, kwargs, str(getattr(call_type, "value", call_type)))

    async def async_post_call_failure_deployment_hook(
        self, request_data: Mapping[str, Any], exception: Exception, call_type: Any, fallback_depth: int | None = None
    ) -> None:
        """A history that was changed and then refused is left alone from now on."""
        with self._lock:
            call = self._calls.get(str(request_data.get("litellm_call_id")))
        if call is not None:
            await asyncio.to_thread(self._wire.refused, call.edited, getattr(exception, "status_code", 0))

    async def async_log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record what the provider reported."""
        try:
            await asyncio.to_thread(self.log_success_event, kwargs, response_obj, start_time, end_time)
        except RuntimeError:  # the process ends: LiteLLM still tells what it has not told, but no thread can be started
            self.log_success_event(kwargs, response_obj, start_time, end_time)

    def log_success_event(self, kwargs: dict[str, Any], response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record what the provider reported for a sync call."""
        with self._lock:
            call = self._calls.pop(str(kwargs.get("litellm_call_id")), None)
        if call is None:
            return
        try:
            usage = read_usage(kwargs["standard_logging_object"]["metadata"]["usage_object"])
        except (LookupError, TypeError, ValidationError) as problem:
            _logger.error("The usage of a call of LiteLLM could not be read: %s", problem)
            return
        if usage.input_tokens:  # of a stream that was not asked for it, nothing is known
            self._wire.answered(call.edited, Answer((), usage, call.edited.model, ""))

    def _edited(self, arguments: dict[str, Any], function: str) -> dict[str, Any]:
        """The arguments with the messages to send; the very arguments where they are not looked at."""
        path = _PATHS.get(function, "")
        api = find_api("POST", path)
        if api is None or _held(arguments).get("used_client_oauth_token"):  # a subscription pays
            return arguments
        field = find_format(api.name).messages_field
        given = arguments.get(field)
        if not isinstance(given, list | tuple):
            if given is None:
                _logger.warning("Pass %s= to LiteLLM by name: callbacks are not shown what is passed by position.", field)
            return arguments
        id = str(arguments.get("litellm_call_id") or uuid.uuid4())
        known = self._calls.get(id)
        if known is not None and (known.path != path or known.messages == given):
            return arguments  # it was edited already: by hand, or before LiteLLM turned it into a call of another API
        try:
            call = _call_of(arguments, api, path, field)
            if self._namespace:
                call = replace(call, namespace=f"{self._namespace} {call.label}".rstrip())
            edited = self._wire.edit(call)
            messages = _messages_of(edited, given)
        except Exception:
            _logger.exception("The messages of a call of LiteLLM are sent as they are: they could not be read")
            return arguments
        with self._lock:
            self._calls[id] = _EditedArguments(path, edited, messages)
            while len(self._calls) > _MOST_CALLS:
                self._calls.popitem(last=False)
        return {**arguments, field: messages, "litellm_call_id": id}


if TYPE_CHECKING:
    handler: RedlineHandler
else:

    def __getattr__(name: str):
        """`handler`, for `callbacks: redline.adapters.litellm.handler` in the settings of LiteLLM's proxy, is made when it is
        asked for, by the settings of `redline proxy`: REDLINE_STORE (a folder or the address of a database), REDLINE_POLICY (a
        name or a file), or what a redline.toml says."""
        if name != "handler":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        sources = SettingSources.load()
        store, policy = (str(sources.find(SETTINGS[one]).value) for one in ("proxy.store", "proxy.policy"))
        place = store if "://" in store else Path(store).expanduser()
        made = globals()[name] = RedlineHandler(place, policy=find_policy(policy))
        return made


def _call_of(arguments: Mapping[str, Any], api: Api, path: str, field: str) -> Call:
    """The call as it would be sent to a provider that has this API."""
    held = _held(arguments)
    headers = held.get("headers")
    noticed = [one.encode_name for one in structs.fields(api.fields) if one.name not in ("messages", "model", "metadata")]
    told = {name: _plain(arguments[name]) for name in noticed if arguments.get(name) is not None}
    told["model"] = arguments.get("model") or getattr(arguments.get("litellm_logging_obj"), "model", "")
    return Call(
        "POST",
        path,
        {str(name).lower(): str(value) for name, value in headers.items()} if isinstance(headers, Mapping) else {},
        _encoded({**told, field: list(arguments[field])}, field),
        label=str(held.get("user_api_key_hash") or ""),
        session=str(arguments.get("litellm_session_id") or held.get("session_id") or ""),
    )


def _encoded(told: dict[str, Any], field: str) -> bytes:
    """The body; messages are looked through for objects of an SDK only if there are any, since that takes longest."""
    try:
        return payloads.encode(told)
    except (TypeError, ValueError):
        return payloads.encode({**told, field: [plain_message(message) for message in told[field]]})


def _held(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """What LiteLLM notes of a call, and its proxy of the client: under either name, as the API takes one of them itself."""
    notes = (arguments.get(name) for name in ("litellm_metadata", "metadata"))
    return next((one for one in notes if isinstance(one, Mapping)), {})


def _plain(value: object) -> Any:
    """As JSON values; of what is none, such as a class that describes the answer, its name."""
    try:
        return plain_value(value)
    except ValidationError:
        return str(value)


def _messages_of(edited: Edited, given: Sequence[Any]) -> Sequence[Any]:
    """What to send: the caller's own objects, but for those that were changed."""
    if not edited.is_changed or edited.request is None or edited.read is None:
        return given
    own = edited.read.messages
    return [
        given[position] if position is not None and payload == own[position] else payloads.decode(payload)
        for position, payload in zip(edited.request.positions, edited.request.said, strict=True)
    ]
