"""Mandatory modules: a Manifest of each for every Kyma; a finalizer holds a release meta until they are gone."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from kymatui.domain.kubernetes.object_meta import LABEL_MANDATORY, LABEL_MODULE_NAME, LABEL_SKIP, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kyma.kymas import Kyma, Policy, read_kyma
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.template_index import ReleaseMeta, TemplateIndex, mandatory_metas, read_release_meta
from kymatui.domain.modules.module_outcomes import WorkItem
from kymatui.domain.plans.kyma_manifest import kyma_manifest
from kymatui.engine.cluster.concurrency import attempt
from kymatui.errors import CancelledError, ConfigurationError, ConflictError, KymatuiError
from kymatui.ocm import DescriptorError
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META, TEMPLATE
from kymatui.operator.framework.controller import GONE, KindWatch, PlainController
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST, KymaContext
from kymatui.operator.kymas.manifest_writes import ManifestWrites, add_finalizer, set_finalizers
from kymatui.operator.kymas.module_planning import module_content

_RESYNC: Final = 1800.0  # seconds; changes of Kymas and of the catalog are watched


class MandatoryInstallation(PlainController):
    """Implements `OperatorController` for the mandatory modules of Kymas."""

    name = "mandatory"

    def __init__(self, context: KymaContext, *, workers: int) -> None:
        self.workers = workers
        self.intervals = context.intervals
        self.resync = max(_RESYNC, context.intervals.success)
        self._context = context

    def watches(self) -> Sequence[KindWatch]:
        namespace = self._context.namespace
        return (
            KindWatch(KYMA, namespace=namespace, listed=True, edits=True),
            KindWatch(RELEASE_META, self._all, namespace),
            KindWatch(TEMPLATE, self._all, namespace),
        )

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        """Write the Manifests of all mandatory modules. A missing template keeps all of them from being written.

        Without mandatory modules nothing is read: a change of the catalog wakes all Kymas.
        """
        index = self._context.templates.read(cancel)
        if not mandatory_metas(index):
            return GONE  # a mandatory module that comes wakes all Kymas
        raw = self._context.home.get(ref, cancel=cancel)
        if raw is None:
            return GONE
        kyma = read_kyma(raw)
        if not isinstance(kyma, Kyma) or kyma.meta.deleting or kyma.meta.label_is_true(LABEL_SKIP):
            return None
        failed: list[KymatuiError] = []
        bodies: list[Mapping[str, Any]] = []
        for meta, template in [(meta, _template(index, meta)) for meta in mandatory_metas(index)]:
            item = WorkItem(template.module, True, Policy.CREATE_AND_DELETE)
            try:
                content = module_content(self._context, template, meta.component, template.version)
            except CancelledError:
                raise
            except (KymatuiError, DescriptorError) as error:
                failed.append(error if isinstance(error, KymatuiError) else ConfigurationError(str(error)))
                continue
            bodies.append(kyma_manifest(kyma, item, template, content, "", mandatory=True))
        writes = ManifestWrites(self._context.home, cancel)
        for body in bodies:
            attempt(partial(writes.write_mandatory, body), failed)
        if failed:
            raise failed[0]
        return self._context.intervals.success

    def _all(self, changed: ObjectRef) -> None:
        self._context.templates.changed()


def _template(index: TemplateIndex, meta: ReleaseMeta) -> ModuleTemplate:
    """Return the template of a mandatory module's version. Raises ConfigurationError."""
    name = f"{meta.meta.name}-{meta.mandatory_version}"
    template = index.by_name.get((meta.meta.namespace, name))
    if template is None:
        raise ConfigurationError(f"mandatory module {meta.meta.name}: ModuleTemplate {name} is missing")
    return template


FINALIZER: Final = f"{OPERATOR}/mandatory-module"


class MandatoryRemoval(PlainController):
    """Implements `OperatorController` for the release metas of mandatory modules."""

    name = "mandatory-removal"

    def __init__(self, context: KymaContext) -> None:
        self.workers = 1
        self.intervals = context.intervals
        self.resync = context.intervals.success
        self._context = context

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(RELEASE_META, namespace=self._context.namespace, listed=True),)

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
            manifests = home.list(MANIFEST, self._context.namespace, labels=labels, cancel=cancel)
            for error in ManifestWrites(home, cancel).delete_all(map(read_ref, manifests)):
                raise error
            if not manifests and held:
                set_finalizers(home, raw, [name for name in meta.meta.finalizers if name != FINALIZER], cancel)
        except ConflictError:  # the release meta changed meanwhile, so its finalizers are read again
            return self.intervals.soon
        return min(1.0, self.intervals.success)
