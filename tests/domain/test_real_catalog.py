"""The real catalog: every row is computed here from the files by other means, and compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_to_json
from kymatui.domain.catalog.channel_matrix import build_matrix
from kymatui.domain.catalog.module_inputs import CatalogOptions
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.snapshot.snapshots import Snapshot
from tests.domain.builders import NOW, kyma, report

Loaded = dict[str, list[Any]]


def load(folder: Path) -> dict[str, list[Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return {
        path.stem: [doc for doc in yaml.load_all(path.read_text(), loader) if doc]
        for path in sorted(folder.glob("*.yaml"))
    }


@pytest.fixture(scope="module")
def templates(shared: Path) -> Loaded:
    return load(shared / "kyma/catalog/derived/moduletemplates")


@pytest.fixture(scope="module")
def metas(shared: Path) -> Loaded:
    return load(shared / "kyma/catalog/derived/modulereleasemetas")


@pytest.fixture(scope="module")
def raw_manifests(shared: Path) -> Loaded:
    return load(shared / "kyma/catalog/derived/raw-manifests")


@pytest.fixture(scope="module")
def model(shared: Path) -> dict[str, dict[str, list[str]]]:
    """The source that the files were derived from: module → version → channels."""
    entries = json.loads((shared / "kyma/catalog/community-modules-old-model.json").read_text())
    return {
        entry["name"]: {v["version"].removeprefix("v"): v.get("channels") or [] for v in entry["versions"]}
        for entry in entries
    }


def flat(loaded: Loaded) -> tuple[Any, ...]:
    return tuple(doc for docs in loaded.values() for doc in docs)


def installed(raw_manifests: Loaded, chosen: dict[str, str]) -> list[Any]:
    """The managers of some versions, rolled out."""
    found = []
    for module, version in chosen.items():
        for raw in raw_manifests[f"{module}-{version}"]:
            if raw["kind"] == "Deployment":
                done = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
                count = raw["spec"].get("replicas", 1)
                status = {"replicas": count, "updatedReplicas": count, "availableReplicas": count}
                conditions = [{"type": "Available", "status": "True"}, done]
                found.append({**raw, "status": {**status, "conditions": conditions}})
    return found


def key(version: str) -> tuple[list[int], bool]:
    core, _, suffix = version.partition("-")
    return [int(part) for part in core.split(".")], not suffix


def test_what_is_offered(templates: Loaded, metas: Loaded, model: dict[str, dict[str, list[str]]]) -> None:
    found = build_catalog(Snapshot("real", templates=flat(templates), release_metas=flat(metas)), NOW)
    assert len(found.rows) == len(model) == 13
    assert found.channels == ("regular", "fast", "experimental")
    for row in found.rows:
        versions = model[row.name]
        channels = {channel: version for version, names in versions.items() for channel in names}
        assert dict(row.channels) == channels, row.name
        assert row.origin == ("kyma" if channels else "community")
        releases = [version for version in versions if "-" not in version]
        assert row.newest == max(releases, key=key), row.name
        assert row.desired == (channels["regular"] if channels else row.newest)
        assert (row.channel, row.installed, row.state.value) == ("regular" if channels else "", "", "NotInstalled")
        assert sorted(offer.version for offer in row.offers) == sorted(versions)


@pytest.mark.parametrize("channel", ["regular", "fast", "experimental"])
def test_every_managed_module_in_each_channel(
    channel: str, templates: Loaded, metas: Loaded, raw_manifests: Loaded, model: dict[str, dict[str, list[str]]]
) -> None:
    """The regular version runs everywhere, and the Kyma is in some channel: who is behind, ahead, or cannot be had?"""
    regular = {
        module: version
        for module, versions in model.items()
        for version, names in versions.items()
        if "regular" in names
    }
    running = {module: version for module, version in regular.items() if f"{module}-{version}" in raw_manifests}
    wanted = {
        module: next((version for version, names in model[module].items() if channel in names), "")
        for module in regular
    }
    owner = kyma([{"name": name} for name in regular], channel=channel)
    found = build_catalog(
        Snapshot(
            "real",
            kymas=(owner,),
            templates=flat(templates),
            release_metas=flat(metas),
            workloads=tuple(installed(raw_manifests, running)),
        ),
        NOW,
    )
    for module, version in wanted.items():
        row = found.row(module)
        assert row is not None
        assert row.desired == version, module
        if not version:
            assert row.resolution.refusal is not None
            continue
        assert row.installed == running.get(module, ""), module
        if module in running:
            relation = (key(running[module]) > key(version)) - (key(running[module]) < key(version))
            assert row.drift.kind.value == {0: "up-to-date", -1: "behind", 1: "ahead"}[relation], module


def test_tags_that_are_no_versions_are_named(templates: Loaded, metas: Loaded, raw_manifests: Loaded) -> None:
    chosen = {"nats": "1.0.2", "eventing": "1.0.1", "telemetry": "1.23.0-dev", "istio": "1.8.3-experimental"}
    owner = kyma([{"name": name, "channel": "experimental"} for name in chosen if name != "eventing"])
    known = {
        (module, version): objects
        for name, objects in raw_manifests.items()
        for module, version in [split(name, templates)]
    }
    found = build_catalog(
        Snapshot(
            "real",
            kymas=(owner,),
            templates=flat(templates),
            release_metas=flat(metas),
            workloads=tuple(installed(raw_manifests, chosen)),
        ),
        NOW,
        CatalogOptions(raw_manifests=known),
    )
    rows = {row.name: row for row in found.rows}
    assert {name: rows[name].installed for name in chosen} == chosen
    drifts = {name: rows[name].drift.kind.value for name in chosen}
    assert drifts == {"nats": "up-to-date", "telemetry": "up-to-date", "istio": "up-to-date", "eventing": "behind"}


def split(name: str, templates: Loaded) -> tuple[str, str]:
    spec = templates[name][0]["spec"]
    return spec["moduleName"], spec["version"]


def test_a_module_whose_manifest_has_no_objects(templates: Loaded, metas: Loaded) -> None:
    owner = kyma([{"name": "transparent-proxy"}], status=[report("transparent-proxy", "1.5.2")])
    found = build_catalog(
        Snapshot("real", kymas=(owner,), templates=flat(templates), release_metas=flat(metas)), NOW
    ).row("transparent-proxy")
    assert found is not None
    assert (found.installed, found.drift.kind.value) == ("1.5.2", "up-to-date")


def test_63_cluster_ip_is_shown_with_what_the_schema_says(templates: Loaded, metas: Loaded) -> None:
    found = build_catalog(Snapshot("real", templates=flat(templates), release_metas=flat(metas)), NOW)
    said = [problem.message for problem in found.problems if problem.module == "cluster-ip"]
    assert len(said) == 1
    assert "spec.moduleName is 'cluster-ip'" in said[0]


def test_the_matrix_shows_where_channels_differ(templates: Loaded, metas: Loaded) -> None:
    shown = build_matrix(build_catalog(Snapshot("real", templates=flat(templates), release_metas=flat(metas)), NOW))
    rows = {row.module: row for row in shown.rows}
    assert len(rows) == 11, "community modules are in no channel"
    assert {name for name, row in rows.items() if not row.differs} == {"api-gateway", "keda", "serverless"}
    fast = rows["btp-operator"].cells["fast"]
    assert (fast.version, str(fast.distance), fast.ahead) == ("1.1.17", "1 patch", True)
    assert "experimental" not in rows["btp-operator"].cells
    assert rows["nats"].cells["experimental"].ahead is False


def test_the_json_is_the_documented_one(templates: Loaded, metas: Loaded) -> None:
    listing = catalog_to_json(
        build_catalog(Snapshot("real", templates=flat(templates), release_metas=flat(metas)), NOW)
    )
    assert list(listing) == ["cluster", "kyma", "modules", "problems", "counts", "unknown", "lists"]
    assert listing["kyma"] is None
    assert json.loads(json.dumps(listing)) == listing
    assert [module["name"] for module in listing["modules"]] == sorted(module["name"] for module in listing["modules"])


MORE = ["busola-fixtures", "community-current", "community-history", "new-style", "old-cli", "old-style"]


@pytest.mark.parametrize("folder", MORE)
def test_every_published_template_is_shown(folder: str, shared: Path) -> None:
    loaded = flat(load(shared / "kyma/moduletemplates" / folder))
    objects = tuple(raw for raw in loaded if raw.get("kind") == "ModuleTemplate")
    found: Catalog = build_catalog(Snapshot("real", templates=objects), NOW)
    assert sum(len(row.offers) for row in found.rows) == len(objects)
    assert not [problem for problem in found.problems if "malformed" in problem.message]
    assert all(offer.version for row in found.rows for offer in row.offers if "sample" not in row.name)
