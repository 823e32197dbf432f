"""How the hypothesis tests draw.

- `tenora`, the default: the same examples in every run.
- `explore` (`pytest --hypothesis-profile=explore`): others each time, and many more; a failure prints how to repeat it.
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
