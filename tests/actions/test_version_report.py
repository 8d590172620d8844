"""Two versions of a module compared by what their templates name; what cannot be fetched is said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import yaml

from kymatui.actions.modules.version_content import VersionReader, VersionReport, compare_contents
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.versions.manifest_diff import DiffSection
from kymatui.domain.versions.version_risks import VersionRiskKind
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import UnreachableError
from tests.domain.builders import Json, a_template, deployment, template
from tests.engine.sources.fetching import StoredBlobs
from tests.engine.sources.packing import tar

URL = "https://releases.example.org/{}.yaml?token=hunter2"


@dataclass
class World:
    """Templates of one module, and a store with what they name."""

    blobs: StoredBlobs = field(default_factory=lambda: StoredBlobs(urls={}))

    def __post_init__(self) -> None:
        self.reader = VersionReader(self.blobs)

    def linked(self, version: str, *objects: Json, **spec: Any) -> ModuleTemplate:
        address = URL.format(version)
        self.blobs.urls = {**self.blobs.urls, address: yaml.safe_dump_all(objects).encode()}
        return a_template(template("mod", version, resources=[{"name": "rawManifest", "link": address}], **spec))

    def packed(self, version: str, *objects: Json, **spec: Any) -> ModuleTemplate:
        content = tar({"manifest.yaml": yaml.safe_dump_all(objects).encode()})
        access = {"type": "localBlob", "localReference": self.blobs.add(content), "mediaType": "application/x-tar"}
        layer = {"name": "raw-manifest", "version": version, "type": "dir", "relation": "local", "access": access}
        component = {
            "name": "a.io/mod",
            "version": version,
            "provider": "a",
            "resources": [layer],
            "sources": [],
            "componentReferences": [],
            "repositoryContexts": [{"type": "OCIRegistry", "baseUrl": "http://reg.example/p"}],
        }
        descriptor = {"meta": {"schemaVersion": "v2"}, "component": component}
        return a_template(template("mod", version, **{"descriptor": descriptor, **spec}))

    def compare(self, before: ModuleTemplate, after: ModuleTemplate) -> VersionReport:
        return compare_contents(self.reader, unreachable, before, after)


def unreachable() -> Cluster:
    raise UnreachableError("no answer")


class EmptyCluster:
    def kinds(self, group: str, kind: str) -> tuple[()]:
        return ()


def test_layers_and_addresses_are_compared_alike() -> None:
    world = World()
    found = world.compare(
        world.packed("1.0.0", deployment("mod", "1.0.0")), world.linked("1.1.0", deployment("mod", "1.1.0"))
    )
    (image,) = found.sections[DiffSection.IMAGES]
    assert (image.before, image.after) == ("reg.io/prod/mod:1.0.0", "reg.io/prod/mod:1.1.0")
    assert found.locations[0].startswith("sha256:")
    assert found.locations[1] == "https://releases.example.org/1.1.0.yaml", "tokens of addresses are never displayed"
    assert found.unread == ("affected objects: no answer",)
    assert world.blobs.asked[0][0] == "layer"
    assert world.blobs.asked[0][-1] == "insecure", "the descriptor's registry has no TLS"


def test_content_is_asked_for_once_and_failures_again_when_you_ask() -> None:
    world = World()
    before, after = world.linked("1.0.0", deployment("mod", "1.0.0")), world.linked("1.1.0", deployment("mod", "1.1.0"))
    world.blobs.urls = {URL.format("1.0.0"): world.blobs.urls[URL.format("1.0.0")]}
    for _ in range(2):
        found = world.compare(before, after)
        assert DiffSection.IMAGES not in found.sections
        (why,) = found.unread
        assert "1.1.0.yaml" in why
        assert "is not there" in why
    assert len(world.blobs.asked) == 2
    world.reader.forget()
    world.compare(before, after)
    assert len(world.blobs.asked) == 3


def test_a_template_that_names_nothing_says_so() -> None:
    world = World()
    found = world.compare(a_template(template("mod", "1.0.0")), world.linked("1.1.0", deployment("mod", "1.1.0")))
    (why,) = found.unread
    assert why == ("1.0.0: ModuleTemplate kyma-system/mod-1.0.0 names neither a registry layer nor a raw manifest"), (
        "and the cluster is not asked"
    )


@pytest.mark.parametrize("text", [b"a: [", b"- 1", b"", b"kind: 5"], ids=["broken", "list", "empty", "odd"])
def test_a_manifest_that_cannot_be_read_is_named_and_never_raised(text: bytes) -> None:
    world = World()
    before, after = world.linked("1.0.0", deployment("mod", "1.0.0")), world.linked("1.1.0")
    world.blobs.urls = {**world.blobs.urls, URL.format("1.1.0"): text}
    (why,) = world.compare(before, after).unread
    assert why.startswith("1.1.0: https://releases.example.org/1.1.0.yaml")
    assert "hunter2" not in why


def test_a_layer_that_is_gone_falls_back_to_the_address() -> None:
    world = World()
    before = world.packed("1.0.0", deployment("mod", "1.0.0"))
    links = world.linked("1.1.0", deployment("mod", "1.1.0")).raw["spec"]["resources"]
    after = world.packed("1.1.0", deployment("mod", "1.1.0"), resources=links)
    world.blobs.layers = {digest: body for digest, body in world.blobs.layers.items() if b"1.0.0" in body}
    assert world.compare(before, after).sections[DiffSection.IMAGES]
    world.blobs.urls = {}
    world.reader = VersionReader(world.blobs)
    found = world.compare(before, after)
    assert len(found.unread) == 2, "both ways failed"


def test_default_cr_links_and_template_have_sections_of_their_own() -> None:
    world = World()
    info = {"repository": "https://example.org/a", "documentation": "https://example.org/b"}
    before = world.linked("1.0.0", deployment("mod", "1"), data={"kind": "Mod", "spec": {"size": 1}}, info=info)
    after = world.linked(
        "1.1.0",
        deployment("mod", "1"),
        data={"kind": "Mod", "spec": {"size": 2}},
        info={**info, "documentation": "https://example.org/c"},
        requiresDowntime=True,
    )
    found = compare_contents(world.reader, lambda: cast(Cluster, EmptyCluster()), before, after)
    paths = {name: [one.path for one in changes] for name, changes in found.sections.items()}
    assert paths == {
        DiffSection.DEFAULT_CR: ["data.spec.size"],
        DiffSection.LINKS: ["info.documentation", "resources[rawManifest].link"],
        DiffSection.TEMPLATE: ["requiresDowntime"],
    }
    assert found.unread == ()
    assert compare_contents(world.reader, unreachable, before, before).sections == {}


@pytest.mark.parametrize("levels", [190, 300])
def test_manifests_that_are_nested_too_deeply_are_named_and_never_raised(levels: int) -> None:
    def nested(leaf: str) -> bytes:
        head = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":'
        return f"{head}{'[' * levels}{leaf}{']' * levels}}}".encode()

    world = World()
    before, after = world.linked("1.0.0"), world.linked("1.1.0")
    world.blobs.urls = {URL.format("1.0.0"): nested("1"), URL.format("1.1.0"): nested("2")}
    found = world.compare(before, after)
    if levels == 190:
        assert DiffSection.OBJECTS in found.sections
    else:
        assert [one.partition(": ")[0] for one in found.unread] == ["1.0.0", "1.1.0"]
        assert all("nested in more than 200 levels" in one for one in found.unread)
        assert set(found.sections) == {DiffSection.LINKS}


def test_risks_are_those_of_what_both_versions_install() -> None:
    world = World()
    other = deployment("mod", "1.1.0")
    other["spec"] = {**other["spec"], "selector": {"matchLabels": {"other": "x"}}}
    found = world.compare(world.packed("1.0.0", deployment("mod", "1.0.0")), world.linked("1.1.0", other))
    assert [(one.kind, one.what) for one in found.risks] == [(VersionRiskKind.REFUSED, "spec.selector")]
    missing = world.compare(world.packed("1.0.0", deployment("mod", "1.0.0")), a_template(template("mod", "2.0.0")))
    assert (missing.risks, bool(missing.unread)) == ((), True)
