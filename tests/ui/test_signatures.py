"""The column SIGNED: descriptors of a real registry, read while the screen goes on; what failed is never "unsigned"."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec.structs import replace

from kymatui.adapters.oci.registry import RegistryArtifacts
from kymatui.domain.modules.state_checks import SignatureStatus
from kymatui.ui.application.kymatui_app import KymatuiApp
from tests.bundle.components import document, key_files, put
from tests.domain import builders as b
from tests.ocm.components import signed
from tests.sandbox.registry.conftest import Serve, serve  # noqa: F401 (a fixture)
from tests.ui.driving import cell, ready, shown, text, until
from tests.ui.worlds import StillSession, app_on, world

WITH_SIGNED = ("name", "installed", "signed")


@dataclass
class Shelf:
    """A registry with some components of the world."""

    host: str

    def store(self, module: str, version: str, *signers: int) -> None:
        made = document(f"kyma-project.io/module/{module}", version)
        for number in signers:
            made = signed(made, name=f"acme{number}", number=number)
        put(self.host, made)


@pytest.fixture
def shelf(serve: Serve) -> Shelf:  # noqa: F811
    found = Shelf(serve().registry.address)
    found.store("api-gateway", "3.4.1")
    found.store("btp-operator", "1.2.0", 0)
    found.store("istio", "1.20.3", 1)
    found.store("cloud-logging", "1.0.0", 0, 1)
    return found


def app_with(registry: str, public_key: str = "", *, columns: tuple[str, ...] = WITH_SIGNED) -> KymatuiApp:
    old = b.old_template(
        "old-regular", "old", "regular", "1.0.0", descriptor=document("kyma-project.io/module/old", "1.0.0")
    )
    still = world()
    session = StillSession(replace(still, templates=(*still.templates, old)))
    return app_on(session, columns=columns, registry=registry, public_key=public_key)


def words(app: KymatuiApp) -> dict[str, str]:
    return {name: cell(app, name, "signed") for name in shown(app)}


async def test_the_column_tells_who_signed_and_what_is_unknown(shelf: Shelf) -> None:
    app = app_with(f"http://{shelf.host}/p")
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "loading" not in words(app).values(), lambda: words(app))
        found = words(app)
        assert (found["api-gateway"], found["btp-operator"], found["istio"]) == ("unsigned", "signed", "signed")
        assert (found["keda"], found["old"]) == ("unknown", "unsigned")  # not in the registry; in the template
        app.screen.query_one("#modules").move_to("keda")  # type: ignore[attr-defined]
        await until(pilot, lambda: "signature unknown" in text(app, "#reason"), lambda: text(app, "#reason"))
        assert "kyma-project.io/module/keda:1.6.0 does not exist" in text(app, "#reason")

        shelf.store("keda", "1.6.0", 0)  # signed since: asked again on request
        await pilot.press("ctrl+r")
        await until(pilot, lambda: words(app)["keda"] == "signed", lambda: words(app))


async def test_with_a_key_signatures_are_verified(shelf: Shelf, tmp_path: Path) -> None:
    _, public = key_files(tmp_path)
    app = app_with(f"http://{shelf.host}/p", public)
    async with app.run_test(size=(120, 40)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: "loading" not in words(app).values(), lambda: words(app))
        found = words(app)
        assert (found["btp-operator"], found["istio"], found["api-gateway"]) == ("valid", "invalid", "unsigned")
        assert found["cloud-logging"] == "invalid"  # every signature counts, as in `bundle verify`
        app.screen.query_one("#modules").move_to("istio")  # type: ignore[attr-defined]
        await until(pilot, lambda: "was not made with this key" in text(app, "#reason"), lambda: text(app, "#reason"))


@pytest.mark.parametrize(
    ("registry", "key", "why"),
    [
        ("", "", "the registry of kyma-project.io/module/istio is unknown; use --registry"),
        ("http://127.0.0.1:1/p", "", "cannot reach 127.0.0.1:1"),
        ("http://127.0.0.1:1/p", "/no/key.pem", "/no/key.pem cannot be read"),
    ],
)
async def test_what_cannot_be_read_is_unknown_and_says_why(registry: str, key: str, why: str) -> None:
    app = app_with(registry, key)
    async with app.run_test(size=(200, 40)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: words(app)["istio"] == "unknown", lambda: words(app))
        app.screen.query_one("#modules").move_to("istio")  # type: ignore[attr-defined]
        await until(pilot, lambda: why in text(app, "#reason"), lambda: text(app, "#reason"))


async def test_registries_are_asked_only_for_a_column_on_the_screen(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    manifest = RegistryArtifacts.manifest

    def counted(self: RegistryArtifacts, repository: str, pointer: str) -> tuple[bytes, str] | None:
        asked.append(repository)
        return manifest(self, repository, pointer)

    monkeypatch.setattr(RegistryArtifacts, "manifest", counted)
    app = app_with(f"http://{shelf.host}/p", columns=app_on(StillSession(world())).settings.columns)
    async with app.run_test(size=(200, 40)) as pilot:
        await ready(pilot)
        await until(pilot, lambda: bool(shown(app)))
        assert "signed" not in {column.id for column in app.screen.query_one("#modules").grid.columns}  # type: ignore[attr-defined]
        assert (asked, app.view.signatures) == ([], None)
        app.screen.query_one("CatalogPane")._choose_columns(WITH_SIGNED)  # type: ignore[attr-defined]
        await until(pilot, lambda: words(app)["istio"] == SignatureStatus.SIGNED, lambda: words(app))
        assert len(asked) == len(set(asked))  # each component once
