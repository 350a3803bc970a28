"""How hard the property tests try: ten examples each, `HYPOTHESIS_PROFILE=thorough make test` thousands.

`gate` tries the same examples every time, so that a change is judged by what it changes; the others draw new ones.
"""

import os

from hypothesis import HealthCheck, settings

from tests.postgres import postgres as postgres

settings.register_profile(
    "default",
    max_examples=10,  # every run draws others, and `thorough` many
    deadline=None,  # machines are noisy; a slow example is no wrong one
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=3000)
settings.register_profile("gate", parent=settings.get_profile("default"), max_examples=20, derandomize=True, database=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
