"""The names by which Manifests and their objects are marked, and the kinds that start Pods."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind

FINALIZER: Final = "declarative.kyma-project.io/finalizer"
OLD_FINALIZER: Final = f"{OPERATOR}/manifest"
OWN_FINALIZERS: Final = (FINALIZER, OLD_FINALIZER)
COMPONENT: Final = "app.kubernetes.io/component"
PART_OF: Final = "app.kubernetes.io/part-of"

ORPHAN_SECONDS: Final = 300.0
"""Seconds until a Manifest that its Kyma does not report counts as orphaned, as in lifecycle-manager."""

WORKLOADS: Final = tuple(GroupVersionKind("apps", "v1", kind) for kind in ("Deployment", "StatefulSet", "DaemonSet"))
STATEFUL_SET: Final = GroupVersionKind("apps", "v1", "StatefulSet")
POD: Final = GroupVersionKind("", "v1", "Pod")
