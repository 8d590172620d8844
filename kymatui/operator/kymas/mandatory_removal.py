"""The removal of mandatory modules: a finalizer holds a release meta until the module's Manifests are gone."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from kymatui.domain.kubernetes.object_meta import LABEL_MANDATORY, LABEL_MODULE_NAME, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.release_metas import ReleaseMeta, read_release_meta
from kymatui.errors import ConflictError
from kymatui.operator.catalogs.catalog_cache import RELEASE_META
from kymatui.operator.framework.controller import GONE, KindWatch, Wake
from kymatui.operator.kymas.kyma_context import MANIFEST, KymaContext
from kymatui.operator.kymas.manifest_writes import ManifestWrites, add_finalizer, set_finalizers

FINALIZER: Final = f"{OPERATOR}/mandatory-module"


class MandatoryRemoval:
    """Implements `OperatorController` for the release metas of mandatory modules."""

    name = "mandatory-removal"

    def __init__(self, context: KymaContext) -> None:
        self.workers = 1
        self.intervals = context.intervals
        self.resync = context.intervals.success
        self._context = context

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(RELEASE_META, namespace=self._context.namespace, listed=True),)

    def begin(self, wake: Wake) -> None:
        """Do nothing: only the control plane is watched."""

    def end(self) -> None:
        """Do nothing: there is nothing to close."""

    def leave(self, ref: ObjectRef) -> None:
        """Do nothing: nothing is kept."""

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        """Hold the release meta of a mandatory module until its Manifests are deleted.

        The finalizer decides: as in lifecycle-manager, Manifests stay while the meta offers the module in channels
        instead, and are deleted with the meta. Those that a Kyma's controller has taken over are no longer mandatory.
        """
        home = self._context.home
        raw = home.get(ref, cancel=cancel)
        if raw is None:
            return GONE
        meta = read_release_meta(raw)
        if not isinstance(meta, ReleaseMeta):
            return None
        held, mandatory = FINALIZER in meta.meta.finalizers, meta.mandatory_version is not None
        try:
            if not meta.meta.deleting:
                if mandatory:
                    add_finalizer(home, raw, FINALIZER, cancel)
                return None
            if not held and not mandatory:
                return None
            labels = f"{LABEL_MODULE_NAME}={meta.meta.name},{LABEL_MANDATORY}=true"
            found = home.list(MANIFEST, self._context.namespace, labels=labels, cancel=cancel)
            for error in ManifestWrites(home, cancel).delete_all(map(read_ref, found)):
                raise error
            if not found and held:
                set_finalizers(home, raw, [name for name in meta.meta.finalizers if name != FINALIZER], cancel)
        except ConflictError:  # the release meta changed meanwhile, so its finalizers are read again
            return self.intervals.soon
        return min(1.0, self.intervals.success)
