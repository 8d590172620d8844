"""Inventories of charts: Helm's release Secrets or ConfigMaps, plus the data that Helm does not store.

`helm list`, `helm history`, `helm upgrade`, `helm rollback` and `helm uninstall` work on them. If helm wrote the
newest revision, the inventory is read from its manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.installed import ANNOTATION_INVENTORY, LARGEST_ANNOTATION, undo_command
from kymatui.domain.inventories import (
    KEY,
    Inventory,
    InventoryItem,
    InventoryState,
    Origin,
    merge_items,
    read_document,
    write_document,
)
from kymatui.domain.kubernetes.object_meta import read_ref, resource_version_of
from kymatui.domain.kubernetes.refs import CONFIG_MAP, SECRET, GroupVersionKind, ObjectRef
from kymatui.domain.kyma.problems import shell_command
from kymatui.domain.ownership import resource_policy
from kymatui.engine.bundles.bundle import Bundle, BundleHook, ChartRelease
from kymatui.engine.bundles.yaml_objects import read_objects, unique_documents
from kymatui.engine.cluster.kind_order import clean
from kymatui.engine.cluster.ports import Clock, Cluster, Object
from kymatui.engine.inventory.inventory_store import ApplySetStore, InventoryStore
from kymatui.errors import ConfigurationError, NotFoundError, RefusedError
from kymatui.helm.rendering.manifests import split_manifests
from kymatui.helm.rendering.releases import (
    DESCRIPTIONS,
    Release,
    ReleaseHook,
    Status,
    content_text,
    encode_release,
    from_record,
    next_values,
    next_version,
    record_text,
    rollback_target,
    secret_name,
    surplus,
    to_record,
    with_succeeded_hooks,
)
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.limits import YamlBudget
from kymatui.helm.yaml.reading import load_exactly
from kymatui.patterns import deferred

_LABEL_VALUE: Final = deferred(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LARGEST_SECRET: Final = 1024**2  # bytes of the values of a Secret, as API servers count them
_ITEM: Final = 150  # bytes of an object in the inventory, about
_APPLY_METHOD: Final = ""
"""Helm 4 upgrades with the method of the last revision. With "ssa" it would conflict with every field that kymatui
applied as another manager; with "" it does a three-way merge, as for all releases of Helm 3."""


class _Revision(Struct, frozen=True):
    """One Secret or ConfigMap; `own` is kymatui's part, None if helm wrote it."""

    release: Release
    own: Inventory | None
    resource_version: str


class ReleaseStore:
    """The store in Secrets `sh.helm.release.v1.NAME.vN`, with at most `limit` revisions.

    A release that helm keeps in ConfigMaps (HELM_DRIVER=configmap) stays in them.
    """

    def __init__(
        self, cluster: Cluster, name: str, namespace: str, now: Callable[[], float], *, limit: int = 10
    ) -> None:
        self._cluster = cluster
        self._name, self._namespace = name, namespace
        self._now = now
        self._limit = limit
        self._read_before: list[_Revision] | None = None
        self._has_others = True
        self._kind = SECRET

    def read(self) -> Inventory | None:
        history = self._read_before = self._history()
        if not history or history[-1].release.status is Status.UNINSTALLED:
            return None
        return self._read(history)

    def begin(self, inventory: Inventory, bundle: Bundle) -> Inventory:
        """Write the first revision of a run; what `read` has just read under the Lease is not read again."""
        history, self._read_before = self._read_before, None
        history = self._history() if history is None else history
        self._has_others = bool(history)
        pending = history[-1] if history and history[-1].release.status.is_pending else None
        if pending is not None and pending.own is not None and pending.own.digest == inventory.digest:
            return self._write(pending.release, replace(inventory, revision=pending.release.version))
        if pending is not None:
            self._mark(pending, Status.FAILED, "interrupted, and superseded by another revision")
        self._make_room([revision.release for revision in history])
        release = self._new(history, bundle, inventory.rollback_to)
        return self._write(release, replace(inventory, revision=release.version))

    def note(self, inventory: Inventory) -> Inventory:
        release = self._release(inventory)
        if inventory.is_deleting:
            release = replace(release, status=Status.UNINSTALLING, description=DESCRIPTIONS[Status.UNINSTALLING])
        return self._write(_with_runs(release, inventory.done), inventory)

    def finish(self, inventory: Inventory) -> Inventory:
        done = replace(inventory, state=InventoryState.INSTALLED, first=False)
        word = "Install complete" if inventory.first else "Upgrade complete"
        word = f"Rollback to {inventory.rollback_to}" if inventory.rollback_to else word
        release = replace(self._release(inventory), status=Status.DEPLOYED, description=word)
        # The old one first, as in helm: after an interruption here, the new revision is still pending and continues.
        for other in self._history() if self._has_others else ():
            if other.release.version == inventory.revision:
                continue
            if other.release.status is Status.DEPLOYED:
                self._mark(other, Status.SUPERSEDED, other.release.description)
            elif other.release.apply_method:
                self._mark(other, other.release.status, other.release.description)
        return self._write(_with_runs(release, inventory.done), done)

    def fail(self, inventory: Inventory, reason: str) -> Inventory:
        release = self._release(inventory)
        if not release.status.is_pending:
            return inventory
        verb = "Release" if inventory.first else "Upgrade"
        failed = replace(release, status=Status.FAILED, description=f'{verb} "{self._name}" failed: {reason}')
        return self._write(_with_runs(failed, inventory.done), inventory)

    def remove(self, inventory: Inventory) -> None:
        for revision in self._history():  # oldest first: the newest revision still lists the objects until the end
            self._delete(revision.release.version)

    def hooks(self, inventory: Inventory) -> tuple[BundleHook, ...]:
        """Return the hooks of the revision as stored, with namespaces in their objects."""
        self._kind = record_kind(inventory)
        return self._hooks(self._release(inventory))

    def bundle_of(self, revision: int) -> tuple[Bundle, int]:
        """Return an earlier revision as a bundle, with its number; 0 means the one before the deployed one.

        Raises RefusedError if there is none.
        """
        history = [entry.release for entry in self._history()]
        release = rollback_target(history, revision)
        if release is None:
            versions = ", ".join(str(entry.version) for entry in history if entry.status.was_deployed) or "none"
            raise RefusedError(
                f"{self._namespace}/{self._name} has no revision {revision or 'before this one'} to roll back to",
                hint=f"revisions: {versions}",
            )
        budget = YamlBudget()
        bodies = [load_exactly(text, budget=budget) for text in split_manifests(release.manifest)]
        version = str((release.chart.get("metadata") or {}).get("version") or "")
        chart = ChartRelease(release.chart, release.config, release.manifest, release.notes)
        origin = self._origin(release, version)
        objects = tuple(body for body in bodies if read_ref(body).name)
        hooks = self._hooks(release)
        bundle = Bundle(self._name, self._namespace, origin, version, objects, hooks=hooks, release=chart)
        return bundle, release.version

    def values(self) -> dict[str, Any]:
        """Return the user's values that the next revision starts from."""
        return dict(next_values([revision.release for revision in self._history()]))

    def as_installed(self, bundle: Bundle) -> Bundle:
        """Return the bundle with the stored rendering if chart and values are the same.

        A chart may generate passwords and certificates, which would differ in each rendering.
        """
        history = self._history()
        latest, asked = (history[-1].release if history else None), bundle.release
        if latest is None or asked is None or latest.status in _GONE:
            return bundle
        if content_text(latest.chart, latest.config) != content_text(asked.chart, asked.config):
            return bundle
        objects = unique_documents(read_objects(latest.manifest, f"Secret {latest.key}"))
        hooks = (BundleHook(hook.hook, load_exactly(hook.hook.content)) for hook in latest.hooks)
        kept = ChartRelease(asked.chart, asked.config, latest.manifest, latest.notes)
        return replace(bundle, objects=tuple(objects), hooks=tuple(hooks), release=kept)

    def _origin(self, release: Release, version: str) -> Origin:
        """Return the origin of a revision, so that a rolled-back release can be upgraded again."""
        own = next((revision.own for revision in self._history() if revision.release.version == release.version), None)
        if own is None or not own.origin.address:
            return Origin("helm", f"revision {release.version}", version)
        return replace(own.origin, version=version)

    def _hooks(self, release: Release) -> tuple[BundleHook, ...]:
        hooks = []
        for hook in release.hooks:
            body = load_exactly(hook.hook.content)
            served = self._cluster.kind(read_ref(body).kind)
            hooks.append(
                BundleHook(hook.hook, clean(body, served.namespaced if served is not None else None, self._namespace))
            )
        return tuple(hooks)

    # reading

    def _history(self) -> list[_Revision]:
        records = _release_records(self._cluster, self._namespace, self._name)
        self._kind = read_ref(records[0]).kind if records else SECRET
        revisions = [self._revision(record) for record in records]
        return sorted(revisions, key=lambda revision: revision.release.version)

    def _revision(self, record: Object) -> _Revision:
        text = record_text(record, KEY)
        own = read_document(text, str(read_ref(record))) if text else None
        return _Revision(from_record(record), own, resource_version_of(record))

    def _read(self, history: Sequence[_Revision]) -> Inventory:
        latest = history[-1]
        current = [entry for entry in history if entry.release.status is Status.DEPLOYED]
        since = current[-1].release.version if current else 0
        items: tuple[InventoryItem, ...] = ()
        for revision in history:
            if revision.release.version >= since:
                items = merge_items(items, self._items(revision))
        base = latest.own or next((entry.own for entry in reversed(history) if entry.own), None)
        known = base or Inventory(self._name, self._namespace, Origin("helm", ""), chart=True)
        return replace(
            known,
            items=items,
            state=_STATES.get(latest.release.status, InventoryState.PENDING),
            version=str((latest.release.chart.get("metadata") or {}).get("version") or known.version),
            digest=known.digest if latest.own is not None else "",
            done=known.done if latest.own is not None and _is_under_way(latest.release.status) else (),
            first=not any(entry.release.status.was_deployed for entry in history),
            chart=True,
            revision=latest.release.version,
            resource_version=latest.resource_version,
            finished=latest.release.status is Status.DEPLOYED and len(current) == 1,
            helm_status=latest.release.status.value if latest.own is None and latest.release.status.is_pending else "",
            deployed=since,
            in_config_maps=self._kind == CONFIG_MAP,
        )

    def _items(self, revision: _Revision) -> tuple[InventoryItem, ...]:
        if revision.own is not None:
            return revision.own.items
        return tuple(self._manifest_items(revision.release))

    def _manifest_items(self, release: Release) -> Iterable[InventoryItem]:
        budget = YamlBudget()
        for text in split_manifests(release.manifest):
            try:
                body = load_exactly(text, budget=budget)
            except YamlError as error:
                problem = f"the manifest of Secret {release.key} cannot be read: {error.summary}"
                raise ConfigurationError(problem) from None
            ref = read_ref(body)
            if not ref.name:
                continue
            served = self._cluster.kind(ref.kind)
            namespaced = served.namespaced if served is not None else bool(ref.namespace)
            full_ref = ObjectRef(ref.kind, (ref.namespace or self._namespace) if namespaced else "", ref.name)
            yield InventoryItem(full_ref, kept=bool(resource_policy(body)))

    def _release(self, inventory: Inventory) -> Release:
        record = self._cluster.get(ObjectRef(self._kind, self._namespace, secret_name(self._name, inventory.revision)))
        if record is None:
            raise RefusedError(
                f"revision {inventory.revision} of the release {self._namespace}/{self._name} was deleted meanwhile",
                hint="run the command again",
            )
        return from_record(record)

    # writing

    def _new(self, history: Sequence[_Revision], bundle: Bundle, rollback_to: int) -> Release:
        chart = bundle.release
        assert chart is not None, "a chart's bundle has a release"
        moment = self._moment()
        alive = [revision.release for revision in history if revision.release.status is not Status.UNINSTALLED]
        status = Status.PENDING_UPGRADE if any(old.status.was_deployed for old in alive) else Status.PENDING_INSTALL
        status = Status.PENDING_ROLLBACK if rollback_to else status
        return Release(
            self._name,
            self._namespace,
            next_version(revision.release for revision in history),
            status,
            DESCRIPTIONS[status],
            chart.notes,
            alive[0].first_deployed if alive else moment,
            moment,
            None,
            chart.chart,
            chart.config,
            chart.manifest,
            tuple(ReleaseHook(hook.hook) for hook in bundle.hooks),
        )

    def _write(self, release: Release, inventory: Inventory) -> Inventory:
        text = write_document(inventory)
        in_map = self._kind == CONFIG_MAP
        record = to_record(release, modified_at=self._moment(), config_map=in_map, texts={KEY: text})
        if len(text) <= LARGEST_ANNOTATION:
            record["metadata"]["annotations"] = {ANNOTATION_INVENTORY: text}
        written = self._cluster.apply(record, force=True)
        return replace(inventory, resource_version=resource_version_of(written))

    def _mark(self, revision: _Revision, status: Status, description: str) -> None:
        release = replace(revision.release, status=status, description=description, apply_method=_APPLY_METHOD)
        texts = {KEY: write_document(revision.own)} if revision.own is not None else {}
        in_map = self._kind == CONFIG_MAP
        self._cluster.apply(to_record(release, modified_at=self._moment(), config_map=in_map, texts=texts), force=True)

    def _make_room(self, history: Sequence[Release]) -> None:
        for release in surplus(history, self._limit):
            self._delete(release.version)

    def _delete(self, version: int) -> None:
        try:
            self._cluster.delete(ObjectRef(self._kind, self._namespace, secret_name(self._name, version)))
        except NotFoundError:  # Helm or another run deleted this revision first
            return

    def _moment(self) -> datetime:
        return datetime.fromtimestamp(self._now(), UTC)


def require_storable(bundle: Bundle) -> None:
    """Raise ConfigurationError for a chart whose release does not fit into a Secret."""
    chart = bundle.release
    if chart is None:
        return
    release = Release(
        bundle.name,
        bundle.namespace,
        1,
        Status.PENDING_INSTALL,
        notes=chart.notes,
        chart=chart.chart,
        config=chart.config,
        manifest=chart.manifest,
        hooks=tuple(ReleaseHook(hook.hook) for hook in bundle.hooks),
    )
    if release.least_size < _LARGEST_SECRET // 2:
        return
    size = len(encode_release(release)) + len(bundle.objects) * _ITEM
    if size > _LARGEST_SECRET:
        raise ConfigurationError(
            f"the release of {bundle.name} does not fit into a Secret: it has {size / 1024**2:.1f} MiB, at most 1 MiB",
            hint="make the chart smaller: list large files in .helmignore, or put them into an image",
        )


def interrupted_values(cluster: Cluster, name: str, namespace: str) -> dict[str, Any] | None:
    """Return the user's values of a release's newest revision, also of one that is not deployed; None without one."""
    records = _release_records(cluster, namespace, name)
    newest = max(map(from_record, records), key=lambda release: release.version, default=None)
    return dict(newest.config) if newest is not None else None


_GONE: Final = (Status.UNINSTALLING, Status.UNINSTALLED)
_STATES: Final = {Status.DEPLOYED: InventoryState.INSTALLED, Status.UNINSTALLING: InventoryState.DELETING}


def _is_under_way(status: Status) -> bool:
    """Return whether a run is active on the revision or was interrupted; its completed hooks then count."""
    return status.is_pending or status is Status.UNINSTALLING


def _with_runs(release: Release, done: Iterable[str]) -> Release:
    """Return the release with the completed hooks of this run marked as succeeded."""
    return with_succeeded_hooks(release, {key.partition(" ")[2] for key in done})


# Which store has the inventory of a bundle, and what it says.


def inventory_store_for(bundle: Bundle, cluster: Cluster, clock: Clock) -> InventoryStore:
    """Return the store of a bundle's inventory."""
    if bundle.release is not None:
        return ReleaseStore(cluster, bundle.name, bundle.namespace, clock.now)
    return ApplySetStore(cluster, bundle.name, bundle.namespace)


def read_inventory(cluster: Cluster, clock: Clock, name: str, namespace: str) -> Inventory | None:
    """Return the inventory of a name: from an ApplySet, else from a Helm release."""
    inventory = ApplySetStore(cluster, name, namespace).read()
    return inventory if inventory is not None else ReleaseStore(cluster, name, namespace, clock.now).read()


def interruption_notes(known: Inventory | None) -> tuple[str, ...]:
    """Return what a plan says of a deletion, or a run of helm, that was interrupted; nothing where there was none."""
    if known is not None and known.helm_status:
        return (f"{_pending_words(known)}; this plan marks it as failed",)
    return ("its deletion was interrupted; this plan installs it again",) if known and known.is_deleting else ()


def _pending_words(known: Inventory) -> str:
    """Return what is unknown of a revision that helm left pending: helm has no lock that tells."""
    release = f"release {known.namespace}/{known.name}"
    return f"helm is working on {release}, or was interrupted: revision {known.revision} is {known.helm_status}"


def refuse_pending(known: Inventory | None) -> None:
    """Raise RefusedError for a release that helm is working on, or left pending when it was interrupted."""
    if known is not None and known.helm_status:
        undo = undo_command(known.name, known.namespace, known.deployed)
        install = shell_command("kymatui", "install", known.name, "--chart", "…", "-n", known.namespace, "--force")
        raise RefusedError(
            _pending_words(known), hint=f"if it was interrupted, `{undo}` undoes it, and `{install}` continues it"
        )


def record_kind(known: Inventory) -> GroupVersionKind:
    """Return the kind of the objects that store an installation."""
    return SECRET if known.chart and not known.in_config_maps else CONFIG_MAP


def _release_records(cluster: Cluster, namespace: str, name: str) -> Sequence[Object]:
    """Return the Secrets of a release, else its ConfigMaps; a name that cannot be the value of a label has none."""
    if not _LABEL_VALUE.fullmatch(name):
        return ()
    labels = f"owner=helm,name={name}"
    return cluster.list(SECRET, namespace, labels=labels) or cluster.list(CONFIG_MAP, namespace, labels=labels)
