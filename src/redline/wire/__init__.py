"""The bodies and answers of the providers' APIs as they cross the wire: what transport and proxy share.

To follow a request: `base` (a body is cut into its messages), one file per API (what else it says), `body` (the messages put
back), `sessions` (whose it is), `editing` (the Editor asked), `answers` (what the provider reported), `transport` (httpx).
"""

from redline.wire.anthropic import AnthropicApi
from redline.wire.base import Api
from redline.wire.body import Body
from redline.wire.gemini import GeminiApi
from redline.wire.openai_chat import OpenAIChatApi
from redline.wire.openai_responses import OpenAIResponsesApi

__all__ = ["APIS", "Api", "Body", "find_api"]

APIS: tuple[Api, ...] = (AnthropicApi(), OpenAIChatApi(), OpenAIResponsesApi(), GeminiApi())


def find_api(method: str, path: str) -> Api | None:
    """The API that is asked at a path, which has neither query nor label; None where no model is asked with a history."""
    return next((api for api in APIS if api.takes(method, path)), None)
