"""Everything real that lies beside the checkout loads: what does not is refused by a real server, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.helm import load_chart, render
from kymatui.sandbox.world.story.file_loader import LoadReport, load
from tests.sandbox.living import Living

HEAD, MISC, OLD, MODULE_MANAGER = "crds/klm-head", "crds/misc", "crds/klm-2024-06", "crds/module-manager-v1alpha1"
BAD_NAME = {"cluster-ip-0.0.28.yaml": "spec.moduleName in body should match"}
PLACEHOLDER = {"skr-access-secret.yaml": "illegal base64 data at input byte 0"}
NO_ISTIO = {"gateway.yaml": "no matches for kind 'Gateway'"}
PATCHES = {
    "cainjection_in_samples.yaml": "is invalid",
    "webhook_in_samples.yaml": "is invalid",
    "manager_auth_proxy_patch.yaml": "spec.selector: Required value",
    "monitor.yaml": "no matches for kind 'ServiceMonitor'",
}
FRAGMENTS = {
    "containers.yaml": "`selector` does not match template `labels`",
    "deployment-statefulset.yaml": "`selector` does not match template `labels`",
    "init-containers.yaml": "`selector` does not match template `labels`",
    "test-defaultcr.yaml": "no matches for kind 'Sample'",
}
V1ALPHA1 = "at version v1alpha1"
OLDEST = {
    "klm_generated-module-template.yaml": V1ALPHA1,
    "klm_operator_v1alpha1_kyma.yaml": V1ALPHA1,
    "klm_operator_v1alpha1_manifest.yaml": V1ALPHA1,
    "klm_operator_v1alpha1_moduletemplate_kcp-module.yaml": V1ALPHA1,
    "klm_operator_v1alpha1_moduletemplate_manifest_rapid.yaml": V1ALPHA1,
    "klm_operator_v1alpha1_moduletemplate_manifest_stable.yaml": V1ALPHA1,
    "klm_operator_v1alpha1_moduletemplate_skr-module.yaml": V1ALPHA1,
}


def loaded(living: Living, *paths: Path) -> LoadReport:
    report = load(living.client, living.server.store, paths)
    living.advance(6)
    assert report.done
    return report


@pytest.mark.parametrize(
    ("folder", "definitions", "least", "refused"),
    [
        (HEAD, (), 7, {}),
        (MISC, (), 3, {}),
        (OLD, (), 5, {}),
        (MODULE_MANAGER, (), 6, {}),
        ("catalog", (HEAD,), 350, BAD_NAME),
        ("moduletemplates", (HEAD,), 50, {}),
        ("modulereleasemeta", (HEAD,), 1, {}),
        ("kyma-crs", (HEAD,), 4, {}),
        ("secrets", (), 1, PLACEHOLDER),
        ("watchers", (HEAD,), 10, NO_ISTIO),
        ("template-operator", (HEAD,), 22, PATCHES),
        ("kustomize", (), 2, {}),
        ("module-config", (HEAD,), 7, FRAGMENTS),
        ("maintenance-windows", (), 0, {}),
        ("raw-manifests", (HEAD, MISC), 39, {}),
        ("manifests", (MODULE_MANAGER,), 1, {}),
        ("history", (HEAD,), 4, OLDEST),
        ("history", (OLD,), 4, OLDEST),
    ],
)
def test_a_folder_loads(
    shared: Path, folder: str, definitions: tuple[str, ...], least: int, refused: dict[str, str]
) -> None:
    living = Living()
    for name in definitions:
        assert loaded(living, shared / "kyma" / name).failures == []
    report = loaded(living, shared / "kyma" / folder)
    told = {Path(failure.partition(": ")[0]).name: failure for failure in report.failures}
    assert told.keys() == refused.keys(), report.failures
    assert [name for name, words in refused.items() if words not in told[name]] == []
    assert len(report.loaded) >= least


@pytest.mark.parametrize("chart", ["mm-helm", "mm-module-chart", "template-operator-busybox"])
def test_a_chart_that_is_rendered_loads(shared: Path, tmp_path: Path, chart: str) -> None:
    living = Living()
    loaded(living, shared / "kyma" / MODULE_MANAGER)
    rendered = render(load_chart(str(shared / "kyma/helm-charts" / chart)), {}, release_name="rel", namespace="default")
    for index, manifest in enumerate(rendered.manifests):
        (tmp_path / f"{index}.yaml").write_text(manifest.content)
    report = loaded(living, tmp_path)
    assert report.failures == []
    assert report.loaded


def test_every_folder_is_looked_at(shared: Path) -> None:
    known = {
        "catalog",
        "crds",
        "helm-charts",
        "history",
        "kustomize",
        "kyma-crs",
        "maintenance-windows",
        "manifests",
        "module-config",
        "modulereleasemeta",
        "moduletemplates",
        "raw-manifests",
        "secrets",
        "template-operator",
        "watchers",
    }
    assert {path.name for path in (shared / "kyma").iterdir() if path.is_dir()} == known
