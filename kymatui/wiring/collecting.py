"""Python's garbage collector, told that this program keeps many objects for long.

With its own thresholds it walks everything again and again while lists come in: half of the screen's longest stall.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (50_000, 50, 100)


def relax_collector() -> None:
    """Collects rarely, and never again what the imports left; for the whole process."""
    if gc.get_threshold() != _THRESHOLDS:
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
