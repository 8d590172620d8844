"""Who asks, and who may."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.apiserver.auth.rbac_authorizer import Attributes, rule_covers
from kymatui.sandbox.apiserver.server.api_server import ApiServer
from tests.sandbox.apiserver.plain import VIEWER_TOKEN, advance, ask, plain_server

RBAC = "rbac.authorization.k8s.io"


@pytest.fixture
def server() -> ApiServer:
    return plain_server()


def bind(server: ApiServer, role: dict[str, Any], subject: dict[str, str], namespace: str = "") -> None:
    server.client.create(f"clusterroles.{RBAC}", role)
    ref = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role["metadata"]["name"]}
    binding = {"metadata": {"name": "b", "namespace": namespace}, "roleRef": ref, "subjects": [subject]}
    resource = "rolebindings" if namespace else "clusterrolebindings"
    server.client.create(f"{resource}.{RBAC}", binding, namespace=namespace)


READ = {
    "metadata": {"name": "read"},
    "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}],
}
VIEWERS = {"kind": "Group", "name": "viewers", "apiGroup": RBAC}


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        ("wrong", "/api/v1/pods", 401),
        ("", "/api/v1/pods", 403),
        ("", "/version", 200),
        ("", "/readyz", 200),
        ("", "/apis", 403),
        (VIEWER_TOKEN, "/apis", 200),
        (VIEWER_TOKEN, "/api/v1/pods", 403),
    ],
)
def test_what_a_token_opens(server: ApiServer, token: str, path: str, status: int) -> None:
    assert ask(server, "GET", path, token=token).status == status


def test_a_binding_in_a_namespace_holds_there_alone(server: ApiServer) -> None:
    bind(server, READ, VIEWERS, "default")
    assert ask(server, "GET", "/api/v1/namespaces/default/configmaps", token=VIEWER_TOKEN).status == 200
    refused = ask(server, "GET", "/api/v1/configmaps", token=VIEWER_TOKEN)
    assert refused.json()["message"] == (
        'configmaps is forbidden: User "viewer" cannot list resource "configmaps" in API group "" at the cluster scope'
    )


@pytest.mark.parametrize(
    ("rule", "wanted", "allowed"),
    [
        ({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}, Attributes("get", resource="pods"), True),
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, Attributes("list", resource="pods"), False),
        ({"verbs": ["get"], "apiGroups": ["apps"], "resources": ["pods"]}, Attributes("get", resource="pods"), False),
        (
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
            Attributes("get", resource="pods", subresource="log"),
            False,
        ),
        (
            {"verbs": ["get"], "apiGroups": [""], "resources": ["*/log"]},
            Attributes("get", resource="pods", subresource="log"),
            True,
        ),
        (
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"]},
            Attributes("get", resource="pods", name="b"),
            False,
        ),
        ({"verbs": ["get"], "nonResourceURLs": ["/apis/*"]}, Attributes("get", path="/apis/x"), True),
        ({"verbs": ["get"], "nonResourceURLs": ["/apis"]}, Attributes("get", path="/apis/x"), False),
    ],
)
def test_what_a_rule_covers(rule: dict[str, Any], wanted: Attributes, allowed: bool) -> None:
    assert rule_covers(rule, wanted) is allowed


def test_nobody_grants_what_they_do_not_have(server: ApiServer) -> None:
    grants = {"apiGroups": [RBAC], "resources": ["clusterroles"], "verbs": ["create"]}
    bind(server, {"metadata": {"name": "granter"}, "rules": [grants, *READ["rules"]]}, VIEWERS)
    client = server.client.named("test", server.tokens.fixed[VIEWER_TOKEN])
    client.create(f"clusterroles.{RBAC}", {**READ, "metadata": {"name": "mine"}})
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}
    with pytest.raises(StatusError) as caught:
        client.create(f"clusterroles.{RBAC}", {"metadata": {"name": "more"}, "rules": [secrets]})
    assert caught.value.code == 403
    assert str(caught.value).endswith('{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}')


def test_a_service_account_is_who_its_token_says_until_it_ends(server: ApiServer) -> None:
    server.client.create("serviceaccounts", {"metadata": {"name": "robot"}}, namespace="default")
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    answer = ask(server, "POST", path, b'{"spec": {"expirationSeconds": 600}}')
    assert answer.status == 201
    token = answer.json()["status"]["token"]
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    whoami = ask(server, "POST", review, b"{}", token=token).json()["status"]["userInfo"]
    assert whoami["username"] == "system:serviceaccount:default:robot"
    assert "system:serviceaccounts:default" in whoami["groups"]
    advance(server, 601)
    assert ask(server, "POST", review, b"{}", token=token).status == 401


def test_a_token_ends_with_its_service_account(server: ApiServer) -> None:
    server.client.create("serviceaccounts", {"metadata": {"name": "robot"}}, namespace="default")
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    token = ask(server, "POST", path, b"{}").json()["status"]["token"]
    server.client.delete("serviceaccounts", "robot", namespace="default")
    assert ask(server, "GET", "/version", token=token).status == 401


def test_a_changed_token_is_none(server: ApiServer) -> None:
    server.client.create("serviceaccounts", {"metadata": {"name": "robot"}}, namespace="default")
    path = "/api/v1/namespaces/default/serviceaccounts/robot/token"
    token = ask(server, "POST", path, b"{}").json()["status"]["token"]
    head, claims, signature = token.split(".")
    assert ask(server, "GET", "/version", token=f"{head}.{claims[:-2]}AA.{signature}").status == 401


def test_impersonation_needs_the_right_and_gives_the_other_user(server: ApiServer) -> None:
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    headers = {"impersonate-user": "jane", "impersonate-group": "devs"}
    whoami = ask(server, "POST", review, b"{}", headers=headers).json()["status"]["userInfo"]
    assert whoami == {"username": "jane", "groups": ["devs", "system:authenticated"]}
    refused = ask(server, "POST", review, b"{}", token=VIEWER_TOKEN, headers=headers)
    assert refused.status == 403
    assert refused.json()["message"] == (
        'users "jane" is forbidden: User "viewer" cannot impersonate resource "users" in API group "" '
        "at the cluster scope"
    )


def test_a_review_says_why(server: ApiServer) -> None:
    bind(server, READ, VIEWERS, "default")
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    spec = b'{"spec": {"resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "default"}}}'
    status = ask(server, "POST", path, spec, token=VIEWER_TOKEN).json()["status"]
    assert status == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "b/default" of ClusterRole "read" to Group "viewers"',
    }
