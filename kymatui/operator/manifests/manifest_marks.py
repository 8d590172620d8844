"""The names by which Manifests and their objects are marked, and the kinds that start Pods."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.manifests import FINALIZER, LABEL_FINALIZER

REQUIRED_FINALIZERS: Final = (FINALIZER, LABEL_FINALIZER)
SYNCED_LAYER: Final = "sync-oci-ref"
"""The annotation with the digest of the layer that was last applied completely."""
LAYER_TYPES: Final = ("oci-ref", "oci-dir")
"""The types of sources that are layers."""
COMPONENT: Final = "app.kubernetes.io/component"
PART_OF: Final = "app.kubernetes.io/part-of"
MANIFEST_ACCOUNT: Final = "kymatui-manifests"
"""The ServiceAccount of a namespace outside of the Kymas', unless the operator is given another name."""

WORKLOADS: Final = tuple(GroupVersionKind("apps", "v1", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet"))
