"""The tab of versions: what differs between two, read in a thread when the cursor stays, and only once."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.actions.modules.version_content import VersionReader
from kymatui.ui.application.kymatui_app import KymatuiApp
from tests.domain import builders as b
from tests.engine.sources.fetching import StoredBlobs
from tests.ui.conftest import Compare
from tests.ui.driving import ready, text, until
from tests.ui.worlds import StillSession, app_on, world

URL = "https://releases.example.org/{}.yaml"


@dataclass
class HeldBlobs(StoredBlobs):
    """A store that answers when a test lets it."""

    answers: threading.Event = field(default_factory=threading.Event)

    def url(self, address: str) -> bytes:
        assert self.answers.wait(60)
        return super().url(address)


def linked(version: str) -> b.Json:
    link = {"name": "rawManifest", "link": URL.format(version)}
    return b.template("btp-operator", version, resources=[link])


def linked_templates() -> tuple[Mapping[str, Any], ...]:
    """Return the world's templates, of which those of btp-operator name manifests."""
    others = [one for one in world().templates if one["spec"]["moduleName"] != "btp-operator"]
    return (*others, linked("1.2.0"), linked("1.3.1"))


@pytest.fixture
def app() -> KymatuiApp:
    return app_on(StillSession(replace(world(), templates=linked_templates())))


@pytest.fixture
def blobs(app: KymatuiApp) -> HeldBlobs:
    found = manifests()
    app.view.versions = VersionReader(found)
    return found


def manifests() -> HeldBlobs:
    """Return two manifests: the newer one has another image, and a role that reads Secrets."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "btp"}}
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    old, new = [role], [{**role, "rules": [rule]}]
    return HeldBlobs(
        urls={
            URL.format("1.2.0"): yaml.safe_dump_all([*old, b.deployment("btp-operator", "1.2.0")]).encode(),
            URL.format("1.3.1"): yaml.safe_dump_all([*new, b.deployment("btp-operator", "1.3.1")]).encode(),
        }
    )


def changes(app: KymatuiApp) -> str:
    return text(app, "#changes")


async def test_manifests_are_compared_once_they_arrive(pilot: Pilot[Any], blobs: HeldBlobs) -> None:
    app = await ready(pilot)
    await pilot.press("j", "v")
    await until(pilot, lambda: "1.2.0 to 1.3.1" in changes(app))
    assert "loading" in changes(app)
    assert "links" in changes(app), "what the templates tell is displayed at once"
    blobs.answers.set()
    await until(pilot, lambda: "reads Secrets" in changes(app), lambda: changes(app))
    assert "ClusterRole/btp secrets: get" in changes(app)
    assert "reg.io/prod/btp-operator:1.2.0 → reg.io/prod/btp-operator:1.3.1" in changes(app)
    assert "loading" not in changes(app)
    assert "affected" not in changes(app)
    await pilot.press("j", "k", "1", "v")
    await until(pilot, lambda: "reads Secrets" in changes(app))
    assert len(blobs.asked) == 2, "each manifest is fetched once"


async def test_what_cannot_be_fetched_is_said_and_asked_again_on_refresh(pilot: Pilot[Any], blobs: HeldBlobs) -> None:
    app, kept = await ready(pilot), blobs.urls
    blobs.urls = {}
    blobs.answers.set()
    await pilot.press("j", "v")
    await until(pilot, lambda: "not read" in changes(app))
    assert f"1.3.1: {URL.format('1.3.1')} is not there" in changes(app)
    blobs.urls = kept
    await pilot.press("ctrl+r")
    await until(pilot, lambda: "reads Secrets" in changes(app), lambda: changes(app))
    assert "not read" not in changes(app)


async def test_a_template_without_a_manifest_is_said_without_asking(pilot: Pilot[Any], blobs: HeldBlobs) -> None:
    app = await ready(pilot)
    await pilot.press("v")
    await until(pilot, lambda: "3.4.1 to 3.6.0 (2 minors)" in changes(app))
    assert changes(app).count("names neither a registry layer nor a raw manifest") == 2
    assert blobs.asked == []


@pytest.mark.parametrize("size", [(120, 40), (60, 30)], ids=["120x40", "60x30"])
def test_the_comparison(compare: Compare, app: KymatuiApp, blobs: HeldBlobs, size: tuple[int, int]) -> None:
    async def walk(pilot: Pilot[Any]) -> None:
        blobs.answers.set()
        shown = await ready(pilot)
        await pilot.press("j", "v")
        await until(pilot, lambda: "reads Secrets" in changes(shown))

    assert compare(app, size, walk)
