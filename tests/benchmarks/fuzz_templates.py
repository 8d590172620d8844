"""Fuzzes the template engine for as long as it is told: python -m tests.benchmarks.fuzz_templates [SECONDS [SEED]]

Every example renders, or fails with a HelmError that is no disguised defect; the first that does otherwise is shrunk
and shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.helm.language.grammar import damaged, templates
from tests.helm.language.test_fuzz import check

EXAMPLES = 1000


def run(strategy: st.SearchStrategy[str], number: int) -> None:
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
    @given(strategy)
    def examples(template: str) -> None:
        check(template)

    examples()


def main() -> None:
    """Runs well-formed and damaged templates in turn, and says how many there were."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    start, number = time.monotonic(), first
    while time.monotonic() - start < seconds:
        run(templates, number)
        run(damaged(), number)
        number += 1
    print(f"{2 * EXAMPLES * (number - first)} templates, nothing but HelmError")


if __name__ == "__main__":
    main()
