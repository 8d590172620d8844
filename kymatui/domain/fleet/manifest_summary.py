"""Manifests of a fleet, reduced to the fields that a control plane's screens show."""

from __future__ import annotations

from sys import intern

from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.snapshots import Object
from kymatui.first_use import dataclass


@dataclass(frozen=True, slots=True)
class ManifestSummary:
    """The summary of one Manifest.

    `changed` is the newest condition change, None if there is none. `operation` is lifecycle-manager's own message.
    """

    namespace: str
    name: str
    kyma: str
    module: str
    version: str
    state: str
    operation: str
    mandatory: bool
    deleting: bool
    created: float | None
    changed: float | None

    @property
    def is_waiting(self) -> bool:
        """Return whether its module is known not to be ready."""
        return self.state not in (State.READY, "")

    @property
    def is_failing(self) -> bool:
        """Return whether its module needs attention: a rollout on its way does not."""
        return self.is_waiting and self.state != State.PROCESSING


def read_summary(raw: Object) -> ManifestSummary | None:
    """Return the summary of a Manifest, None if the object is malformed."""
    found = read_manifest(raw)
    if not isinstance(found, Manifest):
        return None
    meta = found.meta
    times = [condition.since for condition in found.conditions if condition.since is not None]
    return ManifestSummary(
        namespace=intern(meta.namespace),
        name=meta.name,
        kyma=found.kyma,
        module=intern(found.module),
        version=intern(found.version),
        state=intern(found.state),
        operation=intern(found.operation),
        mandatory=found.mandatory,
        deleting=meta.deleting,
        created=meta.created,
        changed=max(times, default=None),
    )
