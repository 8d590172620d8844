"""One reconciliation of one Manifest: what both strategies share, the order of its steps, and all writes to it.

A strategy is a subclass: `ModulePass` for modules of Kymas, as lifecycle-manager does it, and `StandalonePass` for
Manifests that people create.
"""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, NoReturn, Protocol, TypeVar

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.kymas import Kyma, read_kyma
from kymatui.domain.kyma.manifests import Manifest, orphan_reason, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, Object, PatchKind
from kymatui.errors import CancelledError, ClusterError, ConfigurationError, ConflictError, KymatuiError, NotFoundError
from kymatui.operator.framework.dependency_watches import DependencyWatches
from kymatui.operator.manifests.manifest_marks import SYNCED_LAYER
from kymatui.operator.manifests.manifest_status import ManifestStatusDraft
from kymatui.operator.monitoring.event_correlation import EventType, ObjectEvent, state_event
from kymatui.operator.monitoring.event_writer import PATCH_OBJECT, PATCH_STATUS, Record

_KYMA = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
_MISSING = "create it again, or delete the Manifest without releasing its objects"


class ManifestChangedError(KymatuiError):
    """Another client changed the Manifest during its reconciliation, which then begins again."""


class PassContext(Protocol):
    """What both strategies need: the cluster with the Manifests, their watches and Events."""

    @property
    def home(self) -> Cluster: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def watches(self) -> DependencyWatches: ...

    @property
    def events(self) -> Record: ...


C = TypeVar("C", bound=PassContext)


class ManifestPass(ABC, Generic[C]):
    """One reconciliation; `manifest` is the server's latest answer.

    retry           seconds until a failure that the status reports is tried again; None: as the queue delays failures
    unreachable     the state of a Manifest whose cluster does not answer; None: it stays, and the Kyma reports it
    failed_deletion  the state of one in deletion whose cluster does not answer
    """

    retry: ClassVar[float | None] = None
    unreachable: ClassVar[State | None] = State.ERROR
    failed_deletion: ClassVar[State] = State.ERROR

    def __init__(self, context: C, manifest: Manifest, cancel: threading.Event, required: Sequence[str] = ()) -> None:
        """Give the status the conditions of these types."""
        self.context = context
        self.manifest = manifest
        self.cancel = cancel
        self.status = ManifestStatusDraft(manifest, context.clock.now(), required)
        self._reported: KymatuiError | None = None

    # the strategy

    @property
    @abstractmethod
    def soon(self) -> float:
        """Return the seconds until the next step."""

    @abstractmethod
    def connect(self) -> Cluster | None:
        """Return the target cluster, None without access to it. Raises KymatuiError."""

    @abstractmethod
    def new_marks(self) -> tuple[Sequence[str], str]:
        """Return the finalizers of the Manifest, and the layer to annotate ("" for none)."""

    @abstractmethod
    def install(self, cluster: Cluster) -> float | None: ...

    @abstractmethod
    def delete(self, cluster: Cluster | None) -> float | None:
        """Delete what is possible now; `cluster` is None if it no longer exists."""

    @abstractmethod
    def release(self, cluster: Cluster) -> float | None:
        """Stop managing the objects, which stay, and delete the Manifest."""

    # the order of the steps

    def run(self) -> float | None:
        """Do what is possible now; return the seconds until the next time, None to wait for a change.

        Raises the errors of both clusters and of the registry that are to be retried; they are in the status, too.
        """
        try:
            return self._run()
        except ManifestChangedError:  # the next reconciliation reads the new Manifest, which may request something else
            return self.soon
        except KymatuiError as error:
            if error is self._reported and self.retry is not None:
                return self.retry
            raise

    def _run(self) -> float | None:
        cluster, failure = self._connect()
        if self.manifest.meta.deleting:
            if failure is not None:
                self._fail_connection(failure, self.failed_deletion)
            return self.delete(cluster)
        if failure is not None and (self.manifest.unmanaged or not isinstance(failure, ClusterError)):
            self._fail_connection(failure, State.ERROR)
        if self.manifest.unmanaged:
            assert cluster is not None
            return self.release(cluster)
        if reason := self._orphan_reason():
            self.fail(ConfigurationError(f"orphaned manifest detected: {reason}"))
        if not self._mark_new():
            return self.soon
        if failure is not None:
            self._fail_connection(failure, self.unreachable)
        assert cluster is not None
        return self.install(cluster)

    def _connect(self) -> tuple[Cluster | None, KymatuiError | None]:
        try:
            cluster = self.connect()
        except CancelledError:
            raise
        except KymatuiError as error:
            return None, error
        if cluster is None and not self.manifest.meta.deleting:
            return None, MissingAccessError(self.manifest)
        return cluster, None

    def _fail_connection(self, error: KymatuiError, state: State | None) -> NoReturn:
        prefix = "" if isinstance(error, MissingAccessError) else "the cluster cannot be reached: "
        self.fail(error, state, f"{prefix}{error}")

    def _orphan_reason(self) -> str:
        manifest, home = self.manifest, self.context.home
        if not self.may_be_orphaned or home.kind(_KYMA) is None:
            return ""
        kyma = read_kyma(home.get(ObjectRef(_KYMA, manifest.meta.namespace, manifest.kyma)))
        return orphan_reason(manifest, kyma if isinstance(kyma, Kyma) else None, self.context.clock.now())

    @property
    def may_be_orphaned(self) -> bool:
        """Return whether a Kyma has to know the Manifest."""
        return bool(self.manifest.kyma)

    # failures and the status

    def fail(self, error: KymatuiError, state: State | None = State.ERROR, message: str = "") -> NoReturn:
        """Write the status with an error (None: as it is), and raise it."""
        if isinstance(error, CancelledError | ManifestChangedError):
            raise error
        if state is not None:
            self.status.set_state(state, message or str(error))
        self._reported = error
        self.write_status(failed=self.retry is None)
        raise error

    def write_status(self, *, failed: bool = False) -> None:
        """Write the status and record its change; `failed`: an error is raised afterwards, with its own event."""
        if not self.status.differs:
            return
        document = self.status.document()
        event = state_event(self.manifest.state, document["state"], self.status.operation)
        if self.is_reported_elsewhere:
            event = None
        self.patch({"status": document}, "status")
        if event is not None and not failed:
            self.context.events(self.manifest.raw, event)

    @property
    def is_reported_elsewhere(self) -> bool:
        """Return whether a change of the state is an event of another object."""
        return False

    # writes

    def _mark_new(self) -> bool:
        """Give the Manifest its marks unless it was created with them; return whether it still exists."""
        names, layer = self.new_marks()
        missing = [name for name in names if name not in self.manifest.meta.finalizers]
        annotations = {SYNCED_LAYER: layer} if layer else {}
        if not missing and not annotations:
            return True
        return self.patch_metadata([*self.manifest.meta.finalizers, *missing] if missing else None, annotations)

    def drop_finalizers(self, *names: str) -> bool:
        """Take finalizers off; return whether the Manifest had one of them."""
        finalizers = self.manifest.meta.finalizers
        remaining = [name for name in finalizers if name not in names]
        if len(remaining) == len(finalizers):
            return False
        self.patch_metadata(remaining)
        return True

    def patch_metadata(
        self, finalizers: Sequence[str] | None = None, annotations: Mapping[str, str | None] | None = None
    ) -> bool:
        """Write finalizers (None leaves them) and annotations; return whether the Manifest still exists."""
        metadata: dict[str, Any] = {} if finalizers is None else {"finalizers": list(finalizers)}
        if annotations:
            metadata["annotations"] = dict(annotations)
        return self.patch({"metadata": metadata})

    def patch(self, patch: Mapping[str, Any], subresource: str = "") -> bool:
        """Patch the Manifest as this pass knows it; return whether it still exists.

        Raises ManifestChangedError if another client changed it: it may request something else now.
        """
        version = self.manifest.raw["metadata"].get("resourceVersion")
        metadata = {**patch.get("metadata", {}), **({"resourceVersion": version} if version else {})}
        try:
            answer = self.context.home.patch(
                self.manifest.ref,
                {**patch, "metadata": metadata},
                PatchKind.MERGE,
                manager=OPERATOR_FIELD_MANAGER,
                subresource=subresource,
                cancel=self.cancel,
            )
        except NotFoundError:
            return False
        except ConflictError as error:
            raise ManifestChangedError(f"{self.manifest.ref} changed meanwhile") from error
        except ClusterError as error:
            event = ObjectEvent(EventType.WARNING, PATCH_STATUS if subresource else PATCH_OBJECT, str(error))
            self.context.events(self.manifest.raw, event)
            raise
        manifest = read_manifest(answer)
        if isinstance(manifest, Manifest):
            self.manifest = manifest
            self.status.written(manifest)
        return True

    def delete_manifest(self) -> None:
        """Delete the Manifest; it may be gone already, such as once its finalizers were removed."""
        with contextlib.suppress(NotFoundError):
            self.context.home.delete(self.manifest.ref, uid=self.manifest.meta.uid, cancel=self.cancel)

    # objects

    @property
    def mark(self) -> str:
        """Return the value of the annotation that marks the Manifest's objects."""
        return f"{self.manifest.meta.namespace}/{self.manifest.meta.name}"

    def release_objects(
        self,
        cluster: Cluster,
        refs: Iterable[ObjectRef],
        owner: Callable[[Object], str],
        labels: Iterable[str],
        annotations: Iterable[str] = (),
    ) -> None:
        """Take marks off objects that no other Manifest owns.

        Raises NotFoundError for a deleted one: its owner should know before the controller stops managing it.
        """
        marks = {"labels": tuple(labels), "annotations": tuple(annotations)}
        for ref in refs:
            live = cluster.get(ref, cancel=self.cancel)
            if live is None:
                raise NotFoundError(f"{ref} is missing, so it cannot be released", hint=_MISSING, status=404)
            # an object that a user created again has the label alone, and loses it, as with lifecycle-manager
            if owner(live) not in ("", self.mark):
                continue
            metadata = {
                field: {name: None for name in names if name in (live["metadata"].get(field) or {})}
                for field, names in marks.items()
            }
            if any(metadata.values()):
                patch = {"metadata": {field: names for field, names in metadata.items() if names}}
                cluster.patch(ref, patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=self.cancel)


class MissingAccessError(ConfigurationError):
    """A Manifest is for a runtime whose access Secret does not exist."""

    def __init__(self, manifest: Manifest) -> None:
        where = f"no Secret in {manifest.meta.namespace} is labelled {LABEL_KYMA_NAME}={manifest.kyma}"
        super().__init__(
            f"access secret not found: {where}",
            hint="create the Secret with the runtime's kubeconfig in its key config",
        )
