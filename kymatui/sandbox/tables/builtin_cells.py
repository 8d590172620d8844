"""Cells of built-in kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.tables.core_cells import CORE
from kymatui.sandbox.tables.pod_cells import pod_cells
from kymatui.sandbox.tables.policy_cells import POLICIES
from kymatui.sandbox.tables.shared_cells import Cells
from kymatui.sandbox.tables.workload_cells import WORKLOADS
from kymatui.schemas.types.schema_node import GVK, Object

_CELLS: dict[str, Cells] = {"Pod": pod_cells, **CORE, **WORKLOADS, **POLICIES}


def builtin_cells(gvk: GVK, obj: Object, now: float) -> list[Any]:
    """Return the cells of one object in column order."""
    cells = _CELLS.get(gvk[2])
    if cells is not None:
        return cells(obj, now)
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]
