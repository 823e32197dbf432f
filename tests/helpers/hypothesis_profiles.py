"""How the hypothesis tests draw.

- `tenora`, the default: the same examples in every run.
- `explore` (`pytest --hypothesis-profile=explore`): others each time, or those of `--hypothesis-seed`, and many more; a
  failure prints how to repeat it. A heavy job runs it with the day as seed (ci/heavy.toml).
- A test that asks for fewer examples says so with `examples`, which keeps the proportion.
"""

from typing import Any

from hypothesis import HealthCheck, settings

SHARED: dict[str, Any] = {
    "deadline": None,
    "database": None,
    "print_blob": True,
    # The backend fixture is the same for all examples of a test.
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
}
settings.register_profile("tenora", derandomize=True, max_examples=100, **SHARED)
settings.register_profile("explore", derandomize=False, max_examples=3000, **SHARED)
settings.load_profile("tenora")
MORE = 30  # times as many as by default


def examples(count: int) -> settings:
    """Settings of a test of which `count` examples are enough by default."""
    return settings(max_examples=count * (MORE if settings.get_current_profile_name() == "explore" else 1))
