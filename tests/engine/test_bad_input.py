"""Bad input: each error names the file, the object and the cause, and nothing is written, by the library or by a
Manifest."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
import yaml
from msgspec.structs import replace

from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.engine import Options, install
from kymatui.engine.bundles import yaml_objects
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.sources import chart_source, render_target
from kymatui.errors import KymatuiError
from kymatui.sessions.control_plane.runtime_clients import SecretRuntimes
from tests.controllers.desks import Desk
from tests.engine import objects as make
from tests.engine.installing import LIMITS
from tests.engine.places import Json, Place
from tests.engine.sources.packing import tar

KYMA = "operator.kyma-project.io/kyma-name"
KINDS = [GroupVersionKind("", "v1", kind) for kind in ("ConfigMap", "Secret", "ServiceAccount")]
LEASE = GroupVersionKind("coordination.k8s.io", "v1", "Lease")
CHART = {"Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n"}
GOOD = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "good"}}
TAB = yaml.safe_dump(GOOD) + "---\nkind: ConfigMap\nmetadata:\n\tname: bad\n"
BROKEN = {**CHART, "templates/good.yaml": yaml.safe_dump(GOOD), "templates/bad.yaml": "a: {{ .Values.a.b }}\n"}
ODD = {"kustomization.yaml": "resources: [good.yaml]\nhelmCharts: [{name: web}]\n", "good.yaml": yaml.safe_dump(GOOD)}
UNKNOWN = [GOOD, {"apiVersion": "odd.example/v1", "kind": "Odd", "metadata": {"name": "bad"}}]

WRONG = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bad"}, "spec": {"replicaz": 1}}


def elsewhere(space: str) -> list[Json]:
    return [make.config_map("good", space), make.config_map("bad", "nowhere-at-all")]


Make = Callable[[Place], Bundle]


@pytest.fixture
def desk(place: Place) -> Desk:
    place.make_namespace()
    return Desk(place)


def from_text(name: str, source: str) -> Make:
    return lambda place: yaml_objects.from_text(source, name="bad", namespace=place.namespace, source=name)


def from_chart(place: Place) -> Bundle:
    loaded = chart_source.from_archive(
        tar({f"web/{name}": text for name, text in BROKEN.items()}, packed=True), "web-1.0.0.tgz"
    )
    return chart_source.chart_bundle(loaded, name="bad", namespace=place.namespace)


def from_kustomization(place: Place) -> Bundle:
    made = render_target.from_files({name: text.encode() for name, text in ODD.items()}, "odd.tar", name="bad")
    return replace(made, namespace=place.namespace)


LIBRARY: dict[str, tuple[Make, list[str]]] = {
    "a chart that does not render": (from_chart, ["web/templates/bad.yaml:1", ".Values.a.b", "nil pointer"]),
    "a tab": (from_text("module.yaml", TAB), ["module.yaml", "document 2", "line", "cannot start any token"]),
    "an unknown kind": (
        from_text("module.yaml", yaml.safe_dump_all(UNKNOWN)),
        ["bad from module.yaml", "Odd bad", "does not serve Odd.v1.odd.example"],
    ),
    "a field that its kind has not": (
        from_text("module.yaml", yaml.safe_dump_all([GOOD, WRONG])),
        ["bad from module.yaml", "Deployment ", "/bad: ", ".spec.replicaz: field not declared in schema"],
    ),
    "a name that no object can have": (
        lambda place: replace(from_text("m.yaml", yaml.safe_dump(GOOD))(place), name="Bad_Name"),
        ["'Bad_Name' is not a valid name for an installation"],
    ),
    "a namespace that is not there": (
        lambda place: yaml_objects.from_text(
            yaml.safe_dump_all(elsewhere(place.namespace)), name="bad", namespace=place.namespace
        ),
        ["ConfigMap nowhere-at-all/bad", "namespace nowhere-at-all does not exist"],
    ),
    "unsupported fields": (from_kustomization, ["odd.tar", "kustomization.yaml", "helmCharts"]),
}


def written(place: Place) -> list[str]:
    """What a test's namespace holds beyond what every namespace has."""
    names = [
        f"{kind.kind} {one['metadata']['name']}"
        for kind in (*KINDS, LEASE)
        for one in place.raw.list(kind, place.namespace)
    ]
    return sorted(set(names) - {"ConfigMap kube-root-ca.crt", "ServiceAccount default"})


@pytest.mark.parametrize("case", LIBRARY)
def test_the_library_names_what_is_wrong_and_writes_nothing(place: Place, case: str) -> None:
    place.make_namespace()
    make_bundle, words = LIBRARY[case]
    with pytest.raises(KymatuiError) as caught:
        install(make_bundle(place), place.cluster, options=Options(limits=LIMITS))
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    assert written(place) == []


def test_the_library_names_a_namespace_that_is_forbidden(place: Place) -> None:
    place.make_namespace()
    viewer = place.connect(token="viewer")
    with pytest.raises(KymatuiError) as caught:
        install(yaml_objects.from_text(yaml.safe_dump(GOOD), name="bad", namespace=place.namespace), viewer)
    assert f"ConfigMap {place.namespace}/good" in str(caught.value)
    assert 'configmaps "kymatui.bad" is forbidden: User "viewer"' in str(caught.value)
    assert f'in the namespace "{place.namespace}"' in str(caught.value)
    assert written(place) == []


MANIFESTS: dict[str, tuple[Callable[[Desk], bytes], list[str]]] = {
    "a chart that does not render": (
        lambda desk: tar(BROKEN, packed=True),
        ["web/templates/bad.yaml:1", ".Values.a.b"],
    ),
    "a tab": (lambda desk: TAB.encode(), ["raw-manifest.yaml: document 2", "cannot start any token"]),
    "an unknown kind": (
        lambda desk: yaml.safe_dump_all(UNKNOWN).encode(),
        ["component-descriptors/component@sha256:", "Odd bad", "does not serve"],
    ),
    "a namespace that is not there": (
        lambda desk: yaml.safe_dump_all(elsewhere(desk.place.namespace)).encode(),
        ["ConfigMap nowhere-at-all/bad", "does not exist"],
    ),
    "unsupported fields": (lambda desk: tar(ODD, packed=True), ["kustomization.yaml", "helmCharts"]),
}


@pytest.mark.parametrize("case", MANIFESTS)
def test_a_manifest_names_what_is_wrong_and_writes_nothing(desk: Desk, case: str) -> None:
    content, words = MANIFESTS[case]
    desk.put(desk.layers.keep(content(desk)))
    assert refused(desk, *words) == []


def test_a_manifest_names_a_digest_that_does_not_match(desk: Desk) -> None:
    digest = desk.layers.push(GOOD)
    desk.layers.content[digest] += b"\n# changed\n"
    desk.put(digest)
    assert refused(desk, f"reg.example/component-descriptors/component@{digest} arrived as sha256:") == []


def test_a_manifest_names_a_secret_without_a_kubeconfig(desk: Desk) -> None:
    place = desk.place
    metadata = {"name": "access", "namespace": place.namespace, "labels": {KYMA: "one"}}
    data = {"kubeconfig": base64.b64encode(b"x").decode()}
    place.raw.apply({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}, manager="test")
    desk.here.runtimes = SecretRuntimes(place.cluster)
    desk.put(desk.layers.push(GOOD), remote=True, metadata={"labels": {KYMA: "one"}})
    assert refused(desk, f"Secret {place.namespace}/access", "data.config is missing") == ["Secret access"]


def refused(desk: Desk, *words: str) -> list[str]:
    """What was written in spite of that."""
    desk.turn()
    status = desk.status()
    said = str(status["lastOperation"]["operation"])
    assert status["state"] == "Error", said
    assert [word for word in words if word not in said] == [], said
    assert desk.place.raw.list(KINDS[0], "default", labels="app.kubernetes.io/component") == []
    return written(desk.place)
