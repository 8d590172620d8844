"""The layers of Manifests from their registries, with the pull Secrets that the Manifests select."""

from __future__ import annotations

from collections.abc import Sequence

from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.bundles.yaml_objects import unique_documents
from kymatui.engine.cluster.ports import Object
from kymatui.engine.sources.manifest_installs import InstallReader
from kymatui.operator.manifests.pull_secrets import authenticated
from kymatui.operator.manifests.reconcile_context import ReconcileContext


class RegistryLayers:
    """Implements `LayerReader`."""

    def __init__(self, site: ReconcileContext) -> None:
        self._site = site

    def objects(self, manifest: Manifest) -> Sequence[Object]:
        reader = InstallReader(manifest, self._site.blobs, authenticated=authenticated(self._site, manifest))
        return unique_documents(reader.bundle(manifest.installs[0]).objects)
