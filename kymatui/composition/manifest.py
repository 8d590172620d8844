"""Modules by Manifests of kymatui's own operator: what is written, and how far the operator is with it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kymatui.actions.operator_lease import operator_of
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.object_meta import OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.versions import same_version, version_order
from kymatui.domain.modules.presence import Presence
from kymatui.domain.plans.cluster_management import ClusterManager, Operator, detect_management
from kymatui.domain.plans.direct_install import is_downgrade
from kymatui.domain.plans.manifest_body import (
    ManifestLayer,
    ManifestProgress,
    manifest_body,
    manifest_diff,
    track_manifest,
)
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.errors import CancelledError, ConflictError, KymatuiError, OutdatedError, PartlyDoneError, RefusedError

if TYPE_CHECKING:
    from kymatui.adapters.sessions.cluster.catalog_session import CatalogSession
    from kymatui.composition.sessions.pair_session import PairSession
    from kymatui.composition.sessions.runtime_session import RuntimeSession
    from kymatui.engine.cluster.ports import Cluster

_LOOK = 1.0


@dataclass(frozen=True, slots=True)
class ManifestProposal:
    """What writing a Manifest would do.

    lower     what is installed is higher; "" where it is not
    owners    who owns fields that would be written over
    operator  kymatui's, as its Lease tells
    sides     the cluster that gets the Manifest, and the runtime that the operator installs on; () where it is one
    """

    module: str
    version: str
    body: dict[str, Any]
    live: Manifest | None
    diff: tuple[str, ...]
    lower: str
    owners: tuple[str, ...]
    operator: Operator
    allowed: bool
    sides: tuple[str, ...] = ()

    @property
    def ref(self) -> ObjectRef:
        return read_ref(self.body)

    @property
    def changes_nothing(self) -> bool:
        return all(line.startswith(" ") for line in self.diff)


class ManifestAction:
    """The Manifests of one session, which was started. Methods block.

    Those of a runtime are on its control plane, whose operator installs on the runtime.
    """

    def __init__(self, session: CatalogSession | RuntimeSession | PairSession) -> None:
        self._session = session

    @cached_property
    def _kyma(self) -> tuple[str, str] | None:
        """The Kyma on the control plane, where the session is one with a runtime."""
        from kymatui.composition.sessions.pair_session import PairSession
        from kymatui.composition.sessions.runtime_session import RuntimeSession

        return self._session.key if isinstance(self._session, RuntimeSession | PairSession) else None

    @cached_property
    def cluster(self) -> Cluster:
        """That which has the Manifests; made when the server is asked for the first time: menus often need not."""
        from kymatui.adapters.sessions.cluster.cluster_access import cluster_of
        from kymatui.composition.sessions.pair_session import PairSession
        from kymatui.composition.sessions.runtime_session import RuntimeSession

        session = self._session
        return session.home if isinstance(session, RuntimeSession | PairSession) else cluster_of(session.client)

    def refusals(self, module: str) -> Iterator[str]:
        """Why a module cannot be installed by a Manifest; asks the server for what kymatui has installed of it."""
        snapshot = self._session.snapshot()
        manager = detect_management(snapshot)
        if manager.keeper is ClusterManager.LIFECYCLE_MANAGER:
            yield "lifecycle-manager writes the Manifests of this cluster: enable it in the Kyma"
            return
        if manager.keeper is ClusterManager.UNKNOWN:
            yield f"it is not known whether lifecycle-manager writes the Manifests of this cluster: {manager.why}"
            return
        if not self.cluster.kinds(OPERATOR, "Manifest"):
            yield "this cluster does not serve Manifests, and no operator works on them"
            return
        if self._kyma is not None:  # else nobody knows who else has the control plane
            operator = operator_of(self.cluster)
            if not operator.works:
                said = "no operator of kymatui's works on the control plane"
                yield f"{said} ({operator.words}): enable it in the Kyma, or install it directly"
                return
        row = build_catalog(snapshot, time.time()).row(module)
        if row is None or not self.versions(module):
            yield "no template says in which registry it lies: install it directly"
        elif row.manifest is None and row.presence not in (Presence.NOT_INSTALLED, Presence.ORPHAN):
            yield "it is installed without a Manifest: whoever installed it upgrades it"

    def versions(self, module: str) -> tuple[str, ...]:
        """Those whose templates say where their layers are, the newest first."""
        offers = index_cluster(self._session.snapshot()).shelf.offers(module)
        found = dict.fromkeys(one.version for one in offers if one.version and _layer(one) is not None)
        return tuple(sorted(found, key=version_order, reverse=True))

    def newest(self, module: str) -> str:
        """The newest stable version, or pre-release where there is no other; "" where there is none."""
        versions = self.versions(module)
        return next((one for one in versions if "-" not in one), next(iter(versions), ""))

    def installed(self, module: str) -> str:
        """The version of its Manifest, "" where there is none."""
        live = index_cluster(self._session.snapshot()).manifests.get(module)
        return live.version if live is not None else ""

    def propose(self, module: str, version: str) -> ManifestProposal:
        """Raises RefusedError."""
        refused = list(self.refusals(module))
        if refused:
            raise RefusedError(f"{module}: {'; '.join(refused)}", hint="nothing was changed")
        world = index_cluster(self._session.snapshot())
        template = next(
            (one for one in world.shelf.offers(module) if same_version(one.version, version) and _layer(one)), None
        )
        layer = _layer(template) if template is not None else None
        if template is None or layer is None:
            raise RefusedError(f"{module} {version} is not offered any more", hint="nothing was changed")
        live = world.manifests.get(module)
        body = manifest_body(template, layer, live, self._kyma)
        before = live.version if live is not None else ""
        ref = read_ref(body)
        return ManifestProposal(
            module,
            template.version,
            body,
            live,
            tuple(manifest_diff(body, live)),
            before if before and is_downgrade(before, template.version) else "",
            self._owners(body),
            operator_of(self.cluster),
            self.cluster.allowed("patch", ref.kind, ref.namespace),
            (self.cluster.name, self._kyma[1]) if self._kyma is not None and body["spec"]["remote"] else (),
        )

    def propose_newest(self, modules: Sequence[str]) -> tuple[list[ManifestProposal], list[str]]:
        """The newest stable version of each, where that changes something; and of the rest why not."""
        made, left_out = [], []
        for module in modules:
            try:
                one = self.propose(module, self.newest(module))
            except RefusedError as error:
                left_out.append(str(error))
                continue
            if one.changes_nothing or one.lower:
                left_out.append(f"{module}: {self.installed(module)} is what its Manifest says already")
            else:
                made.append(one)
        return made, left_out

    def _owners(self, body: dict[str, Any]) -> tuple[str, ...]:
        """Whose fields it would take, by the server's own word; what else it refuses is raised."""
        pins = ("resourceVersion", "uid")
        unpinned = {**body, "metadata": {k: v for k, v in body["metadata"].items() if k not in pins}}
        try:
            self.cluster.apply(unpinned, dry_run=True)
        except ConflictError as error:
            details = error.body.get("details") if isinstance(error.body, dict) else None
            causes = details.get("causes") if isinstance(details, dict) else None
            said = (str(one.get("message") or "") for one in causes or () if isinstance(one, dict))
            return tuple(dict.fromkeys(said)) or (str(error),)
        except KymatuiError as error:
            raise RefusedError(f"the server does not take the Manifest: {error}", hint=error.hint) from error
        return ()

    def carry_out(self, proposal: ManifestProposal) -> tuple[str, int]:
        """Writes it, only where it is as it was seen; the uid and the generation that it has then."""
        if proposal.live is None and self.cluster.get(proposal.ref) is not None:
            raise OutdatedError(f"somebody else has made {proposal.ref} meanwhile", hint="nothing was changed")
        try:
            made = self.cluster.apply(proposal.body, force=bool(proposal.owners))
        except ConflictError as error:
            raise OutdatedError(
                f"somebody else has changed or deleted {proposal.ref} since it was looked at",
                hint="nothing was changed",
            ) from error
        metadata = made["metadata"]
        return str(metadata.get("uid") or ""), int(metadata.get("generation") or 0)

    def follow(
        self,
        proposal: ManifestProposal,
        written: tuple[str, int],
        changed: threading.Event,
        tell: Callable[[ManifestProgress], None],
        cancel: threading.Event,
        timeout: float,
    ) -> str:
        """Until the operator is done with it.

        Raises PartlyDoneError where somebody else interferes or `timeout` seconds are over, CancelledError.
        """
        last, deadline = None, time.monotonic() + timeout
        while True:
            changed.clear()
            now = track_manifest(self._live(proposal, written[0]), *written)
            if now.lost:
                hint = f"`kymatui module {proposal.module}`"
                raise PartlyDoneError(f"the Manifest was written; {now.words}", hint=hint)
            if now.finished:
                return now.words
            if now != last:
                tell(now)
                last = now
            if time.monotonic() >= deadline:
                raise PartlyDoneError(f"the Manifest is written; not done within {timeout:g} s: {now.words}")
            if cancel.is_set():
                raise CancelledError("the Manifest is written; the operator goes on with it")
            changed.wait(_LOOK)

    def _live(self, proposal: ManifestProposal, uid: str) -> Manifest | None:
        """As the watch has it; what that does not know (yet, or any more) the server is asked for."""
        seen = index_cluster(self._session.snapshot()).manifests.get(proposal.module)
        if seen is not None and seen.meta.uid == uid:
            return seen
        found = read_manifest(self.cluster.get(proposal.ref))
        return found if isinstance(found, Manifest) else None


def _layer(template: ModuleTemplate) -> ManifestLayer | None:
    """Where the descriptor says that the module's objects lie; None where it does not, or cannot be read."""
    from kymatui.ocm import DescriptorError, module_layers, read_descriptor
    from kymatui.ocm.module_layers import COMPONENTS

    raw = (template.raw.get("spec") or {}).get("descriptor")
    if not raw:
        return None
    try:
        descriptor = read_descriptor(raw)
        found = module_layers(descriptor).raw_manifest
    except DescriptorError:
        return None
    if found is None or f"/{COMPONENTS}/" not in found.repository:
        return None
    repo, _, component = found.repository.partition(f"/{COMPONENTS}/")
    plain = any(str(one.get("baseUrl") or "").startswith("http://") for one in descriptor.contexts)
    return ManifestLayer(f"http://{repo}" if plain else repo, component, found.digest, found.is_archive)
