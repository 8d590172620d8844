"""Backups of deleted objects as YAML files, written before the deletion and listed for a restore."""

from __future__ import annotations

import calendar
import contextlib
import re
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from kymatui.adapters.files.user_files import write_own_file, write_private_file
from kymatui.domain.kubernetes.object_meta import LAST_APPLIED, read_ref, resource_version_of, uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.plans.backups import BackupInfo
from kymatui.engine.cluster.concurrency import run_for_each
from kymatui.engine.cluster.ports import Cluster, cluster_identity
from kymatui.errors import ConfigurationError
from kymatui.helm.yaml.limits import LARGEST_TEXT, YamlBudget
from kymatui.own_files import read_own

if TYPE_CHECKING:
    from kymatui.engine.deletion.deletion_state import DeletionState
    from kymatui.engine.plans.plan import Plan

Object = dict[str, Any]

_HEADING_LINES: Final = 6
_MOMENT: Final = "%Y%m%dT%H%M%SZ"
_MOST_NODES: Final = 4_000_000
"""Maps, lists and scalars of a backup, which kymatui wrote itself: as many as fit into the largest text."""
_NAME: Final = re.compile(r"(?P<module>.+)-(?P<moment>\d{8}T\d{6}Z)\.yaml")
_HEADING: Final = re.compile(r"# (?P<module>\S+)(?: (?P<version>\S+))? in (?P<cluster>.+?)(?P<klm>, installed by .*)?")
_IDENTITY: Final = re.compile(r"# cluster (?P<identity>\S+)")
_FINISHED: Final = "finished"
_OBJECT: Final = re.compile(r"^kind:", re.MULTILINE)


# writing


class BackupFile:
    """Implements the engine's `Backup` port with one YAML file; threads may share it.

    `heading` are comment lines at the top. A file of the same module and cluster keeps its objects: an earlier run
    deleted them. Raises ConfigurationError if the file is another one, or cannot be written: then nothing is deleted.
    """

    def __init__(self, path: Path, cluster: Cluster, heading: Sequence[str]) -> None:
        self._path = path
        identity = cluster_identity(cluster)
        self._heading = (*map(sanitize, heading), *((f"cluster {identity}",) if identity else ()))
        self._cluster = cluster
        self._lock = threading.Lock()
        self._bodies: dict[str, Object] = {}
        self._versions: dict[str, str] = {}
        self._texts: dict[int, str] = {}  # by the identity of a body, which is kept and never changed
        self._earlier: dict[ObjectRef, Object] = {}
        if path.exists() and path.stat().st_size:
            self._continue(identity)

    def _continue(self, identity: str) -> None:
        """Keep heading and objects of an earlier run. Raise ConfigurationError for another file."""
        heading, mine = read_heading(self._path), _HEADING.fullmatch(f"# {self._heading[0]}")
        if (
            mine is None
            or heading.module != mine["module"]
            or not heading.cluster
            or heading.not_of(mine["cluster"], identity)
        ):
            what = f"a backup of {mine['module']} in {mine['cluster']}" if mine is not None else "its backup"
            raise ConfigurationError(f"{self._path} exists and is not {what}", hint="choose another file; it is kept")
        lines = _content(self._path).decode("utf-8", "replace").splitlines()[:_HEADING_LINES]
        comments = [line[2:] for line in lines if line.startswith("# ")]
        self._heading = tuple(line for line in comments if line != _FINISHED)
        self._earlier = {read_ref(body): body for body in read_backup(self._path)}

    def write(self, refs: Iterable[ObjectRef]) -> None:
        """Save these objects as they are now."""
        read = run_for_each(list(refs), self._cluster.get, threading.Event())
        with self._lock:
            for body in read:
                if body is not None:
                    self._put(body)
            if self._bodies:
                self._dump()

    def holds(self, uid: str, resource_version: str) -> bool:
        return bool(resource_version) and self._versions.get(uid) == resource_version

    def save(self, body: Object) -> None:
        with self._lock:
            if self._put(body):
                self._dump()

    def finish(self) -> None:
        """Note that what the objects were saved for has ended, as `finish_backup`."""
        with self._lock:
            if self._bodies or self._earlier:
                finish_backup(self._path)

    @property
    def count(self) -> int:
        return len(self._all())

    @property
    def secrets(self) -> int:
        """Return the number of Secrets saved without their data."""
        return sum(body.get("kind") == "Secret" for body in self._all())

    @property
    def message(self) -> str:
        return self.message_with(0)

    def message_with(self, others: int) -> str:
        """Return what is saved here, with `others` objects saved in another file; "" where no file is written."""
        if not self.count + others:
            return ""
        left_out = f" (without the data of {format_count(self.secrets, 'Secret')})" if self.secrets else ""
        return f"{format_count(self.count + others, 'object')} saved in {self._path}{left_out}"

    def _put(self, body: Object) -> bool:
        """Add an object and return whether the file must be written again; status is not part of a backup."""
        from kymatui.engine.cluster.kind_order import clean

        uid = uid_of(body)
        cleaned = clean(_without_secrets(body), None, "")
        changed = self._bodies.get(uid) != cleaned
        if changed:
            self._bodies[uid] = cleaned
        self._versions[uid] = resource_version_of(body)
        return changed

    def _dump(self) -> None:
        from kymatui.engine.cluster.yaml_output import dump_yaml

        bodies = self._all()
        self._texts = {id(body): self._texts.get(id(body)) or dump_yaml(body) for body in bodies}
        comments = "".join(f"# {line}\n" for line in self._heading)
        content = (comments + "---\n".join(self._texts.values())).encode()
        if len(content) > LARGEST_TEXT:  # read_backup would refuse it, when the objects are gone
            raise ConfigurationError(
                f"the backup {self._path} would have more than {LARGEST_TEXT >> 20} MiB",
                hint="delete fewer modules, or save the objects yourself and use --no-backup",
            )
        write = write_own_file if _is_ours(self._path) else write_private_file
        write(self._path, content)

    def _all(self) -> list[Object]:
        """Return what earlier runs saved, and then what this one saves, which is newer."""
        newer = {read_ref(body) for body in self._bodies.values()}
        return [*(body for ref, body in self._earlier.items() if ref not in newer), *self._bodies.values()]


class DeletionBackup(Struct, frozen=True):
    """The backup of one deletion; `manifest` is a separate file if the Manifest is on another cluster."""

    path: Path
    own: BackupFile
    manifest: BackupFile

    @property
    def message(self) -> str:
        return self.own.message_with(self.manifest.count if self.manifest is not self.own else 0)


def save_deletion(path: Path, state: DeletionState, cluster: Cluster, manifests_on: Cluster) -> DeletionBackup:
    """Save the objects that the deletion may delete.

    The Manifest comes first: once it is restored, its owner installs the rest, and the user's objects wait for that.
    A Manifest on another cluster is saved in its own file, in the folder of that cluster.
    """
    from kymatui.engine.deletion.deletion_state import ManagedBy

    deletions = [step.ref for step in state.uninstall.deletions] if state.uninstall is not None else []
    refs = [*(instance.ref for instance in state.remaining.instances if not instance.stays), *deletions]
    manifest = [state.manifest] if state.manifest is not None and state.managed_by is ManagedBy.MANIFEST else []
    own = BackupFile(path, cluster, _heading(state))
    elsewhere = own
    if manifest and state.control:
        heading = f"{_named(state)} in {state.control}"
        elsewhere = BackupFile(sibling_backup_path(path, state.control), manifests_on, (heading,))
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
    path = backup_path(cluster.name, name, time.time())
    return BackupFile(path, cluster, (heading,))


def _heading(state: DeletionState) -> tuple[str, ...]:
    from kymatui.engine.deletion.deletion_state import ManagedBy

    if state.managed_by is not ManagedBy.KYMA:
        return (f"{_named(state)} in {state.cluster}",)
    return (
        f"{_named(state)} in {state.cluster}, installed by {state.keeper}",
        f"`kymatui enable {state.module}` enables it again; then restore the objects below",
    )


def _named(state: DeletionState) -> str:
    return " ".join(filter(None, (state.module, state.installed)))


def _without_secrets(body: Object) -> Object:
    """Remove the values of a Secret, which are never written to disk; `kubectl apply` copies them to an annotation."""
    if body.get("kind") != "Secret" or body.get("apiVersion") != "v1":
        return body
    annotations = {
        key: value for key, value in (body["metadata"].get("annotations") or {}).items() if key != LAST_APPLIED
    }
    metadata = {key: value for key, value in body["metadata"].items() if key != "annotations"}
    visible = {key: value for key, value in body.items() if key not in ("data", "stringData")}
    return {**visible, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}


# finishing: what was saved belongs to one deletion, over all its runs, until it is noted that it ended


def finish_backup(path: Path) -> None:
    """Note in a backup that what it was saved for has ended.

    A file that cannot be written stays open: a later restore then has more of the past, and never less.
    """
    with contextlib.suppress(OSError, ConfigurationError):
        heading, lines = [], path.read_text(encoding="utf-8").splitlines(keepends=True)
        while lines and lines[0].startswith("# "):
            heading.append(lines.pop(0))
        if f"# {_FINISHED}\n" not in heading:
            write_private_file(path, "".join([*heading, f"# {_FINISHED}\n", *lines]).encode())


def finish_backups(module: str, cluster: Cluster) -> None:
    """Note that the deletion of a module has ended, in its newest backup: its runs have one each, or none.

    Reads only files of this cluster and module: a campaign calls it for each of its runtimes.
    """
    paths = (backups_folder() / _inside(cluster.name)).glob("*.yaml")
    named = {path: name for path in paths if (name := _NAME.fullmatch(path.name)) and name["module"] == _inside(module)}
    ordered = sorted(named, key=lambda path: named[path]["moment"], reverse=True)
    for backup in _headings(ordered):
        if backup.count and backup.module == module and not backup.not_of(cluster.name, cluster_identity(cluster)):
            if not backup.is_finished:
                finish_backup(backup.path)
            return


# listing and reading


def backups_folder() -> Path:
    """Return the folder with one subfolder of backups per cluster."""
    import platformdirs

    return Path(platformdirs.user_state_dir("kymatui")) / "backups"


def _is_ours(path: Path) -> bool:
    """Return whether a backup is in kymatui's folder; a person may name another file."""
    return path.is_relative_to(backups_folder())


def _content(path: Path) -> bytes:
    """Return the content of a backup; what another user put into kymatui's folder is not restored."""
    return read_own(path) if _is_ours(path) else path.read_bytes()


def backup_path(context: str, name: str, moment: float) -> Path:
    """Return the file for a backup made at `moment` (Unix seconds)."""
    return backups_folder() / _inside(context) / f"{_inside(name)}-{time.strftime(_MOMENT, time.gmtime(moment))}.yaml"


def sibling_backup_path(path: Path, context: str) -> Path:
    """Return the file for a second cluster: in its folder, or next to a file that the user chose."""
    if path.parent.parent == backups_folder():
        return backups_folder() / _inside(context) / path.name
    return path.with_name(f"{path.stem}-{_inside(context)}{path.suffix}")


def _inside(name: str) -> str:
    """Return the name of a context or a module as a part of a path: whoever writes it chooses no folder."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) or "_"


def list_backups() -> list[BackupInfo]:
    """Return the backups of all clusters, newest first; unreadable files are skipped."""
    return sorted(_headings(backups_folder().glob("*/*.yaml")), key=lambda backup: (-backup.made_at, backup.module))


def _headings(paths: Iterable[Path]) -> Iterator[BackupInfo]:
    for path in paths:
        with contextlib.suppress(ConfigurationError):  # a damaged file does not hide the other backups
            yield read_heading(path)


def read_heading(path: Path) -> BackupInfo:
    """Read the heading of a backup. Raise ConfigurationError if the file is unreadable."""
    try:
        text = _content(path).decode("utf-8", "replace")
        named = _NAME.fullmatch(path.name)
        timestamp = calendar.timegm(time.strptime(named["moment"], _MOMENT)) if named else path.stat().st_mtime
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    lines = [line for line in text.splitlines()[:_HEADING_LINES] if line.startswith("#")]
    heading = _HEADING.fullmatch(lines[0]) if lines else None
    identity = next((match["identity"] for line in lines if (match := _IDENTITY.fullmatch(line))), "")
    module = heading["module"] if heading else named["module"] if named else ""
    version, cluster = (heading["version"] or "", heading["cluster"]) if heading else ("", "")
    count = len(_OBJECT.findall(text))
    by_klm, is_finished = bool(heading and heading["klm"]), f"# {_FINISHED}" in lines
    return BackupInfo(path, module, version, cluster, identity, float(timestamp), count, by_klm, is_finished)


def read_backup(path: Path) -> list[Object]:
    """Return the objects of a backup. Raise ConfigurationError with file and line."""
    from kymatui.engine.bundles.yaml_objects import read_objects

    try:
        return read_objects(_content(path), str(path), budget=YamlBudget(_MOST_NODES))
    except OSError as error:
        raise ConfigurationError(f"cannot read {path}: {error.strerror or error}") from error
