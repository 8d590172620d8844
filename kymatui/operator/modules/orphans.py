"""Manifests without a Kyma that knows them."""

from __future__ import annotations

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest
from kymatui.engine.cluster.ports import Clock, Cluster
from kymatui.operator.manifests.manifest_marks import ORPHAN_SECONDS


def orphan_reason(home: Cluster, clock: Clock, manifest: Manifest) -> str:
    """Return why the Manifest is an orphan, "" if it is none: its Kyma is gone, or has not reported it for 5 minutes.

    Kymas do not report mandatory modules.
    """
    kind = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
    kyma = read_kyma(home.get(ObjectRef(kind, manifest.meta.namespace, manifest.kyma)))
    if not isinstance(kyma, Kyma):
        return "orphaned manifest detected: parent Kyma does not exist"
    reported = [report.manifest.ref.name for report in kyma.reports if report.manifest is not None]
    age = clock.now() - (manifest.meta.created or 0.0)
    if manifest.mandatory or manifest.meta.name in reported or age < ORPHAN_SECONDS:
        return ""
    return "orphaned manifest detected: manifest is not referenced in Kyma status"
