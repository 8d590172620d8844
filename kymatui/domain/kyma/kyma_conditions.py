"""The conditions that a Kyma's controller writes, with lifecycle-manager's types and messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

REASON: Final = "Ready"
"""The reason of every condition, whatever its status."""


class KymaCondition(StrEnum):
    """The types of conditions, in the order of a reconciliation."""

    CRDS = "CRDsSync"
    MODULES = "Modules"
    CATALOG = "ModuleCatalog"
    WEBHOOK = "SKRWebhook"


_MESSAGES: Final = {
    KymaCondition.CRDS: (
        "CRDs are synchronized to the SKR",
        "CRDs are not synchronized to the SKR",
        "CRDs synchronization state is unknown",
    ),
    KymaCondition.MODULES: (
        "all modules are in ready state",
        "not all modules are in ready state",
        "modules state is unknown",
    ),
    KymaCondition.CATALOG: (
        "module templates are synchronized",
        "module templates are out of sync and need to be resynchronized",
        "module templates synchronization state is unknown",
    ),
    KymaCondition.WEBHOOK: (
        "skrwebhook is synchronized",
        "skrwebhook is out of sync and needs to be resynchronized",
        "skrwebhook is out of sync and needs to be resynchronized",
    ),
}


def kyma_conditions(
    known: Mapping[KymaCondition, bool | None], before: Iterable[Mapping[str, Any]], *, generation: int, stamp: str
) -> list[dict[str, Any]]:
    """Return the conditions to write; None means Unknown, and `stamp` is the current time.

    The time of the last transition of a condition in `before` stays if its status does.
    """
    old = {str(condition.get("type")): condition for condition in before}
    merged = []
    for kind, holds in known.items():
        status = "Unknown" if holds is None else str(holds)
        same = old.get(kind, {}).get("status") == status
        merged.append(
            {
                "type": kind.value,
                "status": status,
                "reason": REASON,
                "message": _MESSAGES[kind][{True: 0, False: 1, None: 2}[holds]],
                "observedGeneration": generation,
                "lastTransitionTime": old[kind].get("lastTransitionTime") or stamp if same else stamp,
            }
        )
    return merged
