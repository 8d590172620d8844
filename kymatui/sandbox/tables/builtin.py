"""Cells of built-in kinds (k8s.io/kubernetes/pkg/printers/internalversion)."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.schemas.nodes import GVK, Object
from kymatui.sandbox.tables.core import CORE
from kymatui.sandbox.tables.pods import pod_cells
from kymatui.sandbox.tables.policies import POLICIES
from kymatui.sandbox.tables.rows import Cells
from kymatui.sandbox.tables.workloads import WORKLOADS

_CELLS: dict[str, Cells] = {"Pod": pod_cells, **CORE, **WORKLOADS, **POLICIES}


def builtin_cells(gvk: GVK, obj: Object, now: float) -> list[Any]:
    """The cells of one object, in the order of the columns."""
    cells = _CELLS.get(gvk[2])
    if cells is not None:
        return cells(obj, now)
    return [obj["metadata"]["name"], obj["metadata"].get("creationTimestamp")]
