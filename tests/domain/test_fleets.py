"""A fleet out of Kymas: rows, drift, the worst module, counts of versions, and objects that are no Kymas."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.fleet.runtimes import Fleet, Runtime, build_fleet, version_matrix
from kymatui.domain.kyma.states import State
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.domain.versions.drift import DriftKind
from tests.domain.builders import NOW, Json, kyma, meta, report, stamp, template

CONTROL = "kcp-system"
METAS = [
    meta("keda", {"regular": "1.5.0", "fast": "1.6.0"}, namespace=CONTROL),
    meta("istio", {"regular": "1.11.0"}, namespace=CONTROL),
]


def runtime(name: str, *reports: Json, channel: str = "regular", **more: Any) -> Json:
    modules = more.pop("modules", [{"name": entry["name"]} for entry in reports])
    found = kyma(modules, name=name, namespace=CONTROL, status=reports, channel=channel, **more)
    found["metadata"]["creationTimestamp"] = stamp(3600)
    return found


def one(*reports: Json, **more: Any) -> Runtime:
    (found,) = build_fleet([runtime("one", *reports, **more)], METAS).runtimes
    return found


def test_a_row_says_what_the_kyma_and_its_labels_say() -> None:
    labels = {
        "kyma-project.io/shoot-name": "c-1",
        "kyma-project.io/broker-plan-name": "aws",
        "kyma-project.io/region": "eu-central-1",
        "kyma-project.io/platform-region": "cf-eu10",
        "kyma-project.io/global-account-id": "acc",
    }
    found = one(report("keda", "1.5.0"), labelled=labels)
    assert (found.name, found.shoot, found.plan, found.region) == ("one", "c-1", "aws", "eu-central-1")
    assert (found.platform_region, found.account, found.channel, found.state) == ("cf-eu10", "acc", "regular", "Ready")
    assert (found.created, found.deleting, found.skipped) == (NOW - 3600, False, False)


@pytest.mark.parametrize(
    ("version", "entry", "drifts"),
    [
        ("1.5.0", {}, False),
        ("v1.5.0", {}, False),
        ("1.4.0", {}, True),
        ("1.5.0", {"channel": "fast"}, True),
        ("1.6.0", {"channel": "fast"}, False),
        ("1.4.0", {"managed": False}, False),
        ("1.4.0", {"channel": "nobody"}, False),
    ],
)
def test_a_module_drifts_from_the_version_of_its_own_channel(version: str, entry: Json, drifts: bool) -> None:
    found = one(report("keda", version), modules=[{"name": "keda", **entry}])
    assert bool(found.drifting) is drifts


@pytest.mark.parametrize("version", ["1.4.0", "1.5.0"])
def test_a_module_that_is_rolling_out_does_not_drift(version: str) -> None:
    found = one(report("keda", version, "Processing"))
    assert [module.drift.kind for module in found.modules] == [DriftKind.ROLLING_OUT]
    assert (found.drifting, found.drift_words, found.unknown_drift) == ((), "", False)


@pytest.mark.parametrize("entry", [{"managed": False}, None])
@pytest.mark.parametrize(("version", "kind"), [("1.4.0", DriftKind.NONE), ("1.5.0", DriftKind.UP_TO_DATE)])
def test_what_is_unmanaged_or_leaves_drifts_neither_in_a_fleet_nor_in_a_catalog(
    entry: Json | None, version: str, kind: DriftKind
) -> None:
    modules = [{"name": "keda", **entry}] if entry is not None else []
    raw = runtime("one", report("keda", version, "Unmanaged" if entry else "Deleting"), modules=modules)
    (found,) = build_fleet([raw], METAS).runtimes
    templates = (template("keda", "1.5.0", namespace=CONTROL),)
    row = build_catalog(Snapshot("kcp", kymas=(raw,), release_metas=tuple(METAS), templates=templates), NOW).row("keda")
    assert row is not None
    assert (found.modules[0].drift.kind, row.drift.kind, row.installed) == (kind, kind, version)


def test_a_drift_that_no_release_meta_tells_is_unknown() -> None:
    (found,) = build_fleet([runtime("one", report("keda", "1.4.0"), report("old", "1.0.0"))], METAS).runtimes
    assert [(one.drift.kind, one.unknown_drift) for one in found.modules] == [
        (DriftKind.BEHIND, False),
        (DriftKind.UNKNOWN, True),
    ]
    assert found.drift_words == "1+"


def test_without_release_metas_nothing_is_said_to_drift() -> None:
    (found,) = build_fleet([runtime("one", report("keda", "1.4.0"))]).runtimes
    assert found.drifting == ()


def test_release_metas_of_another_namespace_do_not_count() -> None:
    (found,) = build_fleet([runtime("one", report("keda", "1.4.0"))], [meta("keda", {"regular": "1.5.0"})]).runtimes
    assert found.drifting == ()


def test_the_worst_module_is_named() -> None:
    found = one(report("keda", "1.5.0", "Warning"), report("istio", "1.11.0", "Error"))
    assert found.worst is not None
    assert (found.worst.name, found.worst.state) == ("istio", State.ERROR)
    assert one(report("keda", "1.5.0"), report("istio", "1.11.0", "Unmanaged")).worst is None
    (found,) = build_fleet([runtime("one", report("a", "1.0.0"), report("keda", "1.4.0"))], METAS).runtimes
    assert found.worst is not None
    assert (found.worst.name, found.worst.state) == ("keda", State.READY), "one that drifts, where all are ready"


def test_a_module_that_is_asked_for_and_not_reported_is_on_its_way() -> None:
    found = one(modules=[{"name": "keda"}])
    assert [(module.name, module.version, module.state) for module in found.modules] == [("keda", "", State.PROCESSING)]


def test_runtimes_are_counted_by_group_the_most_first() -> None:
    found = build_fleet(
        [runtime("a", state="Ready"), runtime("b", state="Error"), runtime("c", state="Ready"), runtime("d", state="")]
    )
    assert list(found.count("state").items()) == [("Ready", 2), ("Error", 1), ("unknown", 1)]


def test_versions_are_counted_newest_first() -> None:
    found = build_fleet(
        [
            runtime("a", report("keda", "1.9.0")),
            runtime("b", report("keda", "1.10.0"), report("istio", "1.11.0")),
            runtime("c", report("keda", "1.10.0")),
        ]
    )
    assert [(row.module, row.counts, row.total) for row in version_matrix(found.runtimes)] == [
        ("istio", (("1.11.0", 1),), 1),
        ("keda", (("1.10.0", 2), ("1.9.0", 1)), 3),
    ]


@pytest.mark.parametrize("raw", [{}, {"kind": "Kyma"}, {"metadata": 3}, {"metadata": {"name": 1}}])
def test_what_is_no_kyma_takes_no_row_and_is_told(raw: Json) -> None:
    found: Fleet = build_fleet([raw, runtime("one")])
    assert [row.name for row in found.runtimes] == ["one"]
    assert len(found.malformed) == 1
