"""Configs of modulectl's own end-to-end tests: built without a network, with what they have to have."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.errors import ConfigurationError, KymatuiError
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.module_build import BuildRequest, BuiltModule, build_module
from tests.bundle.sources import CR, commit, crd, workload

E2E = "kyma/module-config/modulectl-e2e"


def fetch(address: str) -> bytes:
    """The manifests and default CRs that the configs name by URL; their contents are not what is tested."""
    import yaml

    if address.endswith("default-sample-cr.yaml"):
        return yaml.safe_dump(CR).encode()
    version = address.rsplit("/", 2)[1]
    manager = workload(f"r.io/template-operator:{version}", name="template-operator-controller-manager")
    return yaml.safe_dump_all([crd("Cluster"), manager]).encode()


@pytest.fixture
def folder(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder as in those tests: `testdata` is in it."""
    (tmp_path / "testdata").symlink_to(shared / E2E)
    commit(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "testdata" / "moduleconfig"


def build(config: Path) -> BuiltModule:
    return build_module(BuildRequest(str(config), check_version=True), DiskSources(fetch))


def test_every_valid_config_is_built(folder: Path) -> None:
    failed = {}
    for path in sorted((folder / "valid").glob("*.yaml")):
        try:
            built = build(path)
        except KymatuiError as error:
            failed[path.name] = str(error)
        else:
            assert built.parts.blobs[0].name == "raw-manifest"
    assert failed == {}


def test_every_invalid_config_is_refused(folder: Path) -> None:
    accepted = set()
    for path in sorted((folder / "invalid").glob("*.yaml")):
        try:
            build(path)
        except ConfigurationError:
            continue
        accepted.add(path.name)
    # its mistake is that a scanners' file names no image of the module's version, which is not read since modulectl 2
    assert accepted == {"with-security.yaml"}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("with-manifest-containers.yaml", {"template-operator 1.0.3", "webhook v1.2.0", "nginx 1.25.0"}),
        ("with-manifest-init-containers.yaml", {"busybox 1.35.0", "migrate v4.16.0", "alpine 3.18.0"}),
        (
            "with-manifest-env-variables.yaml",
            {"template-operator 1.0.3", "webhook v1.2.0", "alpine 3.18.0", "migrate v4.16.0"},
        ),
        ("with-manifest-sha-digest.yaml", {"nginx-fff07cc3 0.0.0+sha256.fff07cc3a741", "alpine 3.18.0"}),
        ("with-manifest-no-deployment-statefulset.yaml", set()),
    ],
)
def test_images_are_those_that_modulectl_finds(folder: Path, config: str, expected: set[str]) -> None:
    found = build(folder / "valid" / config)
    assert {f"{one.name} {one.version}" for one in found.parts.images} >= expected
    assert bool(found.parts.images) is bool(expected)
