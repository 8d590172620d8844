"""Templates of catalogs outside of the cluster: offered, and never taken for what lifecycle-manager would find."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog, CatalogOrigin, ModuleRow
from kymatui.domain.kyma.maintenance_windows import ControllerSettings
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.kyma.template_index import index_templates
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Feed, FeedState
from tests.domain.builders import (
    NOW,
    Json,
    community_template,
    deployment,
    gvk,
    kyma,
    labels,
    meta,
    old_template,
    resource,
    snapshot,
    template,
)

ADDRESS = "https://example.org/all-modules.yaml"


def outside(module: str, version: str, **more: Any) -> Json:
    """As a reader of catalogs hands it on."""
    found = community_template(module, version, namespace="", **more)
    found["metadata"]["annotations"] = {"source": ADDRESS}
    return found


def see(**more: Any) -> Catalog:
    return build_catalog(snapshot(**more), NOW)


def row(**more: Any) -> ModuleRow:
    found = see(**more).row("mod")
    assert found is not None
    return found


def test_a_module_that_only_an_outside_catalog_has_is_a_community_module() -> None:
    found = row(outside=[outside("mod", "1.0.0"), outside("mod", "1.1.0")], kymas=[kyma()])
    assert (found.origin, found.desired, found.newest) == (CatalogOrigin.COMMUNITY, "1.1.0", "1.1.0")
    assert found.sources == (ADDRESS,)
    assert found.reason.text == "Not installed (1.1.0 available)"


def test_its_manager_and_its_resource_are_found_in_the_cluster() -> None:
    found = row(
        outside=[outside("mod", "1.0.0"), outside("mod", "1.1.0")],
        workloads=[deployment("mod", "1.0.0")],
        module_resources={gvk("mod"): (resource("mod", "Warning"),)},
    )
    assert (found.installed, found.drift.kind, found.state, found.managed) == ("1.0.0", "behind", "Warning", False)


@pytest.mark.parametrize("version", ["1.0.0", "v1.0.0", "1.0.0+build"])
def test_what_the_cluster_has_wins_over_the_same_version(version: str) -> None:
    shelf = index_templates([community_template("mod", "1.0.0")], [], "kyma-system", [outside("mod", version)])
    assert [str(one.ref) for one in shelf.offers("mod")] == ["ModuleTemplate default/mod-1.0.0"]


def test_of_several_sources_the_first_wins() -> None:
    first, second = outside("mod", "1.0.0"), outside("mod", "1.0.0")
    second["metadata"]["annotations"]["source"] = "second"
    assert row(outside=[first, second]).sources == (ADDRESS,)


CLAIMS: dict[str, Json] = {
    "a label of the sync": {"labelled": labels(managed_by="kyma")},
    "the name that lifecycle-manager looks for": {"name": "mod-2.0.0"},
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_nothing_from_outside_resolves_a_module_of_kyma(claim: Json) -> None:
    """The release meta names a version that only somebody else's file has."""
    sly = outside("mod", "2.0.0", **claim)
    sly["metadata"]["labels"].update(claim.get("labelled", {}))
    found = row(kymas=[kyma([{"name": "mod"}])], release_metas=[meta("mod", {"regular": "2.0.0"})], outside=[sly])
    assert found.template is None
    assert (
        found.reason.text
        == "lifecycle-manager cannot install or upgrade the module: ModuleTemplate kyma-system/mod-2.0.0 is missing"
    )


def test_nor_does_an_old_template_with_a_channel() -> None:
    sly = old_template("mod-regular", "mod", "regular", "1.0.0", namespace="")
    found = row(kymas=[kyma([{"name": "mod"}])], outside=[sly])
    assert found.template is None
    assert found.desired == ""


def test_newer_versions_from_outside_are_named_and_not_desired() -> None:
    inside = {"templates": [template("mod", "1.0.0")], "release_metas": [meta("mod", {"regular": "1.0.0"})]}
    found = row(kymas=[kyma([{"name": "mod"}])], outside=[outside("mod", "2.0.0")], **inside)
    assert (found.origin, found.desired, found.newest) == (CatalogOrigin.KYMA, "1.0.0", "2.0.0")


@pytest.mark.parametrize(
    ("feed", "said", "severity"),
    [
        (Feed(FeedState.FAILED, 0.0, "HTTP 404"), f"the catalog {ADDRESS} cannot be read: HTTP 404", Severity.WARNING),
        (
            Feed(FeedState.STALE, NOW, "HTTP 500"),
            f"the catalog {ADDRESS} may be outdated; the last read failed: HTTP 500",
            Severity.WARNING,
        ),
        (Feed(FeedState.LIVE, NOW, "skipped: 1 Secret"), f"the catalog {ADDRESS}: skipped: 1 Secret", Severity.INFO),
    ],
)
def test_how_a_source_is_doing_is_said(feed: Feed, said: str, severity: Severity) -> None:
    (problem,) = see(feeds={CATALOG_FEED + ADDRESS: feed}).problems
    assert (problem.message, problem.severity) == (said, severity)


def test_a_source_that_is_well_is_no_problem() -> None:
    assert see(feeds={CATALOG_FEED + ADDRESS: Feed(FeedState.LIVE, NOW)}).problems == ()


def test_a_malformed_template_from_outside_is_shown_as_such() -> None:
    broken = {"apiVersion": "operator.kyma-project.io/v1beta2", "kind": "ModuleTemplate", "metadata": {"name": "x"}}
    found = see(outside=[{**broken, "spec": []}, outside("mod", "1.0.0")])
    assert [one.message for one in found.problems] == ["ModuleTemplate x is malformed: spec is not an object"]
    assert [one.name for one in found.rows] == ["mod"]


def test_what_is_known_besides_the_cluster_comes_with_the_snapshot() -> None:
    rules = ControllerSettings(restricted=frozenset({"mod"}))
    inside = {"templates": [template("mod", "1.0.0")], "release_metas": [meta("mod", {"regular": "1.0.0"})]}
    found = row(kymas=[kyma([{"name": "mod"}])], rules=rules, **inside)
    assert found.reason.text.endswith(
        "it is restricted, and its ModuleReleaseMeta has no kymaSelector. Disable the module (`kymatui disable mod`)."
    )
