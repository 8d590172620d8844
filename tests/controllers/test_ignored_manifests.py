"""Manifests that nobody installs: told once each, and counted."""

from __future__ import annotations

import threading

import pytest

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.errors import ForbiddenError
from kymatui.operator.monitoring import ignored_manifests
from kymatui.operator.monitoring.ignored_manifests import IgnoredManifests
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from tests.controllers.desks import MANIFEST
from tests.engine.places import eventually

CANCEL = threading.Event()


def test_a_new_manifest_is_told_once_and_counted_as_long_as_it_exists() -> None:
    manifests = [ObjectRef(MANIFEST, "shop", "b"), ObjectRef(MANIFEST, "shop", "a")]
    lines: list[str] = []
    registry = MetricRegistry(METRICS)
    ignored = IgnoredManifests(lambda _: manifests, "kcp-system", lambda news, text: lines.append(text), registry)
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


def test_an_operator_that_may_not_list_them_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ignored_manifests, "INTERVAL", 0.01)
    lists: list[int] = []

    def refused(cancel: threading.Event) -> list[ObjectRef]:
        lists.append(1)
        raise ForbiddenError("manifests is forbidden", status=403)

    ignored = IgnoredManifests(refused, "kcp-system", lambda news, text: None, MetricRegistry(METRICS))
    ignored.begin(lambda ref: False)
    eventually(lambda: not any(one.name == "ignored-manifests" for one in threading.enumerate()), "it has ended")
    ignored.end()
    assert len(lists) == 1
