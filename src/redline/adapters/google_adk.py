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

from redline.adapters.framework_editor import CallSettings, FrameworkAdapter, MessageMapping
from redline.conversation.editor import Editor
from redline.policy.policy import Policy
from redline.policy.presets import PresetName
from redline.providers.usage import read_usage
from redline.values import payloads

__all__ = ["RedlinePlugin"]

_logger = logging.getLogger("redline.adapters")


class _Contents(MessageMapping[types.Content]):
    """Contents, which are Gemini's already, also where the model is another one."""

    format = "gemini"

    def key(self, message: types.Content) -> Hashable:  # contents are copied for each request; what is in them is not
        part = message.parts[0] if message.parts else types.Part()
        held = part.function_call or part.function_response
        if held is None:
            return part.text
        said = held.args if isinstance(held, types.FunctionCall) else held.response
        return type(held), held.id, held.name, next((text for text in (said or {}).values() if isinstance(text, str)), None)

    def fields(self, message: types.Content) -> object:
        return message.role, *map(vars, message.parts or ())

    def read(self, message: types.Content) -> dict[str, Any]:
        """The fields that say something: a session that was stored has the same ones."""
        said: dict[str, Any] = message.model_dump(mode="json", by_alias=True, exclude_none=True)
        return {"parts": [], **said}

    def write(self, message: types.Content | None, payload: dict[str, Any], _: object = None) -> Sequence[types.Content]:
        """Parts that are not changed are the very same objects."""
        own = [] if message is None else list(zip(message.parts or (), self.read(message)["parts"], strict=True))
        parts: list[types.Part] = []
        for block in payload["parts"]:
            part = next((part for part, said in own if said == block), None)
            if part is None:
                part = types.Part.model_validate_json(payloads.encode(block))
                answer = part.function_response
                if answer is not None and answer.response is not None and answer.response.keys() == {"output"}:
                    # ADK's own wrapper of a text, which it takes off for models of other providers.
                    answer.response = {"result": answer.response["output"]}
            parts.append(part)
        return [types.Content(role=payload.get("role"), parts=parts)]


_mapping = _Contents()


class RedlinePlugin(FrameworkAdapter[types.Content], BasePlugin):
    """Strikes what is out of date from what the model is sent; what the session service keeps stays whole.

    Put it last in the list of plugins, so that it sees what the others made of the contents. It is there for every agent of the
    app. `store` is a folder, the address of a database, or an Editor; without one a process that is started again cannot send
    the same bytes.
    """

    mapping = _mapping
    _has_looked = False

    def __init__(
        self,
        store: str | os.PathLike[str] | Editor | None = None,
        *,
        policy: Policy | PresetName | None = None,
        namespace: str = "",
        name: str = "redline",
    ) -> None:
        super().__init__(store, policy=policy, namespace=namespace, name=name)

    @property
    def recall_tool(self) -> FunctionTool:
        """The tool that reads offloaded results back, for `LlmAgent(tools=[…])`; the Editor needs blobs."""
        return FunctionTool(self._messages.recall)

    async def before_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Look once for what else shortens the history."""
        if not self._has_looked:
            self._has_looked = True
            plugins = [type(plugin).__name__ for plugin in invocation_context.plugin_manager.plugins]
            if "ContextFilterPlugin" in plugins:
                _logger.warning("ContextFilterPlugin drops turns as well, and the prompt cache with them: leave it out.")
            if invocation_context.events_compaction_config is not None:
                _logger.warning(
                    "Events are compacted as well: raise the interval or the threshold of events_compaction_config."
                )

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        """Edit the contents of one request, unless the service keeps the history and is sent only what is new."""
        if llm_request.previous_interaction_id:
            return
        call = await asyncio.to_thread(
            self._messages.edit, llm_request.contents, lambda: _settings_of(callback_context, llm_request)
        )
        self._messages.begin(id(callback_context.actions), call)
        llm_request.contents = list(call.messages)

    async def after_model_callback(self, *, callback_context: CallbackContext, llm_response: LlmResponse) -> None:
        """Record what the provider reported; the pieces of a stream come before that."""
        if not llm_response.partial:
            call, usage = self._messages.end(id(callback_context.actions)), llm_response.usage_metadata
            await asyncio.to_thread(self._messages.answered, call, lambda: read_usage(usage) if usage else None)

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> None:
        """Leave a history alone whose changed form the provider refused; the error goes on."""
        await asyncio.to_thread(self._messages.failed, self._messages.end(id(callback_context.actions)), error)


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
