"""`bundle create` on a registry over real sockets: what is pushed, what stays, and the same bytes every time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kymatui.actions.components.stored_components import StoredComponent, find_component, require_component
from kymatui.adapters.files.image_layout import ImageLayout
from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.cli.main import main
from kymatui.engine.bundles.tar_archives import read_tar
from kymatui.engine.sources.component_source import MANIFEST_TYPE, component_artifact
from kymatui.ocm.component_location import ComponentLocation, NameMapping
from kymatui.sandbox.registry.registry_server import RegistryFault, RegistryFaultKind
from tests.bundle.sources import CR, IMAGE, NAME, VERSION, commit, crd, workload, write_sources
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


@pytest.fixture(autouse=True)
def _no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)


def create(config: Path, *more: str, host: str = "", prefix: str = "p") -> int:
    folder = config.parent
    words = ["bundle", "create", "-c", str(config), "-o", str(folder / "template.yaml"), "--sources", str(folder)]
    if host:
        words += ["--registry", f"{host}/{prefix}", "--insecure-registry", host]
    return main([*words, *more])


def stored(host: str, version: str = VERSION, prefix: str = "p") -> StoredComponent:
    return require_component(RegistryArtifacts(insecure=[host]), ComponentLocation(f"{host}/{prefix}", NAME, version))


def content(host: str, found: StoredComponent, name: str) -> bytes:
    (resource,) = (one for one in found.descriptor.resources if one.name == name)
    assert resource.access is not None
    return RegistryArtifacts(insecure=[host]).blob(
        found.location.repository, resource.access["localReference"], 1 << 20
    )


def test_a_component_has_everything_that_lifecycle_manager_reads(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    config = write_sources(tmp_path, crd("Cluster"), workload(), default_cr=CR, beta=True, labels={"a": "b"})
    assert create(config, host=host) == 0
    found = stored(host)
    assert capsys.readouterr().out.splitlines() == [
        f"pushed    {host}/p//{NAME}:{VERSION} {found.digest}",
        f"written   {tmp_path}/template.yaml",
    ]
    component = found.document["component"]
    assert component["repositoryContexts"] == [
        {"type": "OCIRegistry", "baseUrl": f"http://{host}", "subPath": "p", "componentNameMapping": "urlPath"}
    ]
    assert component["creationTime"] == "2023-11-14T22:13:20Z"
    assert [(one["name"], one["access"]["type"]) for one in component["resources"]] == [
        ("sample-manager", "ociArtifact"),
        ("raw-manifest", "localBlob"),
        ("default-cr", "localBlob"),
        ("moduletemplate", "localBlob"),
    ]
    assert component["sources"][0]["access"]["commit"] == (tmp_path / ".git/refs/heads/main").read_text().strip()
    assert found.descriptor.label("operator.kyma-project.io/is-cluster-scoped") == "true"
    assert found.descriptor.label("operator.kyma-project.io/beta") == "true"
    manifest = (tmp_path / "manifest.yaml").read_bytes()
    assert read_tar(content(host, found, "raw-manifest"), "") == {"manifest.yaml": manifest}
    assert yaml.safe_load(read_tar(content(host, found, "default-cr"), "")["default-cr.yaml"]) == CR
    assert content(host, found, "moduletemplate") == (tmp_path / "template.yaml").read_bytes()
    template = yaml.safe_load((tmp_path / "template.yaml").read_text())
    assert template["metadata"]["name"] == "sample-1.0.0"
    assert template["metadata"]["labels"] == {
        "a": "b",
        "operator.kyma-project.io/beta": "true",
        "operator.kyma-project.io/module-name": "sample",
    }
    assert template["spec"]["data"] == CR


def test_the_mapping_by_digest_is_used_and_recorded(served: Served, tmp_path: Path) -> None:
    host = served.registry.address
    assert create(write_sources(tmp_path), "--mapping", "sha256-digest", host=host) == 0
    location = ComponentLocation(f"{host}/p", NAME, VERSION, NameMapping.SHA256)
    found = require_component(RegistryArtifacts(insecure=[host]), location)
    assert found.document["component"]["repositoryContexts"][0]["componentNameMapping"] == "sha256-digest"


@pytest.mark.parametrize("folder", ["", "deep/folder"])
def test_the_same_version_again_changes_nothing(
    served: Served, tmp_path: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    assert create(write_sources(tmp_path / "one"), host=host) == 0
    digest = stored(host).digest
    served.registry.requests.clear()
    assert create(write_sources(tmp_path / "two" / folder), host=host) == 0
    assert capsys.readouterr().out.splitlines()[2] == f"unchanged {host}/p//{NAME}:{VERSION} {digest}"
    assert {line.split()[0] for line in served.registry.requests} == {"GET"}


def test_other_content_is_refused_with_the_difference_and_replaced_on_request(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    assert create(write_sources(tmp_path), host=host) == 0
    first = stored(host).digest
    (tmp_path / "template.yaml").unlink()
    config = write_sources(tmp_path, workload(IMAGE.replace("1.0.0", "1.0.1")))
    assert create(config, host=host) == 2
    said = capsys.readouterr().err
    assert f"{NAME}:{VERSION} already exists with other content:" in said
    assert 'component.resources[sample-manager].version: "1.0.0" → "1.0.1"' in said
    changed = f'.spec.template.spec.containers[manager].image: "{IMAGE}" → "{IMAGE.replace("1.0.0", "1.0.1")}"'
    lines = [line.strip() for line in said.splitlines()]
    assert f"raw-manifest Deployment/sample-system/sample-manager{changed}" in lines
    assert "--overwrite" in said
    assert stored(host).digest == first
    assert not (tmp_path / "template.yaml").exists()
    assert create(config, "--overwrite", host=host) == 0
    assert stored(host).digest != first
    assert capsys.readouterr().out.startswith("replaced  ")


def test_a_failure_in_between_leaves_no_version(served: Served, tmp_path: Path) -> None:
    host = served.registry.address
    served.registry.faults.set(RegistryFault(RegistryFaultKind.STATUS, method="PUT", path="/manifests/", status=403))
    assert create(write_sources(tmp_path), host=host) == 1
    assert find_component(RegistryArtifacts(insecure=[host]), ComponentLocation(f"{host}/p", NAME, VERSION)) is None
    assert not (tmp_path / "template.yaml").exists()
    assert create(write_sources(tmp_path), host=host) == 0


def test_a_registry_is_used_without_tls_only_if_it_is_named(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    host = served.registry.address
    assert create(write_sources(tmp_path), "--registry", host, "--insecure-registry", "other:1") == 1
    assert "--insecure-registry HOST" in capsys.readouterr().err
    assert served.registry.requests == []


def test_a_layout_holds_the_same_component(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, layout = write_sources(tmp_path, workload(), default_cr=CR), tmp_path / "layout"
    for outcome in ("pushed", "unchanged"):
        assert create(config, "--layout", str(layout)) == 0
        assert capsys.readouterr().out.startswith(f"{outcome:<10}{NAME}:{VERSION} in {layout} sha256:")
    assert json.loads((layout / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    reference = entry["annotations"]["org.opencontainers.image.ref.name"]
    assert reference == f"component-descriptors/{NAME}:{VERSION}"
    found = require_component(ImageLayout(layout), ComponentLocation("", NAME, VERSION))
    assert create(config, host=served.registry.address) == 0
    other = stored(served.registry.address)
    assert found.layers == other.layers
    assert found.document["component"]["repositoryContexts"] == []


def test_a_constructor_is_what_ocm_reads(tmp_path: Path) -> None:
    config = write_sources(tmp_path / "src", workload(), default_cr=CR)
    path = tmp_path / "out" / "constructor.yaml"
    assert create(config, "--constructor", str(path)) == 0
    (component,) = yaml.safe_load(path.read_text())["components"]
    assert component["provider"] == {
        "name": "kyma-project.io",
        "labels": [{"name": "kyma-project.io/built-by", "value": "kymatui", "version": "v1"}],
    }
    inputs = {one["name"]: one["input"] for one in component["resources"] if "input" in one}
    assert inputs == {
        "raw-manifest": {"type": "dir", "path": "../src", "includeFiles": ["manifest.yaml"]},
        "default-cr": {"type": "dir", "path": "../src", "includeFiles": ["default-cr.yaml"]},
        "moduletemplate": {"type": "file", "path": "../src/template.yaml"},
    }
    assert (path.parent / inputs["raw-manifest"]["path"] / "manifest.yaml").exists()


@pytest.mark.parametrize(
    ("config", "constructor"),
    [
        ("module-config.yaml", "constructor.yaml"),
        ("./module-config.yaml", "./constructor.yaml"),
        ("module-config.yaml", "out/constructor.yaml"),
        ("sub/module-config.yaml", "constructor.yaml"),
        ("sub/module-config.yaml", "sub/constructor.yaml"),
        ("sub/module-config.yaml", "out/constructor.yaml"),
        ("sub/../module-config.yaml", "constructor.yaml"),
        ("{here}/module-config.yaml", "constructor.yaml"),
        ("module-config.yaml", "{here}/constructor.yaml"),
        ("{here}/sub/module-config.yaml", "{here}/out/constructor.yaml"),
    ],
)
@pytest.mark.parametrize("folder", ["", "yaml/deep/", "./", "../beside/"])
def test_a_constructor_names_the_folder_of_each_file(
    config: str, constructor: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    for name in ("sub", "out"):
        (here / name).mkdir(parents=True)
    monkeypatch.chdir(here)
    config, constructor = (path.format(here=here) for path in (config, constructor))
    sources = Path(os.path.normpath(config)).parent
    files = {"manifest": f"{folder}manifest.yaml", "defaultCR": f"{folder}default-cr.yaml"}
    written = write_sources(sources, workload(), default_cr=CR, **files)
    (sources / folder).mkdir(parents=True, exist_ok=True)
    for path in files.values():
        (sources / Path(path).name).rename(sources / path)
    assert written.name == "module-config.yaml"
    assert main(["bundle", "create", "-c", config, "--constructor", constructor, "--sources", str(sources)]) == 0
    (component,) = yaml.safe_load(Path(constructor).read_text())["components"]
    inputs = [one["input"] for one in component["resources"] if "input" in one]
    for found, path in zip(inputs, [*files.values(), ""], strict=True):
        assert not found["path"].startswith("/")
        expected = sources / Path(path).parent if path else here / "template.yaml"
        assert (Path(constructor).parent / found["path"]).resolve() == expected.resolve()


def test_a_first_release_is_written_behind_the_template(tmp_path: Path) -> None:
    assert create(write_sources(tmp_path), "--first-release", "--channel", "fast", "--channel", "regular") == 0
    template, meta = yaml.safe_load_all((tmp_path / "template.yaml").read_text())
    assert (template["kind"], meta["kind"]) == ("ModuleTemplate", "ModuleReleaseMeta")
    assert meta["metadata"] == {"name": "sample"}
    assert meta["spec"] == {
        "moduleName": "sample",
        "ocmComponentName": NAME,
        "channels": [{"channel": "fast", "version": "1.0.0"}, {"channel": "regular", "version": "1.0.0"}],
    }


def test_a_template_of_the_older_generation_holds_the_descriptor(served: Served, tmp_path: Path) -> None:
    host = served.registry.address
    rule = {"jsonPath": "status.state", "value": "Ready", "mappedState": "Ready"}
    config = write_sources(tmp_path, workload(), default_cr=CR, customStateCheck=[rule], mandatory=True)
    assert create(config, "--legacy", "--channel", "fast", host=host) == 0
    found = yaml.safe_load((tmp_path / "template.yaml").read_text())
    assert found["metadata"]["name"] == "sample-fast"
    assert found["metadata"]["annotations"]["operator.kyma-project.io/module-version"] == VERSION
    spec = found["spec"]
    assert (spec["channel"], spec["mandatory"], spec["data"], spec["customStateCheck"]) == ("fast", True, CR, [rule])
    assert spec["descriptor"] == stored(host).document


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        (["--legacy"], 64, "--legacy needs a channel"),
        (["--first-release"], 64, "--first-release needs --channel"),
        (["--first-release", "--legacy", "--channel", "fast"], 64, "--first-release needs --channel without --legacy"),
        (["--release-meta", "gone.yaml", "--channel", "fast"], 1, "ModuleReleaseMeta gone.yaml cannot be read"),
        (["--registry", "x.example", "--layout", "y"], 64, "exclude each other"),
        (["--registry", ""], 64, "--registry is empty"),
        (["--layout", " "], 64, "--layout is empty"),
        (["--sources", "/nowhere"], 1, "/nowhere is not a git repository"),
        (["--skip-version-validation", "maybe"], 64, 'invalid value "maybe"'),
    ],
)
def test_words_that_make_no_sense(
    more: list[str], status: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create(write_sources(tmp_path), *more) == status
    assert words in capsys.readouterr().err
    assert not (tmp_path / "template.yaml").exists()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"manifest": "gone.yaml"}, "gone.yaml cannot be read: No such file"),
        ({"defaultCR": "gone.yaml"}, "default CR"),
        ({"security": "gone.yaml"}, "security config"),
        ({"version": "1.0", "team": None}, "team must not be empty"),
    ],
)
def test_sources_with_mistakes_are_refused_before_anything_is_pushed(
    config: dict[str, Any], words: str, served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert create(write_sources(tmp_path, **config), host=served.registry.address) == 1
    assert words in capsys.readouterr().err
    assert served.registry.requests == []


OTHER = IMAGE.replace(":1.0.0", ":1.0.1")


@pytest.mark.parametrize(("image", "flag", "status"), [(IMAGE, "false", 0), (OTHER, "false", 1), (OTHER, "true", 0)])
def test_the_version_is_compared_with_the_manager(image: str, flag: str, status: int, tmp_path: Path) -> None:
    manager = {"name": "sample-manager", "group": "apps", "version": "v1", "kind": "Deployment"}
    assert (
        create(write_sources(tmp_path, workload(image), manager=manager), f"--skip-version-validation={flag}") == status
    )


def test_the_environment_may_set_the_creation_time(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert create(write_sources(tmp_path), host=served.registry.address) == 0
    assert stored(served.registry.address).document["component"]["creationTime"] == "1970-01-02T00:00:00Z"
    for wrong in ("soon", "-1", "999999999999"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        assert create(write_sources(tmp_path), host=served.registry.address) == 1
        assert "SOURCE_DATE_EPOCH" in capsys.readouterr().err


MODES = st.sampled_from([0o600, 0o644, 0o664, 0o755])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    folder=st.sampled_from(["a", "b/c", "größe", "with space"]),
    times=st.tuples(st.integers(1, 2_000_000_000), st.integers(1, 2_000_000_000)),
    modes=st.tuples(MODES, MODES),
    umask=st.sampled_from([0o022, 0o077, 0o000]),
    zone=st.sampled_from(["UTC", "Asia/Tokyo"]),
    order=st.permutations([0, 1, 2]),
)
def test_the_bytes_follow_from_the_sources_alone(
    tmp_path_factory: pytest.TempPathFactory,
    folder: str,
    times: tuple[int, int],
    modes: tuple[int, int],
    umask: int,
    zone: str,
    order: list[int],
) -> None:
    """Times, modes, folders, umask, time zone, and the order of maps are not in the result."""
    top = tmp_path_factory.mktemp("same")
    icons = {name: f"https://x.example/{name}.png" for name in ("a", "b", "c")}
    config = write_sources(
        top / folder,
        workload(),
        default_cr=CR,
        icons={name: icons[name] for name in sorted(icons, key=lambda name: order["abc".index(name)])},
    )
    for path, moment, mode in zip(
        (top / folder / "manifest.yaml", top / folder / "default-cr.yaml"), times, modes, strict=True
    ):
        os.chmod(path, mode)
        os.utime(path, (moment, moment))
    before = os.umask(umask)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        try:
            assert create(config, "--layout", str(top / "layout"), "--constructor", str(top / folder / "c.yaml")) == 0
        finally:
            os.umask(before)
    time.tzset()
    (entry,) = json.loads((top / "layout/index.json").read_text())["manifests"]
    constructor = (top / folder / "c.yaml").read_bytes()
    assert SEEN.setdefault("digest", entry["digest"]) == entry["digest"]
    assert SEEN.setdefault("constructor", constructor) == constructor


SEEN: dict[str, object] = {}


@pytest.mark.parametrize("language", ["C", "tr_TR.UTF-8"])
def test_a_locale_and_the_order_of_sets_change_nothing(tmp_path: Path, language: str) -> None:
    config = write_sources(tmp_path, *(workload(f"r.io/{n}{n}:1.0.0", name=n) for n in "edcba"))
    found = set()
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": language, "COLUMNS": "40"}
        layout = tmp_path / f"layout{seed}"
        words = ["-c", str(config), "-o", str(tmp_path / "t.yaml"), "--sources", str(tmp_path), "--layout", str(layout)]
        subprocess.run([sys.executable, "-m", "kymatui", "bundle", "create", *words], env=environment, check=True)
        found.add(json.loads((layout / "index.json").read_text())["manifests"][0]["digest"])
    assert len(found) == 1


def test_a_later_commit_is_another_component(served: Served, tmp_path: Path) -> None:
    host = served.registry.address
    config = write_sources(tmp_path)
    assert create(config, host=host) == 0
    commit(tmp_path, 1_800_000_000)
    assert create(config, host=host) == 2


def start(config: Path, host: str) -> subprocess.Popen[bytes]:
    words = ["-c", str(config), "-o", str(config.parent / "t.yaml"), "--sources", str(config.parent)]
    access = ["--registry", f"{host}/p", "--insecure-registry", host]
    command = [sys.executable, "-m", "kymatui", "bundle", "create", *words, *access]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_ten_processes_push_the_same_and_other_modules_and_some_are_killed(served: Served, tmp_path: Path) -> None:
    """Whatever is visible is whole: every version that has a tag has all of its layers."""
    host = served.registry.address
    versions = ["1.0.0", "1.0.0", "1.0.0", "1.0.1", "1.0.2"] * 2
    configs = [
        write_sources(tmp_path / str(at), workload(), default_cr=CR, version=version)
        for at, version in enumerate(versions)
    ]
    running = [start(config, host) for config in configs]
    killed = running[3::5]
    deadline = time.monotonic() + 300
    for number, one in enumerate(killed):
        wait_for(lambda seen=20 * number: len(served.registry.requests) > seen, deadline)
        one.send_signal(signal.SIGKILL)
    for one in running:
        one.communicate(timeout=max(1.0, deadline - time.monotonic()))
    assert [one.returncode for one in running if one not in killed] == [0] * 8
    for version in ("1.0.0", "1.0.2"):
        assert whole(host, version)
    assert whole(host, "1.0.1") in (None, True)


def wait_for(condition: Any, deadline: float) -> None:
    """Wait until something that other processes do has happened; all waits of a test share one deadline."""
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def whole(host: str, version: str) -> bool | None:
    store, location = RegistryArtifacts(insecure=[host]), ComponentLocation(f"{host}/p", NAME, version)
    found = find_component(store, location)
    if found is None:
        return None
    return all(len(store.blob(location.repository, one["digest"], 1 << 20)) == one["size"] for one in found.layers)


def test_many_threads_push_one_version(served: Served, tmp_path: Path) -> None:
    host = served.registry.address
    configs = [write_sources(tmp_path / str(at)) for at in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(lambda config: create(config, host=host), configs)) == {0}
    assert whole(host, VERSION)


def replace_document(host: str, document: dict[str, Any]) -> str:
    """Store another descriptor for the same layers, as signing does; return the digest of the manifest."""
    found, store = stored(host), RegistryArtifacts(insecure=[host])
    artifact = component_artifact(document, found.layers)
    for content in (artifact.descriptor, artifact.config):
        store.push_blob(found.location.repository, content)
    return store.push_manifest(found.location.repository, VERSION, artifact.manifest, MANIFEST_TYPE)


def test_a_version_that_was_signed_since_is_unchanged(served: Served, tmp_path: Path) -> None:
    """Signing adds signatures and the digests of images."""
    host = served.registry.address
    config = write_sources(tmp_path)
    assert create(config, host=host) == 0
    before = stored(host)
    document = json.loads(json.dumps(before.document))
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": "0" * 64}
    document["component"]["resources"][0]["digest"] = digest
    document["signatures"] = [
        {"name": "s", "digest": digest, "signature": {"algorithm": "a", "value": "", "mediaType": ""}}
    ]
    signed = replace_document(host, document)
    assert signed != before.digest
    assert create(config, host=host) == 0
    assert stored(host).digest == signed
    document["component"]["resources"][1]["digest"]["value"] = "1" * 64
    replace_document(host, document)
    assert create(config, host=host) == 2


@pytest.mark.parametrize(("version", "status"), [("1.0.0", 2), ("1.0.1", 0)])
def test_a_version_that_appears_during_the_push_is_not_replaced(
    served: Served, tmp_path: Path, version: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another pipeline pushes the same version, with other content, after this one saw that there is none."""
    host = served.registry.address
    other = write_sources(tmp_path / "other", workload(IMAGE.replace("1.0.0", "9.0.0")))
    original = RegistryArtifacts.push_blob
    others: list[int] = []

    def push_blob(self: RegistryArtifacts, repository: str, content: bytes, *, source: str = "") -> None:
        if not others:
            others.append(0)
            others[0] = create(other, host=host)
        original(self, repository, content, source=source)

    monkeypatch.setattr(RegistryArtifacts, "push_blob", push_blob)
    assert create(write_sources(tmp_path / "mine", version=version), host=host) == status
    assert others == [0]
    images = [one.access for one in stored(host).descriptor.resources if one.type == "ociArtifact"]
    assert images == [{"type": "ociArtifact", "imageReference": IMAGE.replace("1.0.0", "9.0.0")}]
