"""The screen of a component: what `bundle show` prints, layers behind enter, and why something cannot be read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.cli.main import main
from kymatui.engine.sources.component_source import MANIFEST_TYPE, blob_digest, component_artifact, resource_layer
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.connection.component_reader import ComponentReader
from kymatui.ui.screens.component_screen import ComponentScreen, ContentScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.widgets.document import Document
from tests.bundle.components import MANIFEST, document, key_files, local, put
from tests.domain import builders as b
from tests.ocm.components import signed
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)
from tests.ui.conftest import Compare
from tests.ui.driving import SIZE, cell, ready, shown, text, until
from tests.ui.worlds import StillSession, app_on, world

NAME = "kyma-project.io/module/keda"
PLACE = "registry.example.com"


@pytest.fixture
def host(serve: Serve) -> str:  # noqa: F811
    return serve().registry.address


def app_with(**settings: object) -> KymatuiApp:
    return app_on(StillSession(world()), **settings)


async def on_component(pilot: Pilot[Any]) -> ComponentScreen:
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    await until(pilot, lambda: isinstance(app.screen, ComponentScreen))
    await until(pilot, lambda: text(app, "#component-state") != "loading" or bool(shown(app)))
    assert isinstance(app.screen, ComponentScreen)
    return app.screen


async def command(pilot: Pilot[Any], line: str) -> None:
    await pilot.press("colon")
    pilot.app.screen.query_one("Prompt Input").value = line  # type: ignore[attr-defined]
    await pilot.press("enter")


async def to_keda(pilot: Pilot[Any]) -> None:
    """Open the component of keda's newest version from the tab of versions."""
    app = await ready(pilot)
    app.screen.query_one("#modules").move_to("keda")  # type: ignore[attr-defined]
    await pilot.press("v")
    await until(pilot, lambda: isinstance(app.screen, ModuleScreen) and bool(app.screen.query("#offers")))
    await until(pilot, lambda: bool(shown(app)))
    await pilot.press("enter")
    await on_component(pilot)


async def test_enter_on_a_version_opens_its_component_and_escape_leads_back(
    host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(host, signed(document(NAME, "1.8.2")))
    app = app_with(registry=f"http://{host}/p")
    async with app.run_test(size=SIZE) as pilot:
        await to_keda(pilot)
        assert [key.partition(" ")[2] for key in shown(app)] == ["raw-manifest", "note"]
        assert cell(app, "0 raw-manifest", "size") == f"{len(MANIFEST) / 1024:.1f} KiB"
        displayed = text(app, "#component-facts")
        assert "signature  acme (RSASSA-PKCS1-V1_5), not verified (no option public_key)" in displayed

        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ContentScreen) and bool(app.screen.query_one(Document).lines))
        assert app.screen.query_one(Document).lines[0] == "apiVersion: v1"
        assert "raw-manifest" in text(app, "#component-name")
        await pilot.press("escape")
        await on_component(pilot)
        await pilot.press("y")
        await until(pilot, lambda: isinstance(app.screen, ContentScreen) and bool(app.screen.query_one(Document).lines))
        assert any(line.strip() == f"name: {NAME}" for line in app.screen.query_one(Document).lines)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
        assert app.screen.query_one("#offers").has_focus
    assert main(["bundle", "show", f"{host}/p//{NAME}:1.8.2", "--insecure-registry", host]) == 0
    printed = capsys.readouterr().out.partition("\n\n")[0].replace(", not verified", "")
    told = displayed.replace(", not verified (no option public_key)", "")
    assert [line.split() for line in printed.splitlines()] == [line.split() for line in told.splitlines()]


@pytest.mark.parametrize(("number", "verdict"), [(0, "valid"), (1, "invalid")])
async def test_signatures_are_verified_with_the_configured_key(
    host: str, tmp_path: Any, number: int, verdict: str
) -> None:
    put(host, signed(document(NAME, "1.8.2"), number=number))
    app = app_with(public_key=key_files(tmp_path)[1])
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await command(pilot, f"component http://{host}/p//{NAME}:1.8.2")
        await on_component(pilot)
        await until(pilot, lambda: f"signature  acme (RSASSA-PKCS1-V1_5), {verdict}" in text(app, "#component-facts"))
        assert ("was not made with this key" in text(app, "#component-facts")) == (verdict == "invalid")


async def test_what_cannot_be_read_is_said_and_read_again_on_request(host: str) -> None:
    app = app_with(registry=f"http://{host}/p")
    async with app.run_test(size=SIZE) as pilot:
        await to_keda(pilot)
        await until(pilot, lambda: f"{NAME}:1.8.2 does not exist" in text(app, "#component-state"))
        assert app.screen.check_action("descriptor", ()) is None
        put(host, document(NAME, "1.8.2"))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: len(shown(app)) == 2, lambda: text(app, "#component-state"))
        assert not app.screen.query_one("#component-state").display


async def test_a_reference_without_a_registry_or_version_is_refused() -> None:
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        for line, said in (
            ("component", "has no version"),
            (f"component {NAME}:1.0.0", "names no registry"),
            ("component reg.io//Not A Name:1.0.0", "has no version"),
        ):
            await command(pilot, line)
            await until(pilot, lambda said=said: bool(app.problems) and said in app.problems[-1])  # type: ignore[misc]
        await until(pilot, lambda: not isinstance(app.screen, ComponentScreen))


async def test_an_unknown_registry_is_no_empty_component() -> None:
    app = app_with()
    async with app.run_test(size=SIZE) as pilot:
        await to_keda(pilot)
        await until(pilot, lambda: f"the registry of {NAME} is unknown" in text(app, "#component-state"))
        assert "set `registry` in the configuration" in text(app, "#component-state")


async def test_the_same_name_twice_opens_the_chosen_resource(host: str) -> None:
    twice = [local("text", b"first\n", "text/plain"), local("text", b"\xff\x00binary", "text/plain")]
    put(host, document(NAME, "1.8.2", resources=twice), b"first\n", b"\xff\x00binary")
    app = app_with(registry=f"http://{host}/p")
    async with app.run_test(size=SIZE) as pilot:
        await to_keda(pilot)
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ContentScreen) and bool(app.screen.query_one(Document).lines))
        assert list(app.screen.query_one(Document).lines) == ["# binary, 8 bytes"]


async def test_a_huge_component_is_cut_and_says_so(host: str) -> None:
    labels = [{"name": f"acme.org/{number}", "value": "v" * 1000} for number in range(300)]
    large = b"a: b\n" * 400_000
    many = [local(f"r-{number}", b"x") for number in range(2100)]
    made = document(NAME, "1.8.2", labels=labels, resources=[local("large", large), *many])
    put(host, signed(made), large, b"x")
    app = app_with(registry=f"http://{host}/p")
    async with app.run_test(size=SIZE) as pilot:
        await to_keda(pilot)
        await until(pilot, lambda: len(shown(app)) == 2000, lambda: text(app, "#component-state"))
        found = text(app, "#component-facts")
        assert "2000 of 2101 displayed" in found
        assert "250 more in the descriptor (y)" in found
        assert "signature  acme (RSASSA-PKCS1-V1_5)" in found  # behind all labels
        assert max(map(len, found.splitlines())) < 600
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ContentScreen) and bool(app.screen.query_one(Document).lines))
        assert "more characters; `kymatui bundle pull` writes all" in app.screen.query_one(Document).lines[-1]


# pictures

WIDTHS = [(60, 24), (80, 24), (120, 40), (160, 24), (200, 24)]


class StoredPicture:
    """A registry with one component, whose name is the same in every run."""

    def __init__(self) -> None:
        layers = [resource_layer(MANIFEST, "application/x-tar", [{"name": "raw-manifest"}])]
        artifact = component_artifact(pictured(), layers)
        self._manifest = artifact.manifest
        self._blobs = {blob_digest(one): one for one in (MANIFEST, artifact.descriptor, artifact.config)}

    def manifest(self, repository: str, pointer: str) -> tuple[bytes, str] | None:
        return (self._manifest, MANIFEST_TYPE) if pointer == "1.8.2" else None

    def blob(self, repository: str, digest: str, largest: int) -> bytes:
        return self._blobs[digest]


def pictured() -> dict[str, Any]:
    image = {"type": "ociArtifact", "imageReference": f"{PLACE}/prod/keda-manager:1.8.2@sha256:{'a' * 64}"}
    manager = {"name": "keda-manager", "version": "1.8.2", "type": "ociArtifact", "relation": "external"}
    sources = [{"name": "module-sources", "version": "1.8.2", "type": "git"}]
    digest = {"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "jsonNormalisation/v3", "value": "b" * 64}
    signature = {"algorithm": "RSASSA-PKCS1-V1_5", "value": "c" * 512, "mediaType": "application/vnd.ocm.signature.rsa"}
    return document(
        NAME,
        "1.8.2",
        provider="kyma-project.io",
        creationTime="2026-02-03T04:05:06Z",
        resources=[local("raw-manifest", MANIFEST), {**manager, "access": image}],
        sources=[{**one, "access": {"type": "gitHub", "repoUrl": "github.com/kyma-project/keda"}} for one in sources],
    ) | {"signatures": [{"name": "kyma-project", "digest": digest, "signature": signature}]}


async def to_picture(pilot: Pilot[Any]) -> None:
    """Open the component of keda, which is the same in every run."""
    app = await ready(pilot)
    app.view.components = ComponentReader(f"{PLACE}/modules", "", lambda _: StoredPicture())
    await to_keda(pilot)


@pytest.mark.parametrize(
    "size", [(60, 24), (80, 24), (120, 40), (160, 24), (200, 24)], ids=lambda it: f"{it[0]}x{it[1]}"
)
def test_how_a_component_looks(compare: Compare, size: tuple[int, int]) -> None:
    assert compare(app_with(), size, to_picture)


def test_how_a_layer_looks(compare: Compare) -> None:
    async def walk(pilot: Pilot[Any]) -> None:
        await to_picture(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: bool(pilot.app.screen.query(Document)))
        await until(pilot, lambda: bool(pilot.app.screen.query_one(Document).lines))

    assert compare(app_with(), (80, 24), walk)


def test_how_a_failure_looks(compare: Compare) -> None:
    assert compare(app_with(), (80, 24), to_keda)


async def test_a_descriptor_in_the_template_needs_no_registry() -> None:
    made = pictured()
    old = b.old_template("keda-regular", "keda", "regular", "1.8.2", descriptor=made)
    still = world()
    others = tuple(one for one in still.templates if one["spec"].get("moduleName") != "keda")
    session = StillSession(replace(still, templates=(*others, old)))
    app = app_on(session)
    async with app.run_test(size=SIZE) as pilot:
        await to_keda(pilot)
        await until(pilot, lambda: len(shown(app)) == 2, lambda: text(app, "#component-state"))
        found = text(app, "#component-facts")
        assert re.search(r"stored as +in ModuleTemplate/keda-regular", found), found
        assert re.search(r"layers in +unknown", found), found
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ContentScreen))
        await until(pilot, lambda: "the registry of" in text(app, "#component-state"))
