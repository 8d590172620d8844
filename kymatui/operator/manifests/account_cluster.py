"""Where Manifests outside of the Kymas' namespace are installed: in their own cluster, as a ServiceAccount."""

from __future__ import annotations

import threading
from typing import Final

from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ConfigurationError

MANIFEST_ACCOUNT: Final = "kymatui-manifests"
"""The ServiceAccount of such a namespace, unless the operator is given another name."""


class AccountCluster:
    """Implements `Runtimes`; `cluster` is the operator's own cluster with the rights of the ServiceAccount."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def of(self, manifest: Manifest, cancel: threading.Event) -> Cluster | None:
        if manifest.remote:
            raise ConfigurationError(
                f"{manifest.ref} is for a runtime, and only the Kymas' namespace has access to runtimes",
                hint="set spec.remote to false",
            )
        return self._cluster
