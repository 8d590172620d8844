"""Kymas, Watchers and release metas read out of plain objects, of every version that was ever served."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_to_json
from kymatui.domain.kubernetes.object_meta import MalformedObject, parse_time
from kymatui.domain.kyma.kymas import Kyma, ModuleRequest, read_kyma
from kymatui.domain.kyma.template_index import ReleaseMeta, read_release_meta
from kymatui.domain.kyma.watchers import Watcher, read_watcher
from kymatui.domain.snapshot.snapshots import Snapshot
from tests.domain.builders import NOW, a_kyma, kyma, meta, report


def documents(path: Path) -> list[Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [doc for doc in yaml.load_all(path.read_text(), loader) if doc]


def test_what_is_read_of_a_kyma() -> None:
    entry = {"name": "mod", "channel": "fast", "customResourcePolicy": "Ignore", "managed": False, "newField": 1}
    status = [report("mod", "1.0.0", "Warning", message="why", maintenance=True, fqdn="kyma-project.io/module/mod")]
    raw = kyma([entry, {"name": "plain"}], status=status, state="Warning", skip_windows=True)
    raw["status"]["conditions"] = [{"type": "Modules", "status": "False", "reason": "Ready", "message": "not all"}]
    found = read_kyma(raw)
    assert isinstance(found, Kyma)
    assert found.modules == (
        ModuleRequest("mod", "fast", "", "Ignore", False),
        ModuleRequest("plain", "", "", "CreateAndDelete", True),
    )
    said = found.report("mod")
    assert said is not None
    assert (said.state, said.message, said.maintenance, said.component) == (
        "Warning",
        "why",
        True,
        "kyma-project.io/module/mod",
    )
    assert said.template is not None
    assert said.template.ref.name == "mod-1.0.0"
    assert said.manifest is None
    assert (found.state, found.skip_maintenance_windows) == ("Warning", True)
    assert [(c.type, c.status, c.message) for c in found.conditions] == [("Modules", "False", "not all")]
    assert found.raw["spec"]["modules"][0]["newField"] == 1
    assert found.request("other") is None


def test_the_component_name_replaced_the_fqdn() -> None:
    found = a_kyma(status=[report("mod", "1.0.0", fqdn="old", ocmComponentName="new")])
    assert found.reports[0].component == "new"


def test_one_broken_entry_does_not_hide_the_others() -> None:
    found = a_kyma([{"name": 5}, "mod", {"name": "good", "managed": "yes"}])
    assert [entry.name for entry in found.modules] == ["good"]
    assert found.modules[0].managed
    assert [str(flaw) for flaw in found.flaws] == [
        "spec.modules[1] is a string, expected an object",
        "spec.modules[0].name is a number, expected a string",
        "spec.modules[2].managed is a string, expected a boolean",
    ]


@pytest.mark.parametrize(
    ("name", "channel", "modules"),
    [
        ("kyma-crs/busola_skr_default_kyma.yaml", "regular", []),
        ("kyma-crs/klm_kcp_kyma.yaml", "regular", ["template-operator"]),
        ("kyma-crs/klm-2024-06_kyma.yaml", "regular", ["template-operator"]),
        ("kyma-crs/old-cli_kyma_sample_loadtest.yaml", "stable", ["manifest-1"]),
        ("history/klm_operator_v1alpha1_kyma.yaml", "stable", ["kcp-module"]),
    ],
)
def test_real_kymas(name: str, channel: str, modules: list[str], shared: Path) -> None:
    found = read_kyma(documents(shared / "kyma" / name)[0])
    assert isinstance(found, Kyma)
    assert (found.channel, [entry.name for entry in found.modules], found.flaws) == (channel, modules, ())


def test_a_real_watcher(shared: Path) -> None:
    found = read_watcher(documents(shared / "kyma/watchers/kyma_watcher.yaml")[0])
    assert isinstance(found, Watcher)
    assert (found.manager, found.service, found.service_namespace, found.port) == (
        "lifecycle-manager",
        "klm-controller-manager-events",
        "kcp-system",
        8082,
    )
    assert (found.group, found.version, found.resource, found.field) == (
        "operator.kyma-project.io",
        "*",
        "kymas",
        "spec",
    )
    assert found.labels_to_watch == {"operator.kyma-project.io/watched-by": "kyma"}
    assert found.webhook.endswith(".watcher.operator.kyma-project.io")


def test_a_watcher_without_a_manager_has_the_one_of_its_label() -> None:
    labels = {"operator.kyma-project.io/managed-by": "someone"}
    found = read_watcher({"metadata": {"name": "w", "labels": labels}, "spec": {}})
    assert isinstance(found, Watcher)
    assert found.manager == "someone"
    assert isinstance(read_watcher({"metadata": {}}), MalformedObject)


def test_a_channel_that_is_there_twice_keeps_its_first_version() -> None:
    raw = meta("mod")
    raw["spec"]["channels"] = [{"channel": "fast", "version": "1.0.0"}, {"channel": "fast", "version": "2.0.0"}]
    found = read_release_meta(raw)
    assert isinstance(found, ReleaseMeta)
    assert found.channels == {"fast": "1.0.0"}
    assert found.follows_convention


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T02:00:00+02:00", 0.0),
        ("1970-01-01T00:00:01.5Z", 1.5),
        ("yesterday", None),
        ("", None),
    ],
)
def test_moments(text: str, seconds: float | None) -> None:
    assert parse_time(text) == seconds


def test_everything_that_was_ever_published_can_be_shown(shared: Path) -> None:
    """Each document of the reference data, read as every kind of object."""
    objects: list[Any] = []
    for path in sorted((shared / "kyma").rglob("*.yaml")):
        try:
            objects += documents(path)
        except yaml.YAMLError:
            continue  # deliberately broken samples
    everything = tuple(objects)
    found = build_catalog(
        Snapshot(
            "all",
            kymas=everything,
            templates=everything,
            release_metas=everything,
            manifests=everything,
            workloads=everything,
            definitions=everything,
        ),
        NOW,
    )
    assert len(found.rows) > 100
    assert catalog_to_json(found)["modules"]


def test_the_first_entry_of_a_module_counts_in_copies_too() -> None:
    entries = [{"name": "mod", "channel": "fast"}, {"name": "mod", "channel": "regular"}]
    found = a_kyma(entries, status=[report("mod", "1.0.0"), report("mod", "2.0.0")])
    request, said = found.request("mod"), found.report("mod")
    assert request is not None
    assert said is not None
    assert (request.channel, said.version) == ("fast", "1.0.0")
    assert found.request("other") is None
    copy = replace(found, modules=(), reports=found.reports[1:])
    assert copy.request("mod") is None
    assert copy.report("mod") == found.reports[1]
    assert found.request("mod") == request
    assert found == a_kyma(entries, status=[report("mod", "1.0.0"), report("mod", "2.0.0")])
