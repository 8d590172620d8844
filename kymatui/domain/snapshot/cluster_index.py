"""The index of a snapshot, built once, so that each module finds its objects without a full scan."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct, field

from kymatui.domain.installed import (
    RecordedInstallation,
    manifest_installations,
    name_installations,
    read_installations,
)
from kymatui.domain.kubernetes.json_reader import JsonReader, mapping_at
from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, MalformedObject, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectKey
from kymatui.domain.kyma.kyma_keeper import find_keeper, possible_keepers, why_stopped
from kymatui.domain.kyma.kymas import KYMA_NAME, KYMA_NAMESPACE, Kyma, as_requested, read_kyma
from kymatui.domain.kyma.manifests import Manifest, manifest_name, read_manifest
from kymatui.domain.kyma.problems import Actor
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.domain.ownership import (
    ANNOTATION_MANIFEST,
    ANNOTATION_RELEASE,
    LABEL_PART_OF,
    Owner,
    owning_manifest,
    read_owner,
)
from kymatui.domain.snapshot.missing_lists import ListGap, UnknownFact, explain_gaps, explain_missing, gap_of
from kymatui.domain.snapshot.snapshots import Object, ReadCache, Snapshot, namespaced_feed

Key = TypeVar("Key")

KYMA_FEED = "kymas.operator.kyma-project.io"
CATALOG_FEEDS = ("moduletemplates.operator.kyma-project.io", "modulereleasemetas.operator.kyma-project.io")
MANIFEST_FEED = "manifests.operator.kyma-project.io"
CRD_FEED = "customresourcedefinitions.apiextensions.k8s.io"
INVENTORY_FEED = "configmaps"
RELEASE_FEED = "secrets"
RELEASE_MAP_FEED = namespaced_feed("configmaps", "Helm releases")
"""The feed of releases with HELM_DRIVER=configmap, which is part of `INVENTORY_FEED` in a snapshot."""
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
WORKLOAD_FEEDS = {
    "Deployment": "deployments.apps",
    "StatefulSet": "statefulsets.apps",
    "DaemonSet": "daemonsets.apps",
    "CustomResourceDefinition": CRD_FEED,
}


class ClusterIndex(Struct, frozen=True):
    """A snapshot's objects by key; `is_runtime` is False in a control plane.

    `modules` are those of catalogs, Kyma and Manifests; `installations` and `releases` are by the names of their rows.
    `keeper` is what works on the Kyma: lifecycle-manager or kymatui's operator. `stopped` says why it does not run, ""
    where it does or nothing shows it.
    """

    snapshot: Snapshot
    kyma: Kyma | None
    templates: TemplateIndex
    manifests: Mapping[str, Manifest]
    malformed: tuple[MalformedObject, ...]
    workloads: Mapping[tuple[str, str], tuple[Object, ...]]
    labelled: Mapping[tuple[str, str], tuple[Object, ...]]
    definitions: Mapping[tuple[str, str], Object]
    resources: Mapping[tuple[str, str], tuple[Object, ...]]
    pods: tuple[Object, ...] = ()
    modules: frozenset[str] = frozenset()
    installations: Mapping[str, RecordedInstallation] = field(default_factory=dict)
    releases: Mapping[str, RecordedInstallation] = field(default_factory=dict)
    owned_workloads: Mapping[Owner, tuple[Object, ...]] = field(default_factory=dict)
    keeper: Actor = Actor.KLM
    stopped: str = ""
    is_runtime: bool = True

    @property
    def runtime(self) -> str:
        """Return the name that `--remote` has for the cluster where modules run, "" if it is read directly."""
        is_direct = self.is_runtime and not self.snapshot.joined
        return "" if self.kyma is None or is_direct else self.kyma.meta.name

    @property
    def kyma_unreadable(self) -> bool:
        """Return whether a Kyma may exist unseen."""
        return self.kyma is None and not self.readable(KYMA_FEED)

    def readable(self, feed: str) -> bool:
        """Return whether an empty list of this resource name means that there are no objects."""
        return gap_of(self.snapshot.feeds.get(feed)) is None

    def missing(self, names: Iterable[str]) -> UnknownFact | None:
        """Return why facts are unknown that need these lists, None if all are complete."""
        return explain_missing(self.snapshot.feeds, names)

    def unseen(self, names: Sequence[str]) -> str:
        """Return why these lists are unknown; a name without a feed may still come while others load."""
        feeds = self.snapshot.feeds
        gaps = list(explain_gaps(feeds, names))
        rest = tuple(name for name in names if name not in feeds)
        if rest:
            loading = any(gap_of(feed) is ListGap.LOADING for feed in feeds.values())
            gaps.append(UnknownFact(ListGap.LOADING if loading else ListGap.UNKNOWN, rest))
        return "; ".join(map(str, gaps))

    def feed_of(self, kind: GroupVersionKind) -> str:
        """Return the resource name of a module's kind, as its CRD says.

        Without a readable CRD, return the feed of the same group whose name begins like the kind. This guess only
        tells "none" from "unknown". "" if neither exists.
        """
        definition = self.definitions.get((kind.group, kind.kind))
        plural = JsonReader(definition).child("spec").child("names").text("plural")
        if plural:
            return f"{plural}.{kind.group}"
        start, end = kind.kind.lower()[:-1], f".{kind.group}"
        return next((name for name in sorted(self.snapshot.feeds) if name.startswith(start) and name.endswith(end)), "")

    def is_cluster_scoped(self, kind: GroupVersionKind) -> bool:
        """Return whether objects of a module's kind have no namespace: by its CRD, else by those that exist."""
        definition = self.definitions.get((kind.group, kind.kind))
        if definition is not None:
            return JsonReader(definition).child("spec").text("scope") == "Cluster"
        return any(not read_ref(raw).namespace for raw in self.resources.get((kind.group, kind.kind), ()))

    def installation(self, name: str) -> RecordedInstallation | None:
        """Return what was installed under the name of a row."""
        return self.installations.get(name) or self.releases.get(name)

    def installation_of(self, owner: Owner | None) -> RecordedInstallation | None:
        """Return the installation that an object's marks name."""
        known = (*self.installations.values(), *self.releases.values()) if owner is not None else ()
        return next((installation for installation in known if installation.owner == owner), None)

    def workloads_of(self, installation: RecordedInstallation) -> tuple[Object, ...]:
        """Return the workloads of an installation: those that it lists, then those with its marks."""
        refs = [ref for ref in installation.refs if ref.kind.kind in WORKLOADS]
        listed = [raw for ref in refs for raw in self.workloads.get((ref.kind.kind, ref.name), ())]
        keys = {ref.key for ref in refs}
        listed_workloads = [raw for raw in listed if read_ref(raw).key in keys]
        listed_workloads += self.owned_workloads.get(installation.owner, ())
        return tuple({object_identity(raw): raw for raw in listed_workloads}.values())

    def existing_objects(self, installation: RecordedInstallation) -> frozenset[ObjectKey] | None:
        """Return the objects of an unfinished installation that exist, None if not all of their lists came."""
        applied = self.snapshot.applied.get(installation.record)
        if applied is None:
            return None
        snapshot = self.snapshot
        return frozenset(read_ref(raw).key for raw in (*applied, *snapshot.workloads, *snapshot.definitions))

    def resources_of(self, kind: GroupVersionKind) -> tuple[Object, ...] | None:
        """Return every object of a module's kind in all versions and namespaces, None if unreadable."""
        raws = self.resources.get((kind.group, kind.kind))
        feed = self.feed_of(kind)
        if raws or (raws is not None and self.readable(feed)):
            return raws
        known = feed or self.readable(WORKLOAD_FEEDS["CustomResourceDefinition"])
        return () if known and self.readable(feed) else None


def index_cluster(snapshot: Snapshot, cache: ReadCache | None = None) -> ClusterIndex:
    """Index a snapshot."""
    cache = cache or ReadCache()
    workloads, definitions = snapshot.workloads, snapshot.definitions
    kyma = cache.recall("kyma", (snapshot.kymas,), lambda: _read_chosen(snapshot.kymas))
    namespace = kyma.meta.namespace if kyma is not None else _catalog_namespace(snapshot.release_metas)
    catalogs = (snapshot.templates, snapshot.release_metas)
    outside = snapshot.outside
    templates = cache.recall(
        "shelf", (*catalogs, outside), lambda: index_templates(*catalogs, namespace, outside), namespace
    )
    owner = kyma.raw if kyma is not None else None
    applied = cache.recall(
        "manifests",
        (snapshot.manifests, (owner,)),
        lambda: [read_manifest(raw) for raw in snapshot.manifests if _may_belong(raw, kyma)],
    )
    manifests = [item for item in applied if isinstance(item, Manifest)]
    unusable = cache.recall("unusable", (snapshot.kymas,), lambda: list(map(_unusable, snapshot.kymas)))
    bad = [item for item in (*unusable, *applied) if isinstance(item, MalformedObject)]
    bad += cache.recall("odd workloads", (workloads,), lambda: _no_objects(workloads))
    bad += _no_objects(raw for group in snapshot.module_resources.values() for raw in group)
    own = _manifests_by_module(manifests, kyma)
    is_runtime = snapshot.joined or kyma is None or kyma.meta.namespace == KYMA_NAMESPACE or _runs_here(own, workloads)
    if kyma is not None and not is_runtime:
        deleted = {module for module, item in own.items() if item.meta.deleting}
        kyma = as_requested(kyma, deleted)
    modules = _module_names(kyma, templates, own)
    installations, releases = name_installations(_installations(snapshot, manifests, cache), modules)
    keeper = (
        cache.recall(
            "keeper",
            (snapshot.manifests, workloads, (owner,)),
            lambda: snapshot_keeper(snapshot, owner),
            snapshot.keeper_lease,
        )
        or Actor.KLM
    )
    return ClusterIndex(
        snapshot=snapshot,
        kyma=kyma,
        templates=templates,
        manifests=own,
        malformed=(*bad, *templates.malformed),
        workloads=cache.recall("workloads", (workloads,), lambda: _grouped(workloads, _by_kind_and_name)),
        labelled=cache.recall("labels", (workloads,), lambda: _grouped(workloads, _by_module_labels)),
        definitions=cache.recall(
            "definitions", (definitions,), lambda: {key: raw for raw in definitions for key in _defined(raw)}
        ),
        resources=_module_resources(snapshot.module_resources),
        pods=cache.recall(
            "pods", (snapshot.owned,), lambda: tuple(raw for raw in snapshot.owned if raw.get("kind") == "Pod")
        ),
        modules=modules,
        installations=installations,
        releases=releases,
        owned_workloads=cache.recall("owned workloads", (workloads,), lambda: _grouped(workloads, _by_owner)),
        keeper=keeper,
        stopped=why_keeper_stopped(snapshot, owner, keeper),
        is_runtime=is_runtime,
    )


def _runs_here(manifests: Mapping[str, Manifest], workloads: Iterable[Object]) -> bool:
    """Return whether modules run beside their Manifests."""
    paths = {item.ref.path for item in manifests.values()}
    return any(owning_manifest(raw) in paths for raw in workloads if isinstance(raw, Mapping))


def snapshot_keeper(snapshot: Snapshot, kyma: object | None) -> Actor | None:
    """Return what works on a Kyma of the snapshot, and if it has none, on the Manifests; None if nothing shows it."""
    written = [kyma] if isinstance(kyma, Mapping) and possible_keepers(kyma) else snapshot.manifests
    return find_keeper(written, snapshot.workloads, snapshot.keeper_lease)


def why_keeper_stopped(snapshot: Snapshot, kyma: object | None, keeper: Actor) -> str:
    """Return why what works on a Kyma of the snapshot does not run, "" where it runs or nothing shows it."""
    is_elsewhere = snapshot.joined or (isinstance(kyma, Mapping) and bool(owning_manifest(kyma)))
    return why_stopped(keeper, () if is_elsewhere else snapshot.workloads, snapshot.keeper_lease)


def asked_keepers(kymas: Sequence[Object], manifests: Iterable[Object]) -> frozenset[Actor]:
    """Return what may work on the Kyma, and if it has none, on the Manifests; nothing where it runs elsewhere."""
    kyma = choose_kyma(kymas)
    if isinstance(kyma, Mapping):
        if owning_manifest(kyma):
            return frozenset()
        if keepers := possible_keepers(kyma):
            return frozenset(keepers)
    return frozenset(keeper for raw in manifests for keeper in possible_keepers(raw))


def _module_names(kyma: Kyma | None, templates: TemplateIndex, manifests: Iterable[str]) -> frozenset[str]:
    names = {meta.module for meta in templates.metas} | set(templates.by_module) | set(manifests)
    if kyma is not None:
        names |= {request.name for request in kyma.modules} | {report.name for report in kyma.reports}
    return frozenset(name for name in names if name)


def _installations(
    snapshot: Snapshot, manifests: Sequence[Manifest], cache: ReadCache
) -> Iterable[RecordedInstallation]:
    """Yield what was installed without a Manifest; a Manifest's installations are read with its module."""
    sources = (snapshot.inventories, snapshot.releases)
    installations = cache.recall("installations", sources, lambda: read_installations(*sources))
    recorded = manifest_installations(manifests)
    marked = cache.recall("of Manifests", (snapshot.workloads,), lambda: _owners_of_manifests(snapshot.workloads))
    return (
        installation
        for installation in installations
        if (installation.name, installation.namespace) not in recorded and installation.owner not in marked
    )


def _owners_of_manifests(workloads: Iterable[Object]) -> frozenset[Owner]:
    """Return the owners of workloads that an operator installed from a Manifest, wherever that is."""
    marked = (raw for raw in workloads if isinstance(raw, Mapping) and _is_of_manifest(raw))
    return frozenset(owner for raw in marked if (owner := read_owner(raw)) is not None)


def _is_of_manifest(raw: Object) -> bool:
    annotations = mapping_at(raw, "metadata").get("annotations")
    return isinstance(annotations, dict) and ANNOTATION_MANIFEST in annotations


def _by_owner(raw: Object) -> Iterable[Owner]:
    metadata = mapping_at(raw, "metadata")
    marks = (metadata.get("annotations"), ANNOTATION_RELEASE), (metadata.get("labels"), LABEL_PART_OF)
    if any(isinstance(texts, dict) and mark in texts for texts, mark in marks):  # most workloads have none
        owner = read_owner(raw)
        if owner is not None:
            yield owner


def _no_objects(raws: Iterable[object]) -> list[MalformedObject]:
    return [MalformedObject(read_ref(raw), "it is not an object", raw) for raw in raws if not isinstance(raw, Mapping)]


def _read_chosen(kymas: Sequence[object]) -> Kyma | None:
    chosen = choose_kyma(kymas)
    kyma = read_kyma(chosen) if chosen is not None else None
    return kyma if isinstance(kyma, Kyma) else None


def choose_kyma(kymas: Sequence[object]) -> object | None:
    """Return the catalog's Kyma: `kyma-system/default`, else the first with a status.

    Only this one is read in full, because a control plane has thousands.
    """
    usable = [raw for raw in kymas if _unusable(raw) is None]
    return min(usable, key=_rank, default=None)


def _rank(raw: object) -> tuple[bool, bool, bool]:
    ref = read_ref(raw)
    here = ref.namespace == KYMA_NAMESPACE
    return (not here, not (here and ref.name == KYMA_NAME), not JsonReader(raw).child("status").text("state"))


def _unusable(raw: object) -> MalformedObject | None:
    ref = read_ref(raw)
    if isinstance(raw, Mapping) and ref.name and isinstance(raw.get("spec"), Mapping | None):
        return None
    kyma = read_kyma(raw)
    return kyma if isinstance(kyma, MalformedObject) else None


def _may_belong(raw: object, kyma: Kyma | None) -> bool:
    """Return whether a Manifest may belong to this Kyma.

    The check avoids parsing: a control plane has tens of thousands of Manifests.
    """
    if kyma is None or not isinstance(raw, Mapping):
        return True
    owner = mapping_at(raw, "metadata", "labels").get(LABEL_KYMA_NAME)
    return not isinstance(owner, str) or owner == kyma.meta.name


def _catalog_namespace(metas: Sequence[object]) -> str:
    """Return the release metas' namespace, `kyma-system` if there is none or more than one."""
    namespaces = {read_ref(raw).namespace for raw in metas}
    return namespaces.pop() if len(namespaces) == 1 and "" not in namespaces else KYMA_NAMESPACE


def _manifests_by_module(manifests: Iterable[Manifest], kyma: Kyma | None) -> dict[str, Manifest]:
    """Return a Kyma's Manifests by module label, else by the names that the Kyma's status leads to."""
    by_module: dict[str, Manifest] = {}
    names = _expected_names(kyma)
    for manifest in manifests:
        if kyma is not None and manifest.kyma not in ("", kyma.meta.name):  # without the label, the name below decides
            continue
        if kyma is not None and manifest.meta.namespace != kyma.meta.namespace:
            continue
        module = manifest.module or names.get(manifest.meta.name, "")
        if module:
            by_module.setdefault(module, manifest)
    return by_module


def _expected_names(kyma: Kyma | None) -> dict[str, str]:
    if kyma is None:
        return {}
    names = {manifest_name(kyma.meta.name, r.component, r.name): r.name for r in kyma.reports if r.component}
    names.update({r.manifest.ref.name: r.name for r in kyma.reports if r.manifest is not None})
    return names


def _grouped(objects: Iterable[Object], keys: Callable[[Object], Iterable[Key]]) -> dict[Key, tuple[Object, ...]]:
    groups: dict[Key, list[Object]] = defaultdict(list)
    for raw in objects:
        if isinstance(raw, Mapping):
            for key in keys(raw):
                groups[key].append(raw)
    return {key: tuple(group) for key, group in groups.items()}


def _by_kind_and_name(raw: Object) -> Iterable[tuple[str, str]]:
    kind, name = raw.get("kind"), mapping_at(raw, "metadata").get("name")  # every change of a workload comes here
    if isinstance(kind, str) and isinstance(name, str):
        yield kind, name


def _by_module_labels(raw: Object) -> Iterable[tuple[str, str]]:
    labels = mapping_at(raw, "metadata", "labels")
    for label in ("kyma-project.io/module", "app.kubernetes.io/component"):
        if isinstance(value := labels.get(label), str):
            yield label, value


def _defined(raw: object) -> Iterable[tuple[str, str]]:
    spec = JsonReader(raw).child("spec")
    yield spec.text("group"), spec.child("names").text("kind")


def object_identity(raw: Object) -> object:
    """Return an object's uid, the same in all served versions; else namespace and name."""
    ref = read_ref(raw)
    return JsonReader(raw).child("metadata").text("uid") or (ref.namespace, ref.name)


def _module_resources(
    resources: Mapping[GroupVersionKind, Sequence[Object]],
) -> dict[tuple[str, str], tuple[Object, ...]]:
    """Return the objects by group and kind; one that is served in several versions counts once."""
    by_kind: dict[tuple[str, str], dict[object, Object]] = defaultdict(dict)
    for kind in sorted(resources):
        group = by_kind[kind.group, kind.kind]
        for raw in resources[kind]:
            if isinstance(raw, Mapping):
                group.setdefault(object_identity(raw), raw)
    return {key: tuple(group.values()) for key, group in by_kind.items()}
