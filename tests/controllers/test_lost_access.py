"""What Kymas and Manifests say of a runtime that does not answer, or refuses the credentials, as lifecycle-manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, LABEL_MANAGED_BY
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.errors import ConfigurationError, KymatuiError, UnauthorizedError, UnreachableError
from kymatui.operator.kymas.kyma_context import KYMA, MANIFEST
from kymatui.operator.manifests.controller import is_of_kyma
from kymatui.operator.manifests.manifest_marks import REQUIRED_FINALIZERS, SYNCED_LAYER
from tests.controllers.module_worlds import ModuleWorld, config
from tests.controllers.test_module_failures import a_world
from tests.domain.test_whatif import SPACE

REFUSED, SILENT = UnauthorizedError("Unauthorized", status=401), UnreachableError("connection refused")
UNUSABLE = ConfigurationError("the Secret gives no access")


def failing(error: KymatuiError) -> Callable[..., Any]:
    def fail(*_: object) -> Any:
        raise error

    return fail


def answers(refused: str, silent: str, unusable: str) -> pytest.MarkDecorator:
    """Run a test for each way in which a runtime cannot be used, with the state that is expected."""
    params = [
        pytest.param(REFUSED, refused, id="refused"),
        pytest.param(SILENT, silent, id="silent"),
        pytest.param(UNUSABLE, unusable, id="unusable"),
    ]
    return pytest.mark.parametrize(("error", "state"), params)


@answers("Ready", "Error", "Error")
def test_modules_keep_their_states_where_the_credentials_are_refused(error: KymatuiError, state: str) -> None:
    world = a_world("keda")
    world.runtime = failing(error)  # type: ignore[method-assign]
    world.settle()
    (kyma,) = world.home.list(KYMA, SPACE)
    states = [one["state"] for one in kyma["status"]["modules"]]
    assert (kyma["status"]["state"], states) == ("Error", [state])


@answers("Deleting", "Deleting", "Error")
def test_a_kyma_is_not_deleted_without_its_runtime(error: KymatuiError, state: str) -> None:
    world = a_world("keda")
    world.runtime = failing(error)  # type: ignore[method-assign]
    world.home.delete(ObjectRef(KYMA, SPACE, "a"))
    world.settle()
    (kyma,) = world.home.list(KYMA, SPACE)
    assert kyma["status"]["state"] == state
    (manifest,) = world.home.list(MANIFEST, SPACE)
    assert "deletionTimestamp" not in manifest["metadata"]


class Lost:
    """Runtimes that an operator cannot ask whose they are."""

    def __init__(self, error: KymatuiError) -> None:
        self.runtime = failing(error)


@answers("Ready", "Ready", "Error")
def test_a_manifest_keeps_its_state_while_its_runtime_does_not_answer(error: KymatuiError, state: str) -> None:
    world = ModuleWorld()
    world.put("1", config("a"))
    world.settle()
    assert world.state() == "Ready"
    world.restart(Lost(error))
    with pytest.raises(type(error)):
        world.reconcile()
    assert world.state() == state


def test_a_new_manifest_gets_its_marks_while_its_runtime_does_not_answer() -> None:
    world = ModuleWorld()
    world.put("1", config("a"))
    world.restart(Lost(SILENT))
    with pytest.raises(UnreachableError):
        world.reconcile()
    metadata = world.manifest()["metadata"]
    assert (world.state(), set(metadata["finalizers"])) == ("Processing", {*REQUIRED_FINALIZERS})
    assert metadata["annotations"][SYNCED_LAYER] == "sha256:1"


OWNER = {"apiVersion": KYMA.api_version, "kind": "Kyma", "name": "a", "uid": "1", "controller": True}
LABELS = {LABEL_MANAGED_BY: "lifecycle-manager", LABEL_KYMA_NAME: "a"}


@pytest.mark.parametrize(
    ("labels", "owner", "expected"),
    [
        pytest.param(LABELS, {}, True, id="by its labels"),
        pytest.param({LABEL_KYMA_NAME: "a"}, OWNER, True, id="managed-by was taken off"),
        pytest.param({}, OWNER, True, id="all labels were taken off"),
        pytest.param({LABEL_KYMA_NAME: "a"}, {}, False, id="somebody's own, for a runtime"),
        pytest.param({}, {**OWNER, "controller": False}, False, id="an owner that is no controller"),
        pytest.param({}, {**OWNER, "apiVersion": "example.org/v1"}, False, id="another kind of Kyma"),
    ],
)
def test_a_manifest_of_a_kyma_is_never_installed_on_the_control_plane(
    labels: dict[str, str], owner: dict[str, Any], expected: bool
) -> None:
    assert is_of_kyma({"metadata": {"labels": labels, "ownerReferences": [owner] if owner else []}}) == expected
