"""The guard against direct installation of modules that a Kyma requests."""

from __future__ import annotations

from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, RefusedError

_GROUP = "operator.kyma-project.io"


def refuse_kyma_managed(cluster: Cluster, module: str) -> str:
    """Raise RefusedError if a Kyma requests the module; return a note if Kymas cannot be listed."""
    kinds = cluster.kinds(_GROUP, "Kyma")
    if not kinds:
        return ""
    try:
        kymas = cluster.list(kinds[0].gvk)
    except ForbiddenError as error:
        return f"it is unknown whether a Kyma requests {module}: {error}"
    for raw in kymas:
        spec, meta = JsonReader(raw).child("spec"), JsonReader(raw).child("metadata")
        entry = next((one for one in spec.children("modules") if one.text("name") == module), None)
        if entry is not None and entry.flag("managed", True):
            raise RefusedError(
                f"{module} is managed by the Kyma {meta.text('namespace')}/{meta.text('name')}; no changes made",
                hint="disable it in the Kyma, or set it to unmanaged",
            )
    return ""
