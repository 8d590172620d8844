"""Release metas of mandatory modules: what holds them, and what becomes of the Manifests."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANDATORY, read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.whatif.fleet_objects import CatalogChange
from kymatui.engine.cluster.ports import PatchKind
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META
from kymatui.operator.kymas.kyma_context import MANIFEST
from kymatui.operator.kymas.mandatory_modules import FINALIZER
from tests.controllers.release_worlds import DrawnFleet, ReleaseWorld
from tests.domain.builders import kyma
from tests.domain.test_whatif import SPACE, a_meta, a_template

REF = ObjectRef(RELEASE_META, SPACE, "warden")
MANDATORY = a_meta("warden", None, mandatory={"version": "1.0.0"})


@pytest.fixture
def world() -> ReleaseWorld:
    """A mandatory module on two runtimes; `user` also enables it."""
    kymas = [kyma([], name="plain", namespace=SPACE), kyma([{"name": "warden"}], name="user", namespace=SPACE)]
    return ReleaseWorld(DrawnFleet([MANDATORY, a_template("warden", "1.0.0")], kymas))


def manifests(world: ReleaseWorld) -> dict[str, str]:
    """The Manifests by Kyma: whether each is mandatory."""
    labels = [one["metadata"]["labels"] for one in world.home.list(MANIFEST, SPACE)]
    return {one[LABEL_KYMA_NAME]: one.get(LABEL_MANDATORY, "") for one in labels}


def finalizers(world: ReleaseWorld) -> list[str]:
    raw: dict[str, Any] = world.home.get(REF) or {"metadata": {}}
    return list(raw["metadata"].get("finalizers") or [])


def test_a_module_that_moves_to_channels_stays_and_goes_with_its_release_meta(world: ReleaseWorld) -> None:
    assert finalizers(world) == [FINALIZER]
    assert manifests(world) == {"plain": "true", "user": "true"}
    world.change(CatalogChange((a_meta("warden", {"regular": "1.0.0"}),)))
    assert manifests(world) == {"plain": "true", "user": ""}
    assert finalizers(world) == [FINALIZER]
    world.home.delete(REF)
    world.settle()
    assert world.home.get(REF) is None
    assert manifests(world) == {"user": ""}


def test_a_manifest_that_is_still_being_deleted_holds_the_release_meta(world: ReleaseWorld) -> None:
    world.change(CatalogChange((a_meta("warden", {"regular": "1.0.0"}),)))
    (plain,) = [one for one in world.home.list(MANIFEST, SPACE) if one["metadata"]["labels"].get(LABEL_MANDATORY)]
    world.home.patch(read_ref(plain), {"metadata": {"finalizers": ["example.org/held"]}}, PatchKind.MERGE)
    world.home.delete(REF)
    world.settle()
    assert finalizers(world) == [FINALIZER]
    world.home.patch(read_ref(plain), {"metadata": {"finalizers": None}}, PatchKind.MERGE)
    world.settle()
    assert world.home.get(REF) is None


def test_a_deleted_mandatory_module_is_deleted_everywhere(world: ReleaseWorld) -> None:
    world.home.delete(REF)
    world.settle()
    assert world.home.get(REF) is None
    assert "plain" not in manifests(world)


def test_a_release_meta_that_was_never_mandatory_is_not_held() -> None:
    world = ReleaseWorld(DrawnFleet([a_meta("warden", {"regular": "1.0.0"}), a_template("warden", "1.0.0")], []))
    assert finalizers(world) == []
    world.home.delete(REF)
    world.settle()
    assert world.home.get(REF) is None
