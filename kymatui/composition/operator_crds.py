"""The CRDs of Kyma for a cluster without them: the sandbox's own, which have the fields of the real ones."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.world.modules.sample_crds import kyma_definitions


def kyma_crds(namespace: str) -> list[dict[str, Any]]:
    """Return the namespace of Kymas and the five CRDs, in the order in which they are applied."""
    return [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}, *kyma_definitions()]
