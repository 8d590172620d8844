"""Real modules and charts: installed, unchanged when looked at, upgraded, and taken away to nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine import Options, check, install, uninstall
from kymatui.engine.bundles import yaml_objects
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.transforms import with_labels
from kymatui.engine.sources import chart_source
from tests.engine.installing import LIMITS
from tests.engine.places import Place

OPTIONS = Options(limits=LIMITS)
MANIFESTS = (
    "kyma/catalog/derived/raw-manifests/api-gateway-2.6.0.yaml",
    "kyma/catalog/derived/raw-manifests/btp-operator-1.1.17.yaml",
    "kyma/catalog/derived/raw-manifests/eventing-1.2.1.yaml",
    "kyma/catalog/derived/raw-manifests/telemetry-1.23.0.yaml",
    "kyma/raw-manifests/template-operator-manifest.yaml",
    "kyma/raw-manifests/manifest-contains-duplicate-resources.yaml",
)
CHARTS = ("bitnami-prometheus", "cert-manager-cert-manager", "grafana-fluent-bit")
UPGRADES = [("eventing-1.0.2", "eventing-1.2.1"), ("btp-operator-1.1.16", "btp-operator-1.1.17")]


def goes_through(place: Place, bundle: Bundle) -> None:
    install(bundle, place.cluster, options=OPTIONS)
    report = check(bundle, place.cluster)
    assert report.consistent, report.drifts
    newer = [with_labels({"example.org/version": "2"})]
    install(bundle, place.cluster, transforms=newer, options=OPTIONS)
    assert check(bundle, place.cluster, transforms=newer).consistent
    found = uninstall(bundle.name, bundle.namespace, place.cluster, options=OPTIONS)
    assert found is not None
    assert {step.reason for step in found.kept} <= {"it existed before the module", "a system namespace"}
    left = [read_ref(body) for body in bundle.objects if read_ref(body).kind.kind != "Namespace"]
    assert [str(ref) for ref in left if place.raw.get(_placed(ref, bundle)) is not None] == []


def _placed(ref: ObjectRef, bundle: Bundle) -> ObjectRef:
    return ref if ref.namespace else replace(ref, namespace=bundle.namespace)


@pytest.mark.xdist_group("kyma-system")
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: Path(path).stem)
def test_a_real_module_comes_and_goes(place: Place, shared: Path, path: str) -> None:
    goes_through(place, yaml_objects.from_path(shared / path, name="real", namespace="kyma-system"))


@pytest.mark.parametrize("name", CHARTS)
def test_a_real_chart_comes_and_goes(place: Place, shared: Path, name: str) -> None:
    loaded = chart_source.from_path(shared / "helm" / "charts" / f"{name}.tgz")
    goes_through(place, chart_source.chart_bundle(loaded, name=name[:30], namespace=place.namespace))


@pytest.mark.xdist_group("kyma-system")
@pytest.mark.parametrize(("old", "new"), UPGRADES, ids=[new for _, new in UPGRADES])
def test_a_real_upgrade_leaves_what_the_new_version_has(place: Place, shared: Path, old: str, new: str) -> None:
    folder = shared / "kyma" / "catalog" / "derived" / "raw-manifests"
    bundles = [
        yaml_objects.from_path(folder / f"{one}.yaml", name="real", namespace="kyma-system") for one in (old, new)
    ]
    for bundle in bundles:
        install(bundle, place.cluster, options=OPTIONS)
    report = check(bundles[1], place.cluster)
    kept = {drift.ref.kind.kind for drift in report.drifts}
    assert kept <= {"CustomResourceDefinition"}
    uninstall("real", "kyma-system", place.cluster, options=OPTIONS)
