"""The status of a module's Manifest while an upgrade waits for the deletion of old objects."""

from __future__ import annotations

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.ports import PatchKind
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.operator.manifests.manifest_status import HELD, ManifestStatusDraft
from kymatui.operator.manifests.resource_pruning import names_of
from kymatui.operator.monitoring.event_correlation import state_event
from tests.controllers.module_worlds import REF, SPACE, ModuleWorld, config
from tests.domain.builders import manifest

NOW = 1_800_000_000.0
WORDS = "waiting for the deletion of ConfigMap kyma-system/old"


def status(state: str, operation: str, seconds_ago: float) -> ManifestStatusDraft:
    """A status that was last written so many seconds before NOW."""
    raw = manifest("keda", "1.0.0", state)
    written = ManifestStatusDraft(_read(raw), NOW - seconds_ago)
    written.set_state(State(state), operation)
    raw["status"] = written.document()
    return ManifestStatusDraft(_read(raw), NOW)


def _read(raw: dict[str, object]) -> Manifest:
    found = read_manifest(raw)
    assert isinstance(found, Manifest)
    return found


@pytest.mark.parametrize(
    ("state", "operation", "seconds_ago", "expected"),
    [
        ("Ready", "resources are ready", 9000, "Processing"),
        ("Processing", WORDS, HELD - 1, "Processing"),
        ("Processing", WORDS, HELD, "Warning"),
        ("Warning", WORDS, 0, "Warning"),
        ("Warning", "waiting for the deletion of another", 9000, "Processing"),
    ],
)
def test_a_deletion_that_does_not_end_becomes_a_warning(
    state: str, operation: str, seconds_ago: float, expected: str
) -> None:
    found = status(state, operation, seconds_ago)
    found.wait(WORDS)
    assert (found.state, found.operation) == (expected, WORDS)


def test_only_the_first_objects_are_named() -> None:
    refs = [ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "one", name) for name in "abcde"]
    assert names_of(refs[:1]) == "ConfigMap one/a"
    assert names_of(refs) == "ConfigMap one/a, ConfigMap one/b, ConfigMap one/c and 2 more"


@pytest.mark.parametrize(
    ("mandatory", "expected"), [(True, ["Ready", "Warning", "Ready"]), (False, ["Warning", "Ready"])]
)
def test_only_trouble_and_its_end_are_events_of_a_manifest_whose_kyma_reports_it(
    *, mandatory: bool, expected: list[str]
) -> None:
    world = ModuleWorld(mandatory=mandatory)
    tracked = {
        "apiVersion": MANIFEST.api_version,
        "kind": "Manifest",
        "metadata": {"name": REF.name, "namespace": SPACE},
    }
    report = {"modules": [{"name": "keda", "state": "", "manifest": tracked}]}
    world.home.patch(ObjectRef(KYMA, SPACE, "default"), {"status": report}, PatchKind.MERGE, subresource="status")
    world.put("1.0.0", config("a"))
    world.settle()
    world.write_status(state="Warning", lastOperation={"operation": "w", "lastUpdateTime": "2026-01-01T00:00:00Z"})
    warning = state_event("Ready", "Warning", "w")
    assert warning is not None
    world.events.append(warning)  # as the pass that wrote it has recorded it
    world.resync()
    assert [one.reason for one in world.events] == expected
