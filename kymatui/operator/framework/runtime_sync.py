"""What the Kyma controller has others copy to a runtime, one Kyma at a time.

Implementations write only what differs, so that a reconciliation without a change writes nothing. They raise
KymatuiError; the Kyma controller then sets the condition to False and tries again.
"""

from __future__ import annotations

import threading
from typing import Protocol

from kymatui.domain.kyma.kymas import Kyma
from kymatui.engine.cluster.ports import Cluster


class RuntimeCatalogSync(Protocol):
    """The catalog of a runtime: condition CRDsSync of `sync_crds`, ModuleCatalog of `sync_catalog`."""

    def sync_crds(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Copy the CRDs of Kyma, ModuleTemplate and ModuleReleaseMeta."""
        ...

    def sync_catalog(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> None:
        """Copy the ModuleTemplates and ModuleReleaseMetas that this Kyma may have; delete earlier copies.

        `kyma` is the control plane's Kyma with channel and modules of the runtime's.
        """
        ...


class RuntimeWebhookSync(Protocol):
    """The watcher's objects on a runtime and its certificate on the control plane: condition SKRWebhook."""

    def sync_webhook(self, kyma: Kyma, runtime: Cluster, cancel: threading.Event) -> bool:
        """Create or update them; return whether the webhook is ready."""
        ...

    def remove_webhook(self, kyma: Kyma, runtime: Cluster | None, cancel: threading.Event) -> bool:
        """Delete what exists; return whether anything did. `runtime` is None without an access Secret."""
        ...

    def forget_webhook(self, kyma: str) -> None:
        """Drop what is kept for a Kyma that no longer exists, or that another replica reconciles."""
        ...
