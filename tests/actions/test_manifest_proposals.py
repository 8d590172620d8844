"""What a plan of a Manifest warns of."""

from __future__ import annotations

import pytest

from kymatui.actions.modules.manifest import ManifestProposal
from kymatui.domain.kyma.kyma_keeper import KeeperLease
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from tests.domain.builders import manifest

IDLE = "no effect until you start `kymatui operator` (not running: it holds no Lease)"
MANIFEST = "Manifest kyma-system/default-keda-1"
GIT = f"Argo CD Application argo/kyma applies {MANIFEST} and may revert this change: make it in Git"


@pytest.mark.parametrize(
    ("works", "mark", "warnings"), [(True, "", ()), (False, "", (IDLE,)), (True, "argo_kyma:x", (GIT,))]
)
def test_a_write_without_effect_and_one_that_git_reverts_are_warned_of(
    works: bool, mark: str, warnings: tuple[str, ...]
) -> None:
    body = manifest("keda", "1.0.0", annotations={"argocd.argoproj.io/tracking-id": mark} if mark else {})
    live = read_manifest(body)
    assert isinstance(live, Manifest)
    for there in (live, None):
        proposal = ManifestProposal("keda", "1.1.0", body, there, (), "", (), KeeperLease("", works=works), True)
        assert proposal.warnings == tuple(words for words in warnings if there or words is not GIT)
