"""What applies an object from Git, for how long a change lasts beside it, and what the repository gets: by tables."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.gitops import GitChange, GitSource, GitTool, git_source, lasting, repository_document
from kymatui.domain.kubernetes.object_meta import read_ref

FLUX, ARGO = "kustomize.toolkit.fluxcd.io", "argocd.argoproj.io/tracking-id"


def written(labels: dict[str, str], annotations: dict[str, str], manager: str = "") -> dict[str, Any]:
    managers = [{"manager": manager, "operation": "Apply"}] if manager else []
    return {"metadata": {"name": "a", "labels": labels, "annotations": annotations, "managedFields": managers}}


@pytest.mark.parametrize(
    ("labels", "annotations", "manager", "source"),
    [
        ({f"{FLUX}/name": "apps", f"{FLUX}/namespace": "flux"}, {}, "", "Flux Kustomization flux/apps"),
        ({f"{FLUX}/name": "apps"}, {f"{FLUX}/reconcile": "enabled"}, "", "Flux Kustomization apps"),
        ({f"{FLUX}/name": "apps"}, {f"{FLUX}/reconcile": "Disabled"}, "", ""),
        ({f"{FLUX}/name": "apps"}, {f"{FLUX}/ssa": "IfNotPresent"}, "", ""),
        ({f"{FLUX}/name": "apps"}, {f"{FLUX}/ssa": "Merge"}, "", "Flux Kustomization apps"),
        ({"helm.toolkit.fluxcd.io/name": "web"}, {}, "", "Flux HelmRelease web"),
        ({"helm.toolkit.fluxcd.io/name": "web"}, {"helm.toolkit.fluxcd.io/driftDetection": "disabled"}, "", ""),
        ({}, {ARGO: "argo_shop:apps/Deployment:default/web"}, "", "Argo CD Application argo/shop"),
        ({"app.kubernetes.io/instance": "shop"}, {}, "argocd-controller", "Argo CD Application shop"),
        ({"app.kubernetes.io/instance": "shop"}, {}, "helm", ""),
        ({}, {}, "kustomize-controller", ""),
    ],
)
def test_what_applies_an_object_from_git_is_read_from_its_marks(
    labels: dict[str, str], annotations: dict[str, str], manager: str, source: str
) -> None:
    assert str(git_source(written(labels, annotations, manager)) or "") == source


KUSTOMIZATION, RELEASE, APPLICATION = GitTool
UNKNOWN = "until it is applied again, when is unknown"
STAYS = "a field that Git does not have stays"
SYNC = "until the Application is synchronised"


@pytest.mark.parametrize(
    ("tool", "spec", "until"),
    [
        (KUSTOMIZATION, None, UNKNOWN),
        (KUSTOMIZATION, {"interval": "10m"}, f"for at most 10m, its interval; {STAYS}"),
        (KUSTOMIZATION, {}, f"until its next reconciliation; {STAYS}"),
        (KUSTOMIZATION, {"interval": "10m", "suspend": True}, "until it is resumed: it is suspended"),
        (RELEASE, {"interval": "10m"}, "until its next upgrade"),
        (RELEASE, {"interval": "10m", "driftDetection": {"mode": "warn"}}, "until its next upgrade"),
        (
            RELEASE,
            {"interval": "10m", "driftDetection": {"mode": "enabled"}},
            f"for at most 10m, its interval; {STAYS}",
        ),
        (RELEASE, {"suspend": True, "driftDetection": {"mode": "enabled"}}, "until it is resumed: it is suspended"),
        (APPLICATION, {}, SYNC),
        (APPLICATION, {"syncPolicy": {"syncOptions": []}}, SYNC),
        (APPLICATION, {"syncPolicy": {"automated": {"enabled": False, "selfHeal": True}}}, SYNC),
        (APPLICATION, {"syncPolicy": {"automated": {"prune": True}}}, "until the next change in Git"),
        (APPLICATION, {"syncPolicy": {"automated": {"selfHeal": True}}}, "for seconds: it heals itself"),
    ],
)
def test_a_change_lasts_until_its_source_applies_again(tool: GitTool, spec: dict[str, Any] | None, until: str) -> None:
    assert lasting(GitSource(tool, "flux", "apps"), None if spec is None else {"spec": spec}) == until


def test_a_new_revision_of_a_release_lasts_until_the_next_interval_of_its_helm_release() -> None:
    """Its controller installs a release again that is deleted, and upgrades one whose last revision is another's."""
    source, spec = GitSource(RELEASE, "flux", "apps"), {"spec": {"interval": "10m"}}
    assert lasting(source, spec, release=True) == f"for at most 10m, its interval; {STAYS}"
    assert lasting(source, {"spec": {"suspend": True}}, release=True) == "until it is resumed: it is suspended"


def test_an_application_is_automated_where_nothing_else_is_said() -> None:
    raw: dict[str, Any] = {"spec": {"syncPolicy": {"automated": {}}}}
    assert lasting(GitSource(APPLICATION, "argo", "shop"), raw) == "until the next change in Git"


def test_the_repository_gets_what_a_person_wrote() -> None:
    labels = {f"{FLUX}/name": "apps", "team": "blue"}
    annotations = {ARGO: "shop:a", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    body = written(labels, annotations) | {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}, "status": {}}
    change = GitChange(GitSource(KUSTOMIZATION, "flux", "apps"), read_ref(body), body)
    assert repository_document(change) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"team": "blue"}},
        "data": {"a": "b"},
    }


def test_no_secret_is_printed_for_a_repository() -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"a": "Yg=="}}
    assert repository_document(GitChange(GitSource(KUSTOMIZATION, "", "apps"), read_ref(body), body)) is None
