"""Python's garbage collector, told that this program keeps many objects for long.

With its own thresholds it walks everything again and again while lists come in: half of the screen's longest stall.
What is young is looked at in small pieces, for nothing else runs meanwhile (10,000 objects take 8 ms, 50,000 take 45);
what is older, hardly ever.
"""

from __future__ import annotations

import gc

_THRESHOLDS = (10_000, 250, 100)  # young objects until a collection, and collections until the older ones follow


def raise_gc_thresholds() -> None:
    """Collect rarely, and never again what the imports left; for the whole process."""
    if gc.get_threshold() != _THRESHOLDS:
        gc.freeze()
        gc.set_threshold(*_THRESHOLDS)
