"""A call in, the body to send out: what transport and proxy share. What goes wrong in between costs the client nothing."""

import contextlib
import dataclasses
import logging
import os
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from redline.cache_breaks.watch import AnsweredCall, CacheWatch
from redline.conversation.observing import marking_applied
from redline.errors import FormatError, LogError, RedlineError, ValidationError
from redline.providers import find_format
from redline.providers.answers import Answer
from redline.providers.api import Api, Body, BodyStart
from redline.providers.apis import find_api
from redline.providers.limits.refusals import RefusedLimit, read_refusal
from redline.providers.offered_tool import RECALL_TOOL, Offer, offer_in, with_recall_tool
from redline.providers.sessions import namespace_of, session_of, signature_of, subscription_of
from redline.providers.side_calls import SideCalls
from redline.providers.usage import Usage
from redline.transport.holdout import HELD_OUT, NO_ARM, Holdout, held_out
from redline.transport.tools import with_fewer_tools
from redline.values import payloads

if TYPE_CHECKING:
    from redline.conversation.editor import EditedRequest, Editor
    from redline.policy.policy import Policy
    from redline.policy.presets import PresetName
    from redline.record.records import CacheBroke

_logger = logging.getLogger("redline.wire")
REFUSALS = (400, 413)
"""What providers answer to a body that they do not take."""
NOT_EDITED = "it could not be edited"
"""Why a call is untouched after a mistake of ours, or while the store cannot be used."""
CACHE_TOUCH = "/messages/cache_touch"
"""Where Claude Code asks Anthropic to keep a cache without sending what is in it again."""
_MOST_SESSIONS = 1_000
_LEAST_LONG = 50_000
"""A shorter body is read faster than its beginning is looked up."""
_MOST_STARTS, _MOST_START_BYTES = 16, 32 << 20
"""Beginnings of bodies that are remembered."""
_RECORDED_S = 0.5
"""So long a call waits until the answer before it is recorded."""
_NAMESPACE_KEY = b"redline namespaces"
"""Keys are long and random, so that this much keeps their hashes apart from those of other programs."""


def make_editor(store: "str | os.PathLike[str] | Editor | None", policy: "Policy | PresetName | None" = None) -> "Editor":
    """The Editor that was given, else one over a store, with the policy `careful` where nobody names one."""
    from redline.conversation.editor import Editor
    from redline.policy.policy import Policy

    if not hasattr(store, "edit"):
        return Editor(store, policy=policy or Policy.careful())
    if policy is not None:
        raise ValidationError("An Editor has its own policy. Pass the policy to the Editor, or leave the Editor out.")
    return store  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Call:
    """A request on its way to a provider."""

    method: str
    path: str
    """Without query, and without the label that it may begin with."""
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes
    """Not compressed."""
    label: str = ""
    session: str = ""
    """The name that the caller gives the history; empty where headers and body say it."""
    query: str = field(default="", repr=False)
    """As the client wrote it: for who pays, which it may say, and nothing else."""
    namespace: str = ""
    """Whose histories these are, where the caller says it; empty where label and credential do."""
    is_next_turn: bool = False
    """Whether the model goes on with an answer: all that it was sent before must be sent as it was."""


@dataclass(frozen=True, slots=True)
class Edited:
    """What to send for a call."""

    call: Call
    body: bytes
    """The call's own bytes, the very object, where nothing is changed."""
    request: "EditedRequest | None" = None
    """What the Editor made of it; None where it was not asked."""
    session: str = ""
    model: str = ""
    untouched: str = ""
    """Why nothing new was struck, or nothing was looked at; empty where it may have been."""
    read: Body | None = None
    namespace: str = ""
    """Whose history it is, where a message was read; with `session` it names the history."""
    failure: str = ""
    """What went wrong with the editing, if something did; then what was recorded before is sent, or the client's bytes."""
    is_store_down: bool = False
    """Whether that is the store's fault, not ours."""
    dropped_tools: tuple[str, ...] = ()
    """Tools that were never called and are not declared, because the provider takes no more."""
    learned: str = ""
    """The limit that the provider's refusal taught, in its own words."""
    recalls: bool = False
    """Whether the body offers the tool for recall, whose calls are answered here."""

    @property
    def is_changed(self) -> bool:
        """Whether something else than the client's bytes is sent."""
        return self.body is not self.call.body

    def answered_call(self, usage: Usage, at: float, *, is_refused: bool = False) -> AnsweredCall | None:
        """The call as it was sent and reported, to be compared with others; `is_refused` if the client's own body was sent
        after all. None for a body that was not read."""
        read, request = self.read, self.request
        if read is None or not read.messages:
            return None
        messages, rules = [(message, message) for message in read.messages], tuple[str, ...]()
        if request is not None and self.is_changed and not is_refused:
            said = map(payloads.encoded, request.said)
            places = [None if position is None else read.messages[position] for position in request.positions]
            messages = [(sent, given or sent) for sent, given in zip(said, places, strict=True)]
            rules = tuple(strike.rule for strike in request.new_strikes)
        return AnsweredCall(read.format, self.model, read.written, self.call.headers, messages, usage, at, rules)

    @property
    def cache_names(self) -> tuple[str, str]:
        """The session and the log: calls with one of these in common are compared."""
        return self.session, self.request.log if self.request is not None else ""


@dataclass(frozen=True, slots=True)
class HiddenAnswer:
    """What a client was shown of several turns, and what not."""

    shown: tuple[dict[str, Any], ...]
    """The messages that it was shown."""
    calls: tuple[tuple[int, bytes], ...] = ()
    """Calls that it was not shown, beside its own in the last answer: how many of those come before each."""
    results: tuple[bytes, ...] = ()
    """What was answered to these."""


class _UnreportedAnswers:
    """Histories whose last answer is not recorded yet: requests and usage are recorded in the order in which they came."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()
        self._changed = threading.Condition()

    def begin(self, history: tuple[str, str]) -> None:
        """An answer is to be recorded."""
        with self._changed:
            self._counts[history] += 1

    def end(self, history: tuple[str, str]) -> None:
        """An answer was recorded, or never will be."""
        with self._changed:
            self._counts[history] -= 1
            if self._counts[history] <= 0:
                del self._counts[history]
                self._changed.notify_all()

    def wait_for(self, history: tuple[str, str]) -> None:
        """Until all answers of a history are recorded; for a moment, since a store may hang."""
        with self._changed:
            if history in self._counts:
                self._changed.wait_for(lambda: history not in self._counts, timeout=_RECORDED_S)


class _BodyStarts:
    """How the last long bodies began: a history is sent again with every request, and only what is new in it is read."""

    def __init__(self) -> None:
        self._starts: tuple[tuple[str, BodyStart], ...] = ()
        """By API, the latest first."""

    def read(self, api: Api, call: Call) -> Body:
        """The body of a call."""
        if len(call.body) < _LEAST_LONG:
            return api.read(call.body, call.path)
        known = next(
            (one for one in self._starts if one[0] == api.name and call.body.startswith(one[1].beginning)), (api.name, None)
        )
        body = api.read(call.body, call.path, known[1])
        if (start := BodyStart.of(body)) is not None:
            kept = [one for one in self._starts if one is not known][: _MOST_STARTS - 1]
            while sum(len(one.beginning) for _, one in kept) > _MOST_START_BYTES:
                kept.pop()
            self._starts = (api.name, start), *kept
        return body


class WireEditor:
    """Reads calls, asks the Editor, and puts what it says into the client's bytes; tells it what the provider answered.

    Calls that a subscription pays for are recorded and passed on as they are, unless `edits_subscriptions`; with `is_dry_run`
    all calls are, and with `holdout` those of so large a share of the sessions. `key` is what hashes of credentials are keyed
    with. With `offers_recall` histories may begin with a tool for what was struck, whose calls the caller answers; the Editor
    must have the tool, too.
    """

    def __init__(
        self,
        editor: "Editor",
        *,
        edits_subscriptions: bool = False,
        is_dry_run: bool = False,
        holdout: float = 0.0,
        key: bytes = _NAMESPACE_KEY,
        offers_recall: bool = False,
    ) -> None:
        self.editor = editor
        self._edits_subscriptions = edits_subscriptions
        self._is_dry_run = is_dry_run
        self._key = key
        self._holdout = Holdout(editor, holdout)
        self._offers_recall = offers_recall
        self._side_calls = SideCalls()
        self._unreported = _UnreportedAnswers()
        self._starts = _BodyStarts()
        self._watch = CacheWatch()
        self._last: OrderedDict[tuple[str, str], EditedRequest] = OrderedDict()
        """By namespace and session, what was last made: a client may ask to keep its cache without saying of what."""

    @property
    def whole_problem(self) -> str:
        """Why no lines are left out of results now: their whole text could not be stored. Empty if nothing is wrong."""
        return self.editor.whole_problem

    def edit(self, call: Call) -> Edited:
        """What to send. Nothing in a call makes it raise: on a mistake of ours it falls back."""
        try:
            return self._edit(call)
        except FormatError as problem:
            _logger.info("A request to %s is sent as it came: %s", call.path, problem)
            return Edited(call, call.body, untouched="a message in it is of no kind that is known")
        except Exception as problem:
            _log_failure("A request to %s could not be edited; what is recorded for it is kept", call, problem)
            is_store_down = isinstance(problem, LogError | OSError)
            failure = str(problem) if is_store_down else f"{type(problem).__name__}: {problem}"
            return dataclasses.replace(self.fall_back(call), failure=failure, is_store_down=is_store_down)

    def fall_back(self, call: Call) -> Edited:
        """The strikes that were sent before, without asking any rule; else the client's bytes."""
        with _logging_failure("A request to %s is sent as it came: what is recorded for it could not be read", call):
            return self._edit(call, only_recorded=True)
        return Edited(call, call.body, untouched=NOT_EDITED)

    def refused(self, edited: Edited, status: int, answer: Answer | None = None, broke: "CacheBroke | None" = None) -> None:
        """The provider refused a changed body: the history is no longer edited. `answer` is to the client's own body."""
        if edited.request is not None and edited.is_changed and status in REFUSALS:
            with _logging_failure("It could not be recorded that the provider refused a changed body to %s", edited.call):
                self.editor.stop_editing(edited.request, f"the provider answered {status} to a body that was changed")
        self.answered(edited, answer, broke)

    def shrink(self, edited: Edited, status: int, error: bytes) -> Edited | None:
        """A smaller body, where the provider said that the body was over one of its limits, which is kept for the history from
        now on. None if the error says something else, or if nothing more can give way."""
        refused = read_refusal(status, error)
        if refused is None or edited.request is None or not edited.request.log or self._why_observed(edited.call):
            return None
        if refused.name == "request_bytes" and not refused.given:
            refused = replace(refused, given=len(edited.body))
        with _logging_failure("A request to %s could not be made smaller after the provider refused it", edited.call):
            smaller = self._edit(edited.call, refused=refused)
            _logger.warning("The provider refused a request to %s (%s)", edited.call.path, refused.words)
            if smaller.is_changed and smaller.body != edited.body:
                return dataclasses.replace(smaller, learned=refused.words)
        return None

    def withdraw(self, edited: Edited) -> None:
        """The body was not sent, because it came too late: what was struck for it is as if it had not been."""
        if edited.request is not None and edited.is_changed:
            with _logging_failure("Strikes that were never sent to %s could not be withdrawn", edited.call):
                self.editor.withdraw(edited.request)

    def recall(self, edited: Edited, arguments: Mapping[str, object]) -> tuple[str, bool]:
        """What a call of the tool for recall is answered, from the history of the request alone, and whether it is an error."""
        asked = {name: str(held) for name, held in arguments.items() if isinstance(held, str | int) and held != ""}
        try:
            if edited.request is None:
                raise ValidationError("Nothing is recorded of this conversation.")
            if "search" in asked or "reference" not in asked:
                words, grep = asked.get("search", ""), asked.get("grep")
                found = self.editor.search(words, request=edited.request, grep=grep)
                return found.replace(": recall(", f": {RECALL_TOOL}(", 1), False
            lines, grep = asked.get("lines"), asked.get("grep")
            return self.editor.recall(asked["reference"], request=edited.request, lines=lines, grep=grep), False
        except (RedlineError, OSError) as problem:
            return str(problem), True

    def hide_turns(self, first: Edited, last: Edited, hidden: "HiddenAnswer") -> None:
        """The client was shown one answer in the place of the turns of these requests."""
        with _logging_failure("Turns that the client of %s was not shown could not be recorded", first.call):
            if first.request is not None and last.request is not None:
                shown = tuple(map(find_format(first.request.format).read, hidden.shown))
                self.editor.hide_turns(first.request, last.request, shown, hidden.calls, hidden.results)

    def answering(self, edited: Edited) -> None:
        """The answer has come to its end, and `answered` or `refused` follows: the next call of the session waits for it."""
        self._unreported.begin((edited.namespace, edited.session))

    def watch(self, edited: Edited, answer: Answer | None) -> "CacheBroke | None":
        """Compare a call with those before it: what broke the provider's cache, if something did."""
        if answer is None or answer.usage is None:
            return None
        with _logging_failure("It could not be worked out what the provider's cache held of a request to %s", edited.call):
            usage, now = answer.usage.written_for(edited.read.lifetime if edited.read else ""), time.time()
            call = edited.answered_call(usage, now)
            names = [f"{edited.namespace} {name}" for name in edited.cache_names if name]
            looked = self._watch.look(call, names) if call is not None else None
            if looked is not None:
                self._watch.add(looked.delta, names, usage, now)
                return looked.broke
        return None

    def answered(self, edited: Edited, answer: Answer | None, broke: "CacheBroke | None" = None) -> None:
        """Record what the provider reported for the call, and what broke its cache."""
        try:
            if edited.request is not None and answer is not None and answer.usage is not None:
                with (
                    _logging_failure("The usage of a request to %s could not be recorded", edited.call),
                    marking_applied(edited.is_changed or not edited.request.is_changed),
                ):
                    lifetime = edited.read.lifetime if edited.read is not None else ""
                    self.editor.report(edited.request, answer.usage.written_for(lifetime))
                    if broke is not None:
                        self.editor.note_cache_break(edited.request, broke)
        finally:
            self._unreported.end((edited.namespace, edited.session))

    def _edit(self, call: Call, *, only_recorded: bool = False, refused: RefusedLimit | None = None) -> Edited:
        """Read the call, ask the Editor, and splice."""
        api = find_api(call.method, call.path)
        if api is None:
            self._keep_warm(call)
            return Edited(call, call.body, untouched="no model is asked with a history here")
        if signed := signature_of(call.headers):
            return Edited(call, call.body, untouched=f"the client signed the body ({signed})")
        body = self._starts.read(api, call)
        session = call.session or session_of(call.headers, body)
        if body.untouchable:
            return Edited(call, call.body, None, session, body.model, body.untouchable, body)
        observed, namespace, arm = self._arm_of(call, body, session)
        edited = Edited(call, call.body, None, session, body.model, "", body, namespace)
        side_call = self._side_calls.find(body, call.headers, session=session, namespace=namespace)
        if side_call is not None and not side_call.keeps_strikes:
            return dataclasses.replace(edited, untouched=side_call.reason)
        offer = offer_in(body, call.query) if self._offers_recall and not observed else ""
        if not only_recorded:
            self._unreported.wait_for((namespace, session))
        if only_recorded or side_call is not None:
            request = self.editor.recorded(body.messages, format=body.format, session=session, namespace=namespace)
        else:
            with marking_applied(not observed):
                request = self.editor.edit(
                    body.messages,
                    format=body.format,
                    session=session,
                    namespace=namespace,
                    model=body.model or None,
                    preamble=_preamble(call, body),
                    lifetime=body.lifetime,
                    **_asked_besides(offer, call, refused),
                )
            self._holdout.record(request, arm)
        if side_call is None:
            self._remember(self._namespace(call, observed), session, request)
        reason = observed or (request.untouched if side_call is None else "")
        if not reason and request.is_changed and not body.is_utf8:
            reason = "its body is not UTF-8"
            self.editor.stop_editing(request, reason)
        noted = reason or (side_call.reason if side_call is not None else "")
        edited = dataclasses.replace(edited, request=request, untouched=noted)
        return edited if reason else _spliced(edited, request, with_tool=bool(offer and request.recall_tool))

    def _arm_of(self, call: Call, body: Body, session: str) -> tuple[str, str, str]:
        """Why a call is only observed, if it is, whose history it is, and the arm of its session."""
        observed = self._why_observed(call)
        namespace = self._namespace(call, observed, body.account)
        arm = NO_ARM if observed else self._holdout.arm_of(body, session, namespace)
        return (HELD_OUT, held_out(namespace), arm) if arm == "holdout" else (observed, namespace, arm)

    def _why_observed(self, call: Call) -> str:
        """Why the client's bytes are sent, whatever the Editor says; empty if they may be changed."""
        if self._is_dry_run:
            return "nothing is changed in a dry run"
        if not self._edits_subscriptions and (shown := subscription_of(call.headers)):
            return f"a subscription pays for it ({shown})"
        return ""

    def _namespace(self, call: Call, observed: str, account: str = "") -> str:
        """What is only observed is apart from what is edited: strikes that were never sent must not count there."""
        namespace = call.namespace or namespace_of(call.headers, call.label, self._key, query=call.query, account=account)
        return f"observed {namespace}" if observed and observed != HELD_OUT else namespace

    def _remember(self, namespace: str, session: str, request: "EditedRequest") -> None:
        from redline.conversation.editor import EditedRequest

        self._last[namespace, session] = request.without_content() if isinstance(request, EditedRequest) else request
        self._last.move_to_end((namespace, session))
        while len(self._last) > _MOST_SESSIONS:
            self._last.popitem(last=False)

    def _keep_warm(self, call: Call) -> None:
        """Claude Code asks Anthropic to keep what a session's last request left in the cache, without sending it again."""
        if call.method == "POST" and call.path.endswith(CACHE_TOUCH):
            named = session_of(call.headers, Body(call.body, "anthropic"))
            namespace = self._namespace(call, self._why_observed(call))
            request = self._last.get((namespace, call.session or named))
            if request is not None:
                self.editor.keep_warm(request)


def _asked_besides(offer: Offer, call: Call, refused: RefusedLimit | None) -> dict[str, Any]:
    """What the Editor is told of recall and of limits, where there is anything to tell."""
    told: dict[str, Any] = {} if refused is None else {"refused": refused}
    return told | ({"may_recall": offer == "may begin", "strikes_more": not call.is_next_turn} if offer else {})


def _spliced(edited: Edited, request: "EditedRequest", *, with_tool: bool) -> Edited:
    """The body with what the Editor says, and with the tools that the provider takes."""
    body, sent = edited.read, edited.call.body
    assert body is not None, "it was read to be edited"
    if request.is_changed:
        said = [one if type(one) is bytes else payloads.encoded(one) for one in request.said]
        sent = body.splice(list(zip(request.positions, said, strict=True)))
    sent, dropped = with_fewer_tools(sent, body, request.learned_limits)
    sent = with_recall_tool(sent, body.format) if with_tool else sent
    changed = edited.call.body if sent == edited.call.body else sent
    return dataclasses.replace(edited, body=changed, dropped_tools=dropped, recalls=with_tool)


@contextlib.contextmanager
def _logging_failure(said: str, call: Call) -> Iterator[None]:
    """What fails is logged, and goes on."""
    try:
        yield
    except Exception as problem:
        _log_failure(said, call, problem)


def _log_failure(said: str, call: Call, problem: Exception) -> None:
    """A store that cannot be used says itself what is wrong; of a mistake of ours one must know where it was made."""
    is_told = isinstance(problem, RedlineError | OSError)
    _logger.error(f"{said}: %s", call.path, problem, exc_info=None if is_told else problem)


def _preamble(call: Call, body: Body) -> object:
    """What changes the cache key, with the betas that the headers ask for."""
    betas = call.headers.get("anthropic-beta")
    if not betas or not isinstance(body.preamble, dict):
        return body.preamble
    return {**body.preamble, "betas": sorted(name.strip() for name in betas.split(","))}
