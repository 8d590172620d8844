"""Backups of deleted objects as YAML files, written before the deletion and listed for a restore."""

from __future__ import annotations

import calendar
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import ClusterError, ConfigurationError
from kymatui.first_use import dataclass

if TYPE_CHECKING:
    from kymatui.engine.cluster.ports import Cluster
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.plans.plan import Plan

Object = dict[str, Any]

_SYSTEM: Final = ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", "kube-system")
_MOMENT: Final = "%Y%m%dT%H%M%SZ"
_NAME: Final = re.compile(r"(?P<module>.+)-(?P<moment>\d{8}T\d{6}Z)\.yaml")
_HEADING: Final = re.compile(r"# (?P<module>\S+)(?: (?P<version>\S+))? in (?P<cluster>.+?)(?P<klm>, installed by .*)?")
_IDENTITY: Final = re.compile(r"# cluster (?P<identity>\S+)")
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OBJECT: Final = re.compile(r"^kind:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A backup file as its name and heading describe it; "" for unknown fields.

    identity   the uid of the namespace kube-system: a context name may mean different clusters on two machines
    made_at    Unix seconds
    count      of its objects
    by_klm     lifecycle-manager installed the module: enable it again before the restore
    """

    path: Path
    module: str
    version: str = ""
    cluster: str = ""
    identity: str = ""
    made_at: float = 0.0
    count: int = 0
    by_klm: bool = False

    def not_of(self, name: str, identity: str) -> str:
        """Return why the backup is not of this cluster; "" if it is, or if that is unknown."""
        if self.identity and identity:
            same, again = self.identity == identity, self.cluster == name
            other = f"another cluster that is also called {name}" if again else self.cluster
            return "" if same else f"the backup is from {other}, but this is {name}"
        return f"the backup is from {self.cluster}, but this is {name}" if self.cluster not in ("", name) else ""


# writing


def cluster_identity(cluster: Cluster) -> str:
    """Return the uid of kube-system, which identifies a cluster; "" without permission."""
    try:
        found = cluster.get(_SYSTEM)
    except ClusterError:  # without an identity, backups are compared by the cluster's name
        return ""
    return str(found["metadata"].get("uid") or "") if found is not None else ""


class BackupFile:
    """Implements the engine's `Backup` port with one YAML file; threads may share it.

    `heading` are comment lines at the top. Raises ConfigurationError if the file cannot be written: then nothing is
    deleted.
    """

    def __init__(self, path: Path, cluster: Cluster, heading: Sequence[str]) -> None:
        self._path = path
        identity = cluster_identity(cluster)
        self._heading = (*heading, *((f"cluster {identity}",) if identity else ()))
        self._cluster = cluster
        self._lock = threading.Lock()
        self._bodies: dict[str, Object] = {}
        self._versions: dict[str, str] = {}

    def write(self, refs: Iterable[ObjectRef]) -> None:
        """Save these objects as they are now."""
        from kymatui.engine.cluster.concurrency import run_for_each

        read = run_for_each(list(refs), self._cluster.get, threading.Event())
        with self._lock:
            for body in read:
                if body is not None:
                    self._put(body)
            self._dump()

    def holds(self, uid: str, resource_version: str) -> bool:
        return bool(resource_version) and self._versions.get(uid) == resource_version

    def save(self, body: Object) -> None:
        with self._lock:
            if self._put(body):
                self._dump()

    @property
    def count(self) -> int:
        return len(self._bodies)

    @property
    def secrets(self) -> int:
        """Return the number of Secrets saved without their data."""
        return sum(body.get("kind") == "Secret" for body in self._bodies.values())

    @property
    def message(self) -> str:
        return self.message_with(0)

    def message_with(self, others: int) -> str:
        """Return what is saved here, with `others` objects saved in another file."""
        left_out = f" (without the data of {format_count(self.secrets, 'Secret')})" if self.secrets else ""
        return f"{format_count(self.count + others, 'object')} saved in {self._path}{left_out}"

    def _put(self, body: Object) -> bool:
        """Add an object and return whether the file must be written again; status is not part of a backup."""
        from kymatui.engine.cluster.kind_order import clean

        uid = str(body["metadata"].get("uid") or "")
        made = clean(_without_secrets(body), None, "")
        changed = self._bodies.get(uid) != made
        self._bodies[uid] = made
        self._versions[uid] = str(body["metadata"].get("resourceVersion") or "")
        return changed

    def _dump(self) -> None:
        from kymatui.adapters.files.user_files import write_private_file
        from kymatui.engine.cluster.yaml_output import dump_yaml_documents

        comments = "".join(f"# {line}\n" for line in self._heading)
        write_private_file(self._path, f"{comments}{dump_yaml_documents(list(self._bodies.values()))}".encode())


@dataclass(frozen=True, slots=True)
class DeletionBackup:
    """The backup of one deletion; `manifest` is a separate file if the Manifest is on another cluster."""

    path: Path
    own: BackupFile
    manifest: BackupFile

    @property
    def message(self) -> str:
        return self.own.message_with(self.manifest.count if self.manifest is not self.own else 0)


def save_deletion(path: Path, seen: DeletionState, cluster: Cluster, manifests_on: Cluster) -> DeletionBackup:
    """Save the objects that the deletion may delete.

    The Manifest comes first: once it is restored, its owner installs the rest, and the user's objects wait for that.
    A Manifest on another cluster is saved in its own file, in the folder of that cluster.
    """
    from kymatui.engine.deletion.deletion_state import ManagedBy

    deletions = [step.ref for step in seen.found.deletions] if seen.found is not None else []
    refs = [*(one.ref for one in seen.remaining.instances if not one.shared), *deletions]
    manifest = [seen.manifest] if seen.manifest is not None and seen.managed_by is ManagedBy.MANIFEST else []
    own = BackupFile(path, cluster, _heading(seen))
    elsewhere = own
    if manifest and seen.control:
        heading = f"{seen.module} {seen.installed} in {seen.control}"
        elsewhere = BackupFile(sibling_backup_path(path, seen.control), manifests_on, (heading,))
        elsewhere.write(manifest)
        manifest = []
    own.write(dict.fromkeys([*manifest, *refs]))
    return DeletionBackup(path, own, elsewhere)


def plan_backup(plan: Plan, cluster: Cluster) -> BackupFile | None:
    """Return the backup for the objects that an upgrade deletes, None if it deletes or saves none."""
    from kymatui.engine.plans.plan import Action

    if not plan.of(Action.DELETE) or not plan.intent.backup:
        return None
    name = plan.bundle.name
    heading = f"{name} {plan.intent.adopted_version}".rstrip() + f" in {cluster.name}"
    return BackupFile(backup_path(cluster.name, name, time.time()), cluster, (heading,))


def _heading(seen: DeletionState) -> tuple[str, ...]:
    from kymatui.engine.deletion.deletion_state import ManagedBy

    if seen.managed_by is not ManagedBy.KYMA:
        return (f"{seen.module} {seen.installed} in {seen.cluster}".strip(),)
    return (
        f"{seen.module} {seen.installed} in {seen.cluster}, installed by lifecycle-manager",
        f"`kymatui enable {seen.module}` enables it again; then restore the objects below",
    )


def _without_secrets(body: Object) -> Object:
    """Remove the values of a Secret, which are never written to disk; `kubectl apply` copies them to an annotation."""
    if body.get("kind") != "Secret" or body.get("apiVersion") != "v1":
        return body
    annotations = {key: value for key, value in (body["metadata"].get("annotations") or {}).items() if key != _APPLIED}
    metadata = {key: value for key, value in body["metadata"].items() if key != "annotations"}
    found = {key: value for key, value in body.items() if key not in ("data", "stringData")}
    return {**found, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


# listing and reading


def backups_folder() -> Path:
    """Return the folder with one subfolder of backups per cluster."""
    import platformdirs

    return Path(platformdirs.user_state_dir("kymatui")) / "backups"


def backup_path(context: str, name: str, moment: float) -> Path:
    """Return the file for a backup made at `moment` (Unix seconds)."""
    return backups_folder() / _inside(context) / f"{name}-{time.strftime(_MOMENT, time.gmtime(moment))}.yaml"


def sibling_backup_path(path: Path, context: str) -> Path:
    """Return the file for a second cluster: in its folder, or next to a file that the user chose."""
    if path.parent.parent == backups_folder():
        return backups_folder() / _inside(context) / path.name
    return path.with_name(f"{path.stem}-{_inside(context)}{path.suffix}")


def _inside(context: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", context) or "_"


def list_backups() -> list[BackupInfo]:
    """Return the backups of all clusters, newest first; unreadable files are skipped."""
    return sorted(_found(), key=lambda one: (-one.made_at, one.module))


def _found() -> Iterator[BackupInfo]:
    for path in backups_folder().glob("*/*.yaml"):
        try:
            yield read_heading(path)
        except ConfigurationError:  # a damaged file does not hide the other backups
            continue


def read_heading(path: Path) -> BackupInfo:
    """Read the heading of a backup. Raise ConfigurationError if the file is unreadable."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
        named = _NAME.fullmatch(path.name)
        made = calendar.timegm(time.strptime(named["moment"], _MOMENT)) if named else path.stat().st_mtime
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    lines = [line for line in text.splitlines()[:5] if line.startswith("#")]
    heading = _HEADING.fullmatch(lines[0]) if lines else None
    identity = next((found["identity"] for line in lines if (found := _IDENTITY.fullmatch(line))), "")
    module = heading["module"] if heading else named["module"] if named else ""
    version, cluster = (heading["version"] or "", heading["cluster"]) if heading else ("", "")
    count = len(_OBJECT.findall(text))
    return BackupInfo(path, module, version, cluster, identity, float(made), count, bool(heading and heading["klm"]))


def read_backup(path: Path) -> list[Object]:
    """Return the objects of a backup. Raise ConfigurationError with file and line."""
    from kymatui.engine.bundles.yaml_objects import read_objects

    try:
        return read_objects(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
