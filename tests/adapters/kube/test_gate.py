"""The read-only gate: every method on every kind of path, and the tricks that paths can play."""

from __future__ import annotations

import itertools
from posixpath import normpath
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.transport import Request, is_read_only_request
from kymatui.errors import ReadOnlyError
from tests.adapters.clusters import Exchange, serving, transport

AUTHORIZATION, AUTHENTICATION = "/apis/authorization.k8s.io/v1", "/apis/authentication.k8s.io/v1"
OWN_REVIEWS = (
    f"{AUTHORIZATION}/selfsubjectaccessreviews",
    f"{AUTHORIZATION}/selfsubjectrulesreviews",
    f"{AUTHENTICATION}/selfsubjectreviews",
    "/apis/authorization.k8s.io/v1beta1/selfsubjectaccessreviews",
    "/apis/authentication.k8s.io/v1alpha1/selfsubjectreviews",
)
OTHER_REVIEWS = (
    f"{AUTHORIZATION}/subjectaccessreviews",
    f"{AUTHORIZATION}/namespaces/x/localsubjectaccessreviews",
    f"{AUTHORIZATION}/namespaces/x/selfsubjectaccessreviews",
    f"{AUTHENTICATION}/tokenreviews",
    "/apis/authorization.k8s.io/v2/selfsubjectaccessreviews",
    "/apis/example.org/v1/selfsubjectaccessreviews",
)
READABLE = (
    "/",
    "/version",
    "/readyz",
    "/api",
    "/apis",
    "/apis/apps/v1",
    "/openapi/v3/apis/apps/v1",
    "/api/v1/pods",
    "/api/v1/nodes/n",
    "/api/v1/nodes/n/status",
    "/api/v1/namespaces",
    "/api/v1/namespaces/shop",
    "/api/v1/namespaces/shop/status",
    "/api/v1/namespaces/shop/pods",
    "/api/v1/namespaces/shop/pods/p",
    "/api/v1/namespaces/shop/pods/p/log",
    "/apis/apps/v1/namespaces/shop/deployments/d/scale",
    "/apis/operator.kyma-project.io/v1beta2/namespaces/kyma-system/kymas/default/status",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
    # what is only called as if it did something
    "/api/v1/namespaces/proxy/pods",
    "/api/v1/namespaces/exec/services/proxy",
    "/apis/apps/v1/namespaces/shop/deployments/proxy",
    "/apis/apps/v1/namespaces/attach/deployments/exec/status",
)
ACTING = (
    "/api/v1/namespaces/shop/pods/p/exec",
    "/api/v1/namespaces/shop/pods/p/attach",
    "/api/v1/namespaces/shop/pods/p/portforward",
    "/api/v1/namespaces/shop/pods/p/proxy",
    "/api/v1/namespaces/shop/pods/p/proxy/delete-all",
    "/api/v1/namespaces/shop/services/s/proxy",
    "/api/v1/namespaces/shop/services/s:80/proxy/status",
    "/api/v1/nodes/n/proxy",
    "/api/v1/nodes/n/proxy/run/shop/p/c",
    "/api/v1/proxy/namespaces/shop/services/s",
    "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachineinstances/vm/console",
    "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/vm/portforward/22",
)
TRICKS = (
    "",
    "api/v1/pods",
    "http://elsewhere.example/api/v1/pods",
    "//elsewhere.example/api/v1/pods",
    "/api/v1//namespaces/shop/pods/p/exec",
    "/api/v1/namespaces/shop/pods/p//exec",
    "/api/v1/namespaces/shop/pods/p/./exec",
    "/api/v1/namespaces/shop/pods/x/../p/exec",
    "/api/v1/namespaces/shop/pods/p/exec/",
    "/api/v1/namespaces/shop/pods/p/exec?command=rm",
    "/api/v1/namespaces/shop/pods?x=/p/exec",
    "/api/v1/namespaces/shop/pods/p/log#/exec",
    "/api/v1/namespaces/shop/pods/p/%65xec",
    "/api/v1/namespaces/shop/pods/p%2Fexec",
    "/api/v1/namespaces/shop/pods/p%2fexec",
    "/api/v1/namespaces/shop/pods/p/log%3Fcommand=rm",
    "/api/v1/namespaces/shop/pods/p%252Fexec",
    "/api/v1/namespaces/shop/pods/p/log/%2e%2e/exec",
    "/api/v1/namespaces/shop/pods/p\\exec",
    "/api/v1/pods\r\nX: y",
    "/api/v1/pods ",
)
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get", "post", "Get", "")


def test_reading_passes_and_no_other_method_does() -> None:
    for method, path in itertools.product(METHODS, READABLE):
        assert is_read_only_request(method, path) is (method in ("GET", "HEAD")), (method, path)


def test_of_all_posts_only_the_reviews_of_oneself_pass() -> None:
    for method, path in itertools.product(METHODS, OWN_REVIEWS):
        assert is_read_only_request(method, path) is (method in ("GET", "HEAD", "POST")), (method, path)
    for path in (*OTHER_REVIEWS, *READABLE, *ACTING, *TRICKS):
        assert not is_read_only_request("POST", path), path
    for own, spoiled in itertools.product(
        OWN_REVIEWS, ("{}/", "{}/x", "{}?x", "{}#", "/{}", "{} ", "{}/../namespaces")
    ):
        assert not is_read_only_request("POST", spoiled.format(own)), spoiled.format(own)
    for own in OWN_REVIEWS:
        assert not is_read_only_request("POST", own.upper())
        assert not is_read_only_request("POST", quote(own).replace("self", "%73elf"))


@pytest.mark.parametrize("path", [*ACTING, *TRICKS])
def test_no_method_passes_where_a_path_acts_or_can_be_read_in_two_ways(path: str) -> None:
    for method in METHODS:
        assert not is_read_only_request(method, path), method


PATH_SIGNS = "abcdefghijklmnopqrstuvwxyz0123456789/.%?#\\ABCDEF:"


@given(method=st.sampled_from(METHODS), path=st.text(PATH_SIGNS, max_size=40).map("/{}".format))
@example(method="GET", path="/api/v1/nodes/n/proxy/%2e./x")
def test_what_passes_is_read_alike_by_everybody(method: str, path: str) -> None:
    """A server that decodes, or cleans, a path that passed sees the path that was looked at."""
    if is_read_only_request(method, path):
        assert method in ("GET", "HEAD", "POST")
        assert unquote(unquote(path)) == unquote(path)
        assert normpath(unquote(path)).rstrip("/") == unquote(path).rstrip("/")
        assert unquote(path).count("/") == path.count("/")


NAMES = st.text("abz0-.:", min_size=1, max_size=8).filter(lambda name: name.strip("."))


@given(name=NAMES, namespace=NAMES, group=st.sampled_from(["", "apps"]), namespaced=st.booleans())
def test_every_object_can_be_read_however_it_is_called(name: str, namespace: str, group: str, namespaced: bool) -> None:
    resource = ApiResource(group, "v1", "Thing", "things", namespaced)
    for part in ("", "status", "log", "scale"):
        assert is_read_only_request("GET", resource.path(namespace, name, part))
    for part in ("exec", "proxy", "anything"):
        assert not is_read_only_request("GET", resource.path(namespace, name, part))


@pytest.mark.parametrize("path", [*ACTING, *TRICKS])
def test_what_is_refused_touches_no_socket(path: str) -> None:
    seen: list[str] = []

    def note(exchange: Exchange) -> None:
        seen.append(exchange.path)
        exchange.json({})

    with serving(note) as address:
        guarded = transport(address, read_only=True)
        for send in (guarded.send, guarded.stream):
            with pytest.raises(ReadOnlyError, match="nothing was sent"):
                send(Request("GET", path))
        assert not guarded.counts
    assert seen == []
