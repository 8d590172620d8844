"""The catalog of a control plane: templates and release metas, listed again after each change."""

from __future__ import annotations

import threading
import time
from typing import Final

from kymatui.domain.kubernetes.object_meta import OPERATOR
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.template_index import TemplateIndex, index_templates
from kymatui.engine.cluster.ports import Cluster

TEMPLATE: Final = GroupVersionKind(OPERATOR, "v1beta2", "ModuleTemplate")
RELEASE_META: Final = GroupVersionKind(OPERATOR, "v1beta2", "ModuleReleaseMeta")
_OLDEST: Final = 300.0
"""Seconds after which the catalog is listed again although no change was seen."""


class CatalogCache:
    """The catalog in one namespace; thread-safe."""

    def __init__(self, home: Cluster, namespace: str) -> None:
        self._home = home
        self._namespace = namespace
        self._lock = threading.Lock()
        self._known: TemplateIndex | None = None
        self._at = 0.0

    def changed(self) -> None:
        with self._lock:
            self._known = None

    def read(self, cancel: threading.Event) -> TemplateIndex:
        """Return the catalog. Raises the errors of the cluster."""
        with self._lock:
            if self._known is None or time.monotonic() - self._at > _OLDEST:
                at = time.monotonic()
                templates = self._home.list(TEMPLATE, self._namespace, cancel=cancel)
                metas = self._home.list(RELEASE_META, self._namespace, cancel=cancel)
                self._known, self._at = index_templates(templates, metas, self._namespace), at
            return self._known
