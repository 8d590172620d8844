"""The screen on a control plane and a runtime that are both really there: which side is written to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.domain.objects import LABEL_KYMA_NAME, LABEL_MODULE_NAME
from kymatui.domain.refs import GroupVersionKind, ObjectRef
from kymatui.engine.ports import Cluster
from kymatui.settings.loading import Settings
from kymatui.ui.fleet_app import FleetApp
from kymatui.ui.screens.choosing import ChoiceScreen
from kymatui.ui.screens.menu import MenuScreen
from kymatui.ui.screens.plan import PlanScreen
from kymatui.wiring.engine import open_cluster
from kymatui.wiring.options import SessionOptions
from kymatui.wiring.remote import RemoteOptions, open_remote
from tests.ui.driving import SIZE, text
from tests.ui.test_toggling import Person

pytestmark = pytest.mark.xdist_group("fleet")

GROUP = "operator.kyma-project.io"
KYMA = GroupVersionKind(GROUP, "v1beta2", "Kyma")
MANIFEST = GroupVersionKind(GROUP, "v1beta2", "Manifest")
ON_KCP, ON_SKR = ObjectRef(KYMA, "kcp-system", "skr"), ObjectRef(KYMA, "kyma-system", "default")


@pytest.fixture(autouse=True)
def environment(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def sides(two_clusters: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """The control plane, and the runtime."""
    found = [open_cluster(SessionOptions(str(two_clusters), name)) for name in ("kcp", "skr")]
    yield found[0], found[1]
    for one in found:
        one.client.transport.close()


def fleet_app(two_clusters: Path, runtime: str = "", **more: Any) -> FleetApp:
    options = RemoteOptions(SessionOptions(str(two_clusters), "kcp"), runtime=runtime)
    return FleetApp(lambda: open_remote(options), settings=Settings(), **more)


def asked(cluster: Cluster, kyma: ObjectRef) -> list[str]:
    found = cluster.get(kyma)
    assert found is not None
    return [entry["name"] for entry in found["spec"].get("modules") or []]


def manifests(control: Cluster, module: str) -> list[str]:
    labels = f"{LABEL_KYMA_NAME}=skr,{LABEL_MODULE_NAME}={module}"
    return [raw["metadata"]["name"] for raw in control.list(MANIFEST, "kcp-system", labels=labels)]


async def test_what_is_enabled_and_deleted_goes_to_the_runtime_and_is_followed_on_its_control_plane(
    two_clusters: Path, sides: tuple[Cluster, Cluster]
) -> None:
    control, runtime = sides
    before = control.get(ON_KCP)
    assert before is not None
    async with fleet_app(two_clusters, "skr").run_test(size=SIZE) as pilot:
        person = Person(pilot)
        await person.at("connectivity-proxy")
        await person.until(lambda: person.app.why_no_writes == "")
        await person.press("a")
        await person.sees(MenuScreen)
        await person.press("enter")
        await person.sees(ChoiceScreen)
        await person.press("enter")
        await person.sees(PlanScreen)
        assert person.lines()[0] == "~ Kyma kyma-system/default spec.modules[connectivity-proxy]"
        await person.press("enter", "space")
        await person.accepts()
        assert await person.ended() == "done: connectivity-proxy 1.0.2 is ready"
        assert "connectivity-proxy" in asked(runtime, ON_SKR)
        assert len(manifests(control, "connectivity-proxy")) == 1, "its Manifest is on the control plane"
        await person.at("connectivity-proxy")
        await person.press("ctrl+d")
        await person.until(lambda: "on kcp: Manifest kcp-system/skr-" in text(person.app, "#departing-words"))
        await person.press("escape")
        await person.types("disable connectivity-proxy")
        await person.sees(PlanScreen)
        await person.press("enter", "space")
        await person.accepts()
        assert (await person.ended(2)).startswith("done: connectivity-proxy is gone")
    assert "connectivity-proxy" not in asked(runtime, ON_SKR)
    assert manifests(control, "connectivity-proxy") == []
    after = control.get(ON_KCP)
    assert after is not None
    assert (after["spec"], after["metadata"]["generation"]) == (before["spec"], before["metadata"]["generation"])
