"""Google ADK: a plugin that edits each request to a model, and never the events of the session."""

import asyncio
import logging
import os
from collections.abc import Hashable, Sequence
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools import FunctionTool
from google.genai import types

from redline.adapters.framework_editor import CallSettings, CallsUnderWay, FrameworkEditor
from redline.editor import Editor
from redline.formats.usage import Usage, read_usage
from redline.policy import Policy
from redline.values import payloads

__all__ = ["RedlinePlugin"]

_logger = logging.getLogger("redline.adapters")


class RedlinePlugin(BasePlugin):
    """Strikes what is out of date from what the model is sent; what the session service keeps stays whole.

    Put it last in the list of plugins, so that it sees what the others made of the contents. It is there for every agent of the
    app. `store` is a folder, the address of a database, or an Editor; without one a process that is started again cannot send
    the same bytes.
    """

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | str | None = None,
        namespace: str = "",
        name: str = "redline",
    ) -> None:
        super().__init__(name)
        self._contents = FrameworkEditor[types.Content](
            store, policy, format="gemini", read=_read, write=_write, fields=_fields, key=_key, namespace=namespace
        )
        self._calls = CallsUnderWay[int, types.Content]()
        """By the id of the actions of the event that the answer becomes: they are there from before the call until after it."""
        self._has_looked = False

    @property
    def editor(self) -> Editor:
        """The Editor that is asked."""
        return self._contents.editor

    @property
    def recall_tool(self) -> FunctionTool:
        """The tool that reads offloaded results back, for `LlmAgent(tools=[…])`; the Editor needs blobs."""
        return FunctionTool(self._contents.recall)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Look once for what else shortens the history."""
        if not self._has_looked:
            self._has_looked = True
            _warn_of_rivals(invocation_context)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Edit the contents of one request, unless the service keeps the history and is sent only what is new."""
        if llm_request.previous_interaction_id:
            return
        call = await asyncio.to_thread(
            self._contents.edit, llm_request.contents, lambda: _settings_of(callback_context, llm_request)
        )
        self._calls.begin(id(callback_context.actions), call)
        llm_request.contents = list(call.messages)

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Record what the provider reported; the pieces of a stream come before that."""
        if llm_response.partial:
            return
        if (call := self._calls.end(id(callback_context.actions))) is not None:
            await asyncio.to_thread(self._contents.answered, call, lambda: _usage_of(llm_response))

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Leave a history alone whose changed form the provider refused; the error goes on."""
        if (call := self._calls.end(id(callback_context.actions))) is not None:
            await asyncio.to_thread(self._contents.failed, call, error)


def _warn_of_rivals(context: InvocationContext) -> None:
    found = [type(plugin).__name__ for plugin in context.plugin_manager.plugins]
    if "ContextFilterPlugin" in found:
        _logger.warning("ContextFilterPlugin drops turns as well, and the prompt cache with them: leave it out.")
    if context.events_compaction_config is not None:
        _logger.warning("Events are compacted as well: raise the interval or the threshold of events_compaction_config.")


def _settings_of(context: CallbackContext, request: LlmRequest) -> CallSettings:
    session, system = context.session, request.config.system_instruction
    tools = [[tool.name, tool.description] for tool in request.tools_dict.values()]
    return CallSettings(
        model=request.model or "",
        preamble={"system": system, "tools": tools},
        session="|".join([session.app_name, session.user_id, session.id, context.agent_name]),
        time_of=_AnswerTimes(session.events).of,
    )


class _AnswerTimes:
    """When calls were answered, by the events of a session: contents do not say which they are. Those that are asked for are
    mostly the last, so that no more events are looked at than it takes."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._left = reversed(events)
        self._known: dict[str, float] = {}

    def of(self, content: types.Content) -> float | None:
        """The time of a result; None for what is none."""
        calls = _answered_calls(content)
        while calls and not any(call in self._known for call in calls):
            event = next(self._left, None)
            if event is None:
                return None
            for call in _answered_calls(event.content) if event.content is not None else ():
                self._known.setdefault(call, event.timestamp * 1000)
        return next((self._known[call] for call in calls if call in self._known), None)


def _answered_calls(content: types.Content) -> list[str]:
    answers = [part.function_response for part in content.parts or () if part.function_response is not None]
    return [answer.id for answer in answers if answer.id]


def _usage_of(response: LlmResponse) -> Usage | None:
    return read_usage(response.usage_metadata) if response.usage_metadata else None


# --- contents are Gemini's already, also where the model is another one


def _key(content: types.Content) -> Hashable:
    """Contents are copied for each request; their texts, arguments and responses are not."""
    part = content.parts[0] if content.parts else types.Part()
    held = part.function_call or part.function_response
    if held is None:
        return part.text
    said = held.args if isinstance(held, types.FunctionCall) else held.response
    return type(held), held.id, held.name, next((text for text in (said or {}).values() if isinstance(text, str)), None)


def _fields(content: types.Content) -> object:
    return content.role, *map(vars, content.parts or ())


def _read(content: types.Content) -> dict[str, Any]:
    """With the fields that say something: a session that was stored has the same ones."""
    said: dict[str, Any] = content.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {"parts": [], **said}


def _write(content: types.Content | None, payload: dict[str, Any], _: object = None) -> Sequence[types.Content]:
    """Parts that are not changed are the very same objects."""
    own = [] if content is None else list(zip(content.parts or (), _read(content)["parts"], strict=True))
    parts = [next((part for part, said in own if said == block), None) or _part_of(block) for block in payload["parts"]]
    return [types.Content(role=payload.get("role"), parts=parts)]


def _part_of(block: dict[str, Any]) -> types.Part:
    part = types.Part.model_validate_json(payloads.encode(block))
    answer = part.function_response
    if answer is not None and answer.response is not None and answer.response.keys() == {"output"}:
        # ADK's own wrapper of a text, which it takes off for models of other providers.
        answer.response = {"result": answer.response["output"]}
    return part
