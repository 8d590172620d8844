"""What is deleted, as YAML: written before it goes, and found again on this machine."""

from __future__ import annotations

import calendar
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count
from kymatui.errors import ClusterError, ConfigurationError

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
_OBJECT: Final = re.compile(r"^kind:", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class BackupInfo:
    """A file with what was deleted, as its name and its heading tell; empty words for what they do not.

    identity   the uid of its cluster's namespace kube-system: contexts may have one name on two machines
    made_at    seconds
    count      of its objects
    by_klm     lifecycle-manager had installed the module, and is asked for it again first
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
        """Why it is none of the cluster of that name and identity; "" where it is, or where nobody knows."""
        if self.identity and identity:
            same, again = self.identity == identity, self.cluster == name
            other = f"another cluster that is called {name}, too" if again else self.cluster
            return "" if same else f"it was made in {other}, and this is {name}"
        return f"it was made in {self.cluster}, and this is {name}" if self.cluster not in ("", name) else ""


# writing


def cluster_identity(cluster: Cluster) -> str:
    """What tells a cluster from all others, "" where it may not be read."""
    try:
        found = cluster.get(_SYSTEM)
    except ClusterError:
        return ""
    return str(found["metadata"].get("uid") or "") if found is not None else ""


class BackupFile:
    """Implements the engine's `BackupInfo` with one YAML file. Safe to call from several threads.

    `heading` are lines of comment at the top. Raises ConfigurationError where the file cannot be written: then nothing
    is deleted.
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
        """How many Secrets are saved without their data."""
        return sum(body.get("kind") == "Secret" for body in self._bodies.values())

    @property
    def words(self) -> str:
        return self.words_with(0)

    def words_with(self, others: int) -> str:
        """Return what is saved here, and `others` beside it in another file."""
        left_out = f" (without the data of {format_count(self.secrets, 'Secret')})" if self.secrets else ""
        return f"{format_count(self.count + others, 'object')} saved in {self._path}{left_out}"

    def _put(self, body: Object) -> bool:
        """Whether the file has to be written again: a status that changed is in no backup."""
        from kymatui.engine.cluster.kind_order import clean

        uid = str(body["metadata"].get("uid") or "")
        made = clean(_without_secrets(body), None, "")
        changed = self._bodies.get(uid) != made
        self._bodies[uid] = made
        self._versions[uid] = str(body["metadata"].get("resourceVersion") or "")
        return changed

    def _dump(self) -> None:
        from kymatui.adapters.files.user_files import write_private_file
        from kymatui.adapters.files.yaml_output import dump_yaml_documents

        comments = "".join(f"# {line}\n" for line in self._heading)
        write_private_file(self._path, f"{comments}{dump_yaml_documents(list(self._bodies.values()))}".encode())


@dataclass(frozen=True, slots=True)
class DeletionBackup:
    """The backup of one deletion; `manifest` is another file where that is on another cluster."""

    path: Path
    own: BackupFile
    manifest: BackupFile

    @property
    def words(self) -> str:
        return self.own.words_with(self.manifest.count if self.manifest is not self.own else 0)


def save_deletion(path: Path, seen: DeletionState, cluster: Cluster, manifests_on: Cluster) -> DeletionBackup:
    """Save what the deletion may delete.

    A Manifest comes first: once it is restored, its owner installs the rest, and what users created waits for that. One
    on another cluster is saved in a file of its own, in the folder of that cluster.
    """
    from kymatui.engine.deletion.deletion_state import ManagedBy

    deletions = [step.ref for step in seen.found.deletions] if seen.found is not None else []
    refs = [*(one.ref for one in seen.remaining.instances if not one.shared), *deletions]
    manifest = [seen.manifest] if seen.manifest is not None and seen.charge is ManagedBy.MANIFEST else []
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
    """Return where an upgrade saves what it deletes, in the folder of the deletions; None where it deletes nothing."""
    from kymatui.engine.plans.plan import Action

    if not plan.of(Action.DELETE):
        return None
    name = plan.bundle.name
    heading = f"{name} {plan.intent.adopted_version}".rstrip() + f" in {cluster.name}"
    return BackupFile(backup_path(cluster.name, name, time.time()), cluster, (heading,))


def _heading(seen: DeletionState) -> tuple[str, ...]:
    from kymatui.engine.deletion.deletion_state import ManagedBy

    if seen.charge is not ManagedBy.KYMA:
        return (f"{seen.module} {seen.installed} in {seen.cluster}".strip(),)
    return (
        f"{seen.module} {seen.installed} in {seen.cluster}, installed by lifecycle-manager",
        f"`kymatui enable {seen.module}` asks the Kyma for it again; restore what is below after that",
    )


def _without_secrets(body: Object) -> Object:
    """A Secret's values are written nowhere."""
    if body.get("kind") != "Secret" or body.get("apiVersion") != "v1":
        return body
    return {key: value for key, value in body.items() if key not in ("data", "stringData")}


# finding


def backups_folder() -> Path:
    """Where the backups of all clusters are, each with a folder of its own."""
    import platformdirs

    return Path(platformdirs.user_state_dir("kymatui")) / "backups"


def backup_path(context: str, name: str, moment: float) -> Path:
    """Where what is deleted at a moment (seconds) is kept, below the user's state folder."""
    return backups_folder() / _inside(context) / f"{name}-{time.strftime(_MOMENT, time.gmtime(moment))}.yaml"


def sibling_backup_path(path: Path, context: str) -> Path:
    """Where what another cluster has of the same is kept: in that one's folder, or next to a file of one's own."""
    if path.parent.parent == backups_folder():
        return backups_folder() / _inside(context) / path.name
    return path.with_name(f"{path.stem}-{_inside(context)}{path.suffix}")


def _inside(context: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", context) or "_"


def list_backups() -> list[BackupInfo]:
    """Those of all clusters, the newest first; files that cannot be read are left out."""
    return sorted(_found(), key=lambda one: (-one.made_at, one.module))


def _found() -> Iterator[BackupInfo]:
    for path in backups_folder().glob("*/*.yaml"):
        try:
            yield read_heading(path)
        except ConfigurationError:
            continue


def read_heading(path: Path) -> BackupInfo:
    """What a backup says of itself. Raises ConfigurationError where it cannot be read."""
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
    """The objects of a backup. Raises ConfigurationError that names file and line."""
    from kymatui.engine.bundles.yaml_objects import read_objects

    try:
        return read_objects(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
