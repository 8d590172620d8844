"""Manifests that nobody installs: told once each, and counted."""

from __future__ import annotations

import threading

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.controllers.monitoring.ignored_manifests import IgnoredManifests
from kymatui.engine.controllers.monitoring.metric_registry import MetricRegistry
from kymatui.engine.controllers.monitoring.operator_metrics import METRICS
from tests.engine.controllers.desks import MANIFEST

CANCEL = threading.Event()


def test_a_new_manifest_is_told_once_and_counted_as_long_as_it_exists() -> None:
    manifests = [ObjectRef(MANIFEST, "shop", "b"), ObjectRef(MANIFEST, "shop", "a")]
    lines: list[str] = []
    registry = MetricRegistry(METRICS)
    ignored = IgnoredManifests(lambda _: manifests, "kcp-system", lines.append, registry)
    ignored.report_new(CANCEL)
    ignored.report_new(CANCEL)
    assert len(lines) == 1
    assert lines[0].startswith("ignored: Manifest shop/a, Manifest shop/b; Manifests of kcp-system are installed")
    assert "kymatui_ignored_manifests 2" in registry.text()
    manifests.append(ObjectRef(MANIFEST, "web", "c"))
    del manifests[0]
    ignored.report_new(CANCEL)
    assert len(lines) == 2
    assert lines[1].startswith("ignored: Manifest web/c; ")
    assert "kymatui_ignored_manifests 2" in registry.text()
