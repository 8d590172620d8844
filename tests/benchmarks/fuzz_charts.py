"""Fuzzes charts, archives, YAML and --set: python -m tests.benchmarks.fuzz_charts [SECONDS [SEED]]

Every example is taken or refused with a HelmError, within limits; the first that is not is shrunk and shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.helm.charts.growing import archives, sets, trees, values, yaml_texts
from tests.helm.charts.test_fuzz import check_archive, check_chart, check_set, check_yaml

EXAMPLES = 300
SLOW = 20.0


def run(check: Callable[..., None], strategies: tuple[st.SearchStrategy[Any], ...], number: int) -> None:
    """So many examples from one seed."""
    decorate: Callable[[Any], Any] = settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )

    @seed(number)
    @decorate
    @given(st.tuples(*strategies))
    def examples(parts: tuple[Any, ...]) -> None:
        start = time.process_time()
        check(*parts)
        assert time.process_time() - start < SLOW, parts

    examples()


def main() -> None:
    """Runs all kinds in turn, and says how many there were."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds: list[tuple[Callable[..., None], tuple[st.SearchStrategy[Any], ...]]] = [
        (check_chart, (trees(), values)),
        (check_archive, (archives(),)),
        (check_yaml, (yaml_texts,)),
        (check_set, (sets,)),
    ]
    start, number = time.monotonic(), first
    while time.monotonic() - start < seconds:
        for check, strategies in kinds:
            run(check, strategies, number)
        number += 1
    print(f"{len(kinds) * EXAMPLES * (number - first)} charts, archives, YAML texts and lines, nothing but HelmError")


if __name__ == "__main__":
    main()
