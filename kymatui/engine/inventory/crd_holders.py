"""Which installations have a CRD: Helm releases, kymatui's inventories, and Manifests, whoever installed them.

A CRD that several have belongs to none of them alone: the API server deletes its objects with it, those of all.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct

from kymatui.domain.installed import RELEASES
from kymatui.domain.inventories import KEY, Inventory, installation_owner, inventory_name, read_document
from kymatui.domain.kubernetes.object_meta import OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET, GroupVersionKind
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.ownership import Owner, OwnerKind
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.kind_order import DEFINITION
from kymatui.engine.cluster.ports import Cluster, Object
from kymatui.engine.inventory.ownership_marks import LABEL_HELM
from kymatui.errors import CancelledError, ForbiddenError, KymatuiError
from kymatui.helm.rendering.releases import from_record, mentioned_crds, record_text

_MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
_NAMED: Final = 3  # holders that a message names; the others are counted


class CrdHolders(Struct, frozen=True):
    """The other installations by the names of the CRDs that they have.

    unread  why not all installations could be read, "" if all were; any of them may then have any CRD
    """

    names: Mapping[str, tuple[str, ...]]
    unread: str = ""

    def reason(self, crd: str) -> str:
        """Return why a CRD stays for other installations, "" if only one has it."""
        holder_names = self.names.get(crd, ())
        if holder_names:
            more = f" and {len(holder_names) - _NAMED} more" if len(holder_names) > _NAMED else ""
            return f"{', '.join(holder_names[:_NAMED])}{more} {'have' if len(holder_names) > 1 else 'has'} it, too"
        return f"it is unknown whether other installations have it: {self.unread}" if self.unread else ""


NO_HOLDERS: Final = CrdHolders({})


def find_crd_holders(
    cluster: Cluster,
    crds: Collection[str],
    mine: Collection[Owner],
    cancel: threading.Event,
    width: int,
    manifests: Iterable[object] | None = None,
) -> CrdHolders:
    """Return which installations besides `mine` have these CRDs.

    `manifests` are the Manifests that describe this cluster, as those of a control plane; None reads the cluster's own.
    An installation that cannot be read, or listed, may have any CRD.
    """
    names = frozenset(crds)
    if not names:
        return NO_HOLDERS
    by_crd: dict[str, list[str]] = {}
    unread: list[str] = []

    def note(holders: Iterable[tuple[str, str]]) -> None:
        for crd, holder in holders:
            if holder not in (known := by_crd.setdefault(crd, [])):
                known.append(holder)

    readers: tuple[Callable[[], list[tuple[str, str]]], ...] = (
        lambda: list(_of_inventories(cluster, names, mine)),
        lambda: list(_of_releases(cluster, names, mine)),
        lambda: list(_of_manifests(_manifests_in(cluster) if manifests is None else manifests, names, mine)),
    )
    for answer in run_for_each(readers, _attempt, cancel, width):
        if isinstance(answer, str):
            unread.append(answer)
        else:
            note(answer)
    return CrdHolders({crd: tuple(sorted(holders)) for crd, holders in by_crd.items()}, "; ".join(unread))


def _attempt(read: Callable[[], list[tuple[str, str]]]) -> list[tuple[str, str]] | str:
    try:
        return read()
    except CancelledError:
        raise
    except ForbiddenError as error:
        return f"you may not list them: {error}"
    except KymatuiError as error:
        return str(error)


def _of_inventories(cluster: Cluster, crds: frozenset[str], mine: Collection[Owner]) -> Iterator[tuple[str, str]]:
    for raw in cluster.list(CONFIG_MAP, labels=f"{LABEL_HELM}=kymatui"):
        name, namespace = str(raw["metadata"]["name"]), str(raw["metadata"].get("namespace") or "")
        short = name.removeprefix(inventory_name(""))
        text = (raw.get("data") or {}).get(KEY)
        if not text or installation_owner(short, namespace, chart=False) in mine:
            continue
        inventory = read_document(text, f"ConfigMap {namespace}/{name}")
        yield from ((crd, f"installation {namespace}/{short}") for crd in _crds_of(inventory, crds))


def _of_releases(cluster: Cluster, crds: frozenset[str], mine: Collection[Owner]) -> Iterator[tuple[str, str]]:
    for record in (*cluster.list(SECRET, labels=RELEASES), *cluster.list(CONFIG_MAP, labels=RELEASES)):
        namespace = str(record["metadata"].get("namespace") or "")
        name = str((record["metadata"].get("labels") or {}).get("name") or "")
        if installation_owner(name, namespace, chart=True) in mine:
            continue
        text, release = record_text(record, KEY), from_record(record)
        own = _crds_of(read_document(text, str(read_ref(record))), crds) if text else frozenset()
        yield from ((crd, f"Helm release {namespace}/{name}") for crd in own | mentioned_crds(release, crds))


def _of_manifests(
    manifests: Iterable[object], crds: frozenset[str], mine: Collection[Owner]
) -> Iterator[tuple[str, str]]:
    for raw in manifests:
        manifest = read_manifest(raw)
        if not isinstance(manifest, Manifest):
            continue
        name = f"{manifest.meta.namespace}/{manifest.meta.name}"
        if Owner(OwnerKind.LIFECYCLE_MANAGER, name) not in mine:
            synced = {ref.name for ref in manifest.synced if (ref.kind.group, ref.kind.kind) == DEFINITION}
            yield from ((crd, f"Manifest {name}") for crd in synced & crds)


def _manifests_in(cluster: Cluster) -> list[Object]:
    served = cluster.kinds(_MANIFEST.group, _MANIFEST.kind)
    return cluster.list(served[0].gvk) if served else []


def _crds_of(inventory: Inventory, crds: frozenset[str]) -> frozenset[str]:
    items = (item.ref for item in inventory.items)
    return crds & {ref.name for ref in items if (ref.kind.group, ref.kind.kind) == DEFINITION}
