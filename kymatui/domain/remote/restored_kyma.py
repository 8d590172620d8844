"""The spec of a runtime's Kyma that a user deleted, from what the control plane knows to be installed.

lifecycle-manager creates the Kyma again with the spec that the control plane stored at first, which uninstalls modules
that were enabled on the runtime, with their module CRs.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from kymatui.domain.kubernetes.object_meta import LABEL_MODULE_NAME
from kymatui.domain.kyma.kymas import Kyma, ModuleReport, Policy
from kymatui.domain.kyma.manifests import Manifest
from kymatui.domain.kyma.states import State

Json = dict[str, Any]


def restored_spec(kyma: Kyma, manifests: Iterable[Manifest]) -> Json:
    """Return the spec for a missing Kyma of a runtime; `kyma` and `manifests` are the control plane's.

    A Kyma that has never been usable gets the stored spec, because the runtime had none yet.
    """
    spec: Json = copy.deepcopy(kyma.raw.get("spec") or {})
    if not kyma.active_channel:
        return spec
    spec["channel"] = kyma.active_channel
    spec["modules"] = reported_requests(kyma, kyma.active_channel, manifests)
    return spec


def reported_requests(kyma: Kyma, channel: str, manifests: Iterable[Manifest] = ()) -> list[Json]:
    """Return the entries of `spec.modules` that the reports of a control plane's Kyma stand for.

    `channel` is the Kyma's: modules that report another one name it.
    """
    installed = {one.meta.labels.get(LABEL_MODULE_NAME, ""): one for one in manifests}
    return [
        _entry(report, installed.get(report.name), channel)
        for report in kyma.reports
        if not _is_going(report, installed.get(report.name))
    ]


def _is_going(report: ModuleReport, manifest: Manifest | None) -> bool:
    return report.state == State.DELETING or (manifest is not None and manifest.meta.deleting)


def _entry(report: ModuleReport, manifest: Manifest | None, channel: str) -> Json:
    made: Json = {"name": report.name}
    if report.channel and report.channel != channel:
        made["channel"] = report.channel
    if manifest is not None and manifest.policy == Policy.IGNORE:
        made["customResourcePolicy"] = Policy.IGNORE.value
    if report.state == State.UNMANAGED:
        made["managed"] = False
    return made
