"""The catalog's columns by name, for the configuration and the help."""

from __future__ import annotations

from typing import Final

CATALOG_COLUMNS: Final = {
    "name": "the module",
    "source": "which catalog it comes from; mandatory, beta, internal",
    "channel": "the channel that applies to it",
    "installed": "the running version",
    "desired": "the expected version",
    "newest": "the newest release (a pre-release if none)",
    "drift": "the distance between the running and the expected version",
    "state": "the module's state",
    "checks": "which source decided the state",
    "age": "how long it has been in the cluster",
    "manager": "the workload that runs its manager; not shown at start",
    "signed": "whether its component is signed; not shown at start",
    "reason": "why it is in this state; on terminals of 160 columns and more",
}
START_COLUMNS: Final = tuple(name for name in CATALOG_COLUMNS if name not in {"manager", "signed"})
"""The columns without a choice: "signed" sends requests to registries, and "manager" is wide."""
