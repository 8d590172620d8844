"""The inputs of a what-if: a fleet from a cluster or a file, and a change from files and options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from kymatui.adapters.content.change_files import (
    ChangedFiles,
    change_stamp,
    read_change_files,
    read_fleet_file,
    read_git_change,
    require_fleet_name,
    write_fleet_file,
)
from kymatui.adapters.kube.api.client import Client
from kymatui.domain.fleet.fleet_tracker import RuntimeKey
from kymatui.domain.fleet.manifest_summary import ManifestSummary, group_summaries, read_summary
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kyma.kymas import KYMA_NAME, KYMA_NAMESPACE
from kymatui.domain.whatif.fleet_objects import (
    CATALOG_KINDS,
    CatalogChange,
    CatalogKey,
    FleetObjects,
    build_fleet_objects,
    catalog_key,
    manifest_choice,
)
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import ForbiddenError, InvalidError, NotFoundError, UnknownNameError, UsageError
from kymatui.sessions.cluster.cluster_access import open_cluster, require_namespace
from kymatui.sessions.cluster.controller_rules import read_configured_rules, read_controller_rules
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.control_plane.fleet_lists import list_kind
from kymatui.sessions.feeds.feeds import KYMA_KINDS, raise_gc_thresholds

__all__ = ["ChangeRequest", "change_stamp", "export_fleet", "read_change", "read_fleet_of", "single_cluster"]


class ChangeRequest(Struct, frozen=True):
    """A change as a command line has it: files and folders, `KIND/NAME`, labels, a policy file, restricted modules.

    `git` is `BASE..HEAD` and a folder, or None.
    """

    files: Sequence[str] = ()
    deleted: Sequence[str] = ()
    labels: Mapping[str, str | None] = field(default_factory=dict)
    policy: str = ""
    restricted: Sequence[str] | None = None
    git: tuple[str, str] | None = None

    @property
    def empty(self) -> bool:
        return not (self.files or self.deleted or self.labels or self.policy or self.git) and self.restricted is None


def read_fleet_of(
    source: str, options: SessionOptions, labels: str, now: float
) -> tuple[FleetObjects, tuple[str, ...]]:
    """Return the fleet of an exported file, or of the cluster if `source` is ""; and messages about its settings."""
    return (read_fleet_file(Path(source)), ()) if source else read_fleet_objects(options, labels, now)


def export_fleet(path: str, options: SessionOptions, labels: str, now: float, key: bytes) -> FleetObjects:
    """Write the fleet of a cluster to a file, and return it; with a `key`, ids are hashed."""
    require_fleet_name(Path(path))
    fleet, _ = read_fleet_objects(options, labels, now)
    write_fleet_file(Path(path), fleet, key)
    return fleet


def read_change(request: ChangeRequest, fleet: FleetObjects) -> tuple[CatalogChange, tuple[str, ...]]:
    """Return the change of a fleet, and in sentences what it leaves out.

    Raises ConfigurationError for a file, UsageError for a name or a revision.
    """
    policy = read_configured_rules(request.policy, ())
    files, moved = read_changed_files(request, fleet.namespaces[0] if len(fleet.namespaces) == 1 else "")
    twice = sorted(set(map(catalog_key, files.objects)) & ({*map(catalog_key, moved.objects)} | moved.deleted))
    if twice:
        raise UsageError(f"{'/'.join(twice[0])} is in -f and in --git", hint="leave it out of one of them")
    change = CatalogChange(
        files.objects + moved.objects,
        frozenset(_deleted(word, fleet) for word in request.deleted) | moved.deleted,
        request.labels,
        policy.windows if policy is not None else None,
        None if request.restricted is None else frozenset(filter(None, request.restricted)),
    )
    notes = [f"{name} is not rendered: kustomize is not run" for name in files.kustomizations + moved.kustomizations]
    notes += [
        f"Kyma {name} is deleted by the change; its modules are not in the forecast" for name in moved.deleted_kymas
    ]
    return change, tuple(notes)


def read_changed_files(request: ChangeRequest, namespace: str = "") -> tuple[ChangedFiles, ChangedFiles]:
    """Return the objects of -f and of --git; those without a namespace get this one.

    Raises ConfigurationError for a file, UsageError for a revision.
    """
    files = read_change_files(request.files, namespace) if request.files else ChangedFiles()
    return files, read_git_change(*request.git, namespace) if request.git else ChangedFiles()


@contextmanager
def single_cluster(options: SessionOptions, fleet: FleetObjects, source: str) -> Iterator[Callable[[], Cluster] | None]:
    """Yield the cluster of a fleet that is one cluster with its Kyma, to ask it; None for a control plane or a file.

    Runtimes of a control plane are not asked: a what-if connects to none of them.
    """
    if source or set(fleet.kymas) != {(KYMA_NAMESPACE, KYMA_NAME)}:
        yield None
        return
    with closing(open_cluster(options)) as home:
        yield lambda: home


def _deleted(word: str, fleet: FleetObjects) -> CatalogKey:
    kind, _, path = word.partition("/")
    kinds = {name.lower(): name for name in CATALOG_KINDS}
    if kind.lower() not in kinds or not path:
        raise UsageError(f"invalid --delete {word!r}", hint=f"use {CATALOG_KINDS[0]}/NAME or {CATALOG_KINDS[1]}/NAME")
    kind = kinds[kind.lower()]
    of_kind = [key for key in fleet.catalog if key[0] == kind]
    matching = [key for key in of_kind if path in (key[2], f"{key[1]}/{key[2]}")]
    if not matching:
        raise UnknownNameError.near(kind, path, (key[2] for key in of_kind))
    if len(matching) > 1:
        raise UsageError(f"{kind} {path} is in more than one namespace", hint=f"use {kind}/NAMESPACE/NAME")
    return matching[0]


_KYMAS, _TEMPLATES, _METAS, _MANIFESTS = KYMA_KINDS


def read_fleet_objects(options: SessionOptions, labels: str, now: float) -> tuple[FleetObjects, tuple[str, ...]]:
    """Return the fleet, and in sentences what is to be known of lifecycle-manager's settings.

    `labels` is a selector of Kymas, which the server applies; `now` in seconds of the Unix clock. Raises what a list of
    Kymas or of the catalog raises: with a part of the catalog every forecast would be a guess.
    """
    raise_gc_thresholds()
    with closing(open_cluster(options)) as home:
        client = home.client
        try:
            kymas = list_kind(client, _KYMAS, options.namespace, labels=labels)
        except InvalidError as error:
            if not labels:
                raise
            raise UsageError(f"invalid selector {labels!r}: {error}") from error
        if options.namespace and not kymas:
            require_namespace(home, options.namespace)
        settings, notes = {}, list[str]()
        catalog: list[dict[str, object]] = []
        for namespace in sorted({read_ref(raw).namespace for raw in kymas}):
            settings[namespace], rule_notes = read_controller_rules(home, namespace, options)
            notes += rule_notes
            for kind in (_TEMPLATES, _METAS):
                try:
                    catalog += list_kind(client, kind, namespace)
                except NotFoundError:  # an older or newer lifecycle-manager has no such kind
                    continue
        fleet = build_fleet_objects(home.name, kymas, catalog, settings, now)
        manifests, manifest_notes = _manifests(client, fleet)
        return replace(fleet, manifests=manifests), tuple(dict.fromkeys((*notes, *manifest_notes)))


def _manifests(
    client: Client, fleet: FleetObjects
) -> tuple[Mapping[RuntimeKey, tuple[ManifestSummary, ...]], tuple[str, ...]]:
    """Return the Manifests that decide about modules, and a message if they cannot be listed."""
    selectors = manifest_choice(fleet).selectors
    listed: dict[tuple[str, str], ManifestSummary] = {}
    try:
        for namespace in sorted({key[0] for key in fleet.kymas}):
            for labels in selectors:
                for summary in filter(None, map(read_summary, list_kind(client, _MANIFESTS, namespace, labels=labels))):
                    listed[summary.namespace, summary.name] = summary
    except NotFoundError:  # no lifecycle-manager has run here
        return {}, ()
    except ForbiddenError as error:
        return {}, (f"skip labels of Manifests are unknown: {error}",)
    grouped = group_summaries(listed.values())
    return {key: summaries for key, summaries in grouped.items() if key in fleet.kymas}, ()
