"""JSON patches of a kustomization."""

from __future__ import annotations

import copy
from typing import Any

from kymatui.errors import SourceError
from kymatui.helm.yaml.conversions import count_nodes
from kymatui.helm.yaml.errors import YamlLimitError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.schemas.objects.json_patch import JsonPatchError, apply_operation


def apply(body: Any, patch: list[Any], where: str, budget: YamlBudget) -> Any:
    """Apply all operations to the object and return it. Raises SourceError, also for what is no object any more.

    Copies are charged to the budget of the build.
    """
    root = [body]
    for number, operation in enumerate(patch, 1):
        try:
            apply_operation(root, operation, lambda value: charged_copy(value, budget))
        except (JsonPatchError, YamlLimitError) as error:
            label = f", {operation.get('op')} {operation.get('path')}" if isinstance(operation, dict) else ""
            raise SourceError(f"{where}: operation {number}{label}: {error}") from error
    if not isinstance(root[0], dict):
        raise SourceError(f"{where}: the patch leaves no object", hint="patch below the root, such as /spec/replicas")
    return root[0]


def charged_copy(value: Any, budget: YamlBudget) -> Any:
    """Return a copy, which counts: copies of an object into itself double it each time. Raises YamlLimitError."""
    budget.charge(count_nodes(value))
    return copy.deepcopy(value)
