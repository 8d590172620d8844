"""Manifests that no controller of the operator reconciles, because others than the Kymas' administrators write them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.plans.backups import summarize_names
from kymatui.engine.cluster.concurrency import report_defect
from kymatui.errors import ForbiddenError, KymatuiError
from kymatui.operator.framework.controller import GroupNews, GroupReport
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import IGNORED_MANIFESTS

INTERVAL: Final = 60.0
"""Seconds between two lists."""

ListManifests = Callable[[threading.Event], Sequence[ObjectRef]]
"""A function that lists the Manifests of other namespaces. Raises ForbiddenError where the operator may not."""


class IgnoredManifests:
    """Implements `GroupService`: a line in the log for each new one, and a metric with their number."""

    def __init__(self, read: ListManifests, scope: str, tell: GroupReport, registry: MetricRegistry) -> None:
        """`scope` names the namespaces whose Manifests are reconciled."""
        self._read = read
        self._scope = scope
        self._tell = tell
        self._registry = registry
        self._reported: frozenset[ObjectRef] = frozenset()
        self._ended = threading.Event()

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        self._ended = threading.Event()
        threading.Thread(target=self._run, args=(self._ended,), name="ignored-manifests", daemon=True).start()

    def end(self) -> None:
        self._ended.set()

    def _run(self, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                self.report_new(ended)
            except ForbiddenError:  # the operator needs no right to list them, so there is nothing to tell
                return
            except KymatuiError:
                pass  # the controllers report a control plane that does not answer
            except Exception as error:  # noqa: BLE001 (the next list may do)
                report_defect(error)
            ended.wait(INTERVAL)

    def report_new(self, cancel: threading.Event) -> None:
        """List the Manifests once, and tell of those that the last list did not have."""
        manifests = frozenset(self._read(cancel))
        self._registry.set(IGNORED_MANIFESTS, len(manifests))
        if new := sorted(manifests - self._reported):
            names = summarize_names(new)
            text = f"ignored: {names}; Manifests of {self._scope} are installed, see --manifest-namespaces"
            self._tell(GroupNews.MANIFESTS_IGNORED, text)
        self._reported = manifests
