"""Repairs session files in their own formats, one agent a file, so that the agent itself can go on with them."""

from redline.mending.fixes import Fix, LostRecord
from redline.mending.mend import MENDERS, Mending, mend_transcript
from redline.mending.mender import Mender

__all__ = ["MENDERS", "Fix", "LostRecord", "Mender", "Mending", "mend_transcript"]
