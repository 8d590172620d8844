"""Which version runs: what counts as evidence, in which order it is believed, and what it adds up to."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kubernetes.image_references import parse_image
from kymatui.domain.versions.evidence import (
    DeployedVersion,
    EvidenceSource,
    ReportedVersions,
    deployed_version,
    gather_evidence,
    manager_image,
    manager_images,
)
from tests.domain.builders import Json, deployment

COMMIT = "49b1192071ec05bfdd18c1f667544ac34aa927a1"


def workload(*containers: tuple[str, str], **metadata: Any) -> Json:
    found = deployment("mod", "1.0.0", **metadata)
    found["spec"]["template"]["spec"]["containers"] = [{"name": name, "image": image} for name, image in containers]
    return found


@pytest.mark.parametrize(
    ("containers", "image"),
    [
        pytest.param([("proxy", "r.io/p:9"), ("manager", "r.io/m:1")], "r.io/m:1", id="60 a sidecar comes first"),
        pytest.param([("proxy", "r.io/p:9"), ("my-manager", "r.io/m:1")], "r.io/m:1", id="a name that contains it"),
        pytest.param([("a-manager", "r.io/a:9"), ("manager", "r.io/m:1")], "r.io/m:1", id="the exact name wins"),
        pytest.param([("operator", "r.io/m:1")], "r.io/m:1", id="the only one"),
        pytest.param([("proxy", "r.io/p:9"), ("operator", "r.io/known:1")], "r.io/known:1", id="one that is known"),
        pytest.param([("proxy", "r.io/p:9"), ("operator", "r.io/m:1")], "", id="nothing stands out"),
        pytest.param([], "", id="no containers"),
    ],
)
def test_60_the_managers_container(containers: list[tuple[str, str]], image: str) -> None:
    known = parse_image("mirror.io/known:2")
    assert known is not None
    assert manager_image(workload(*containers), [known]) == image


def seen(raw: Json | None, claims: ReportedVersions | None = None, desired: str = "", **raws: Json) -> DeployedVersion:
    images = manager_images({version.replace("_", "."): [raw] for version, raw in raws.items()})
    claims = claims or ReportedVersions()
    return deployed_version(gather_evidence(raw, claims, images), desired, claims.settled)


def test_all_evidence_is_kept_in_the_order_of_belief() -> None:
    raw = workload(("manager", "r.io/m:1.2.3"), labels={"app.kubernetes.io/version": "1.2.2", "version": "1.2.0"})
    raw["spec"]["template"]["metadata"] = {"labels": {"app.kubernetes.io/version": "1.2.1"}}
    found = seen(raw, ReportedVersions(manifest="1.1.9", kyma="1.1.8"))
    assert [(item.source, item.version) for item in found.evidence] == [
        (EvidenceSource.IMAGE, "1.2.3"),
        (EvidenceSource.LABEL, "1.2.2"),
        (EvidenceSource.POD_LABEL, "1.2.1"),
        (EvidenceSource.VERSION_LABEL, "1.2.0"),
        (EvidenceSource.MANIFEST, "1.1.9"),
        (EvidenceSource.KYMA, "1.1.8"),
    ]
    assert found.version == "1.2.3"


@pytest.mark.parametrize(
    ("image", "version", "text"),
    [
        pytest.param("reg:5000/x/mgr", "", "", id="58 no tag"),
        pytest.param("reg:5000/x/mgr:1.2.3@sha256:" + "a" * 64, "1.2.3", "", id="58 tag and digest"),
        pytest.param("r.io/mgr:latest", "", "latest", id="58 latest"),
        pytest.param(f"r.io/mgr:{COMMIT}", "", COMMIT, id="58 a commit"),
        pytest.param("r.io/mgr:v1.0.2", "v1.0.2", "", id="a leading v stays as it is written"),
    ],
)
def test_58_what_an_image_says(image: str, version: str, text: str) -> None:
    found = seen(workload(("manager", image)))
    assert (found.version, found.text) == (version, text)


def test_a_tag_that_is_no_version_is_named_by_the_raw_manifests() -> None:
    running = workload(("manager", f"r.io/prod/mod:{COMMIT}"))
    found = seen(running, v1_0_1=running, v1_0_2=workload(("manager", "r.io/prod/mod:1.0.2")))
    assert found.version == "v1.0.1"


def test_an_image_copied_to_another_registry_is_still_named() -> None:
    shipped = workload(("manager", f"r.io/prod/mod:{COMMIT}"))
    running = workload(("manager", f"mirror.corp:5000/kyma/mod:{COMMIT}"))
    images = manager_images({"1.0.1": [shipped]})
    assert deployed_version(gather_evidence(running, ReportedVersions(), images), "1.0.1").version == "1.0.1"


def test_one_image_in_two_versions_is_the_desired_one() -> None:
    shipped = workload(("manager", "r.io/prod/mod:1.23.0"))
    images = manager_images({"1.23.0": [shipped], "1.23.0-dev": [shipped]})
    evidence = gather_evidence(shipped, ReportedVersions(), images)
    assert deployed_version(evidence, "1.23.0-dev").version == "1.23.0-dev"
    assert deployed_version(evidence, "1.23.0").version == "1.23.0"
    assert deployed_version(evidence, "1.24.0").version == "1.23.0", "the version of the tag, where neither is desired"


@pytest.mark.parametrize(
    ("claimed", "settled", "version"),
    [
        pytest.param("1.23.0-dev", True, "1.23.0-dev", id="a settled claim decides"),
        pytest.param("1.23.0-dev", False, "1.23.0", id="an intention does not"),
        pytest.param("1.22.0", True, "1.23.0", id="nor a claim of something else"),
    ],
)
def test_a_version_with_a_suffix_may_ship_the_image_of_its_release(claimed: str, settled: bool, version: str) -> None:
    found = seen(
        workload(("manager", "r.io/mod:1.23.0")), ReportedVersions(kyma=claimed, settled=settled), "1.23.0-dev"
    )
    assert found.version == version


def test_a_claim_is_disproved_by_another_image_than_the_claimed_version_ships() -> None:
    running = workload(("manager", f"r.io/mod:{COMMIT}"))
    images = manager_images({"1.0.2": [workload(("manager", "r.io/mod:1.0.2"))]})
    evidence = gather_evidence(running, ReportedVersions(kyma="1.0.2"), images)
    assert [item.disproved for item in evidence] == [False, True]
    assert deployed_version(evidence, "1.0.2") == DeployedVersion("", COMMIT, evidence)


def test_without_a_workload_lifecycle_manager_is_believed() -> None:
    assert seen(None, ReportedVersions(manifest="1.1.0", kyma="1.2.0")).version == "1.1.0"
    assert seen(None).version == ""
