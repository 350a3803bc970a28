"""Tokens of texts and messages, counted offline: exactly, or estimated, and corrected by reported usage."""

from redline.tokens.calibration import Calibrated, calibrate
from redline.tokens.counter import Counter
from redline.tokens.counting import MessageTokens, check_counter, count_message, count_part, default_counter
from redline.tokens.estimate import Estimate
from redline.tokens.exact import Exact
from redline.tokens.pictures import picture_tokens
from redline.tokens.remembered import CountMemory, Remembered

__all__ = [
    "Calibrated",
    "CountMemory",
    "Counter",
    "Estimate",
    "Exact",
    "MessageTokens",
    "Remembered",
    "calibrate",
    "check_counter",
    "count_message",
    "count_part",
    "default_counter",
    "picture_tokens",
]
