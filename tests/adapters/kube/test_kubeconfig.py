"""Kubeconfigs: merged, resolved, and refused in words."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.auth.context_list import connection_facts, list_contexts
from kymatui.adapters.kube.auth.kubeconfig import read_kubeconfig
from kymatui.errors import ConfigurationError, UnknownNameError

Json = dict[str, Any]


def config(name: str = "x", *, server: str = "https://x.example", **parts: Any) -> Json:
    """A kubeconfig with one context, cluster and user of the same name."""
    found: Json = {
        "clusters": [{"name": name, "cluster": {"server": server, **parts.pop("cluster", {})}}],
        "users": [{"name": name, "user": parts.pop("user", {"token": "t"})}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **parts.pop("context", {})}}],
        "current-context": name,
    }
    return {**found, **parts}


def write(file: Path, document: Any) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return file


def environment(*files: Path, home: str = "/nowhere") -> dict[str, str]:
    return {"KUBECONFIG": os.pathsep.join(map(str, files)), "HOME": home}


def test_of_several_files_the_first_that_says_something_wins(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {**config("a", server="https://one.example"), "current-context": ""})
    two = write(tmp_path / "two", {**config("a", server="https://two.example"), "current-context": "b"})
    three = write(tmp_path / "three", config("b", server="https://three.example"))
    both = environment(one, tmp_path / "missing", two, three)
    assert connect(context="a", environment=both).endpoint.server == "https://one.example"
    assert connect(environment=both).context == "b"
    assert [(one.name, one.is_current) for one in list_contexts(environment=both)] == [("a", False), ("b", True)]


def test_contexts_are_listed_with_the_problem_of_those_that_cannot_be_used(tmp_path: Path) -> None:
    good, broken = config("good", context={"namespace": "apps"}), config("broken", server="ftp://x.example")
    lost = {"name": "lost", "context": {"cluster": "gone", "user": "good"}}
    file = write(tmp_path / "config", {**good, **{key: good[key] + broken[key] for key in ("clusters", "users")}})
    write(file, {**json.loads(file.read_text()), "contexts": [*good["contexts"], *broken["contexts"], lost]})
    found = {one.name: one for one in list_contexts(str(file))}
    assert list(found) == ["broken", "good", "lost"]
    one = found["good"]
    assert (one.cluster, one.user, one.server, one.namespace) == ("good", "good", "https://x.example", "apps")
    assert (one.is_current, one.problem) == (True, "")
    assert "is not an http or https address" in found["broken"].problem
    assert "points to the cluster 'gone', which does not exist" in found["lost"].problem


SECRET = "s3cr3t-t0k3n"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (config(), config(), ()),
        (config(), config(server="https://y.example"), ("server https://x.example → https://y.example",)),
        (config(user={"token": "old"}), config(user={"token": SECRET}), ("token",)),
        (
            config(user={"username": "u", "password": "old"}),
            config(user={"username": "u", "password": SECRET}),
            ("user name and password",),
        ),
        (
            config(user={"token": "t"}),
            config(
                user={"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "login", "args": [SECRET]}}
            ),
            ("authentication a token → the plugin login", "token", "plugin"),
        ),
        (config(context={"namespace": "a"}), config(context={"namespace": "b"}), ("namespace a → b",)),
        (
            config(cluster={"insecure-skip-tls-verify": False}),
            config(cluster={"certificate-authority-data": base64.b64encode(b"AUTHORITY").decode()}),
            ("certificate authority",),
        ),
        (config(), config(cluster={"proxy-url": f"http://me:{SECRET}@proxy.example"}), ("proxy",)),
    ],
    ids=["nothing", "server", "token", "password", "plugin", "namespace", "authority", "proxy"],
)
def test_what_changed_in_a_context_is_named_without_its_secrets(
    before: Json, after: Json, expected: tuple[str, ...], tmp_path: Path
) -> None:
    file = write(tmp_path / "config", before)
    past = connection_facts(str(file), "x")
    write(file, after)
    now = connection_facts(str(file), "x")
    assert now.changes_since(past) == expected
    assert SECRET not in repr(now)


def test_a_token_file_with_another_token_is_a_change(tmp_path: Path) -> None:
    write(tmp_path / "token", "old")
    file = write(tmp_path / "config", config(user={"tokenFile": "token"}))
    past = connection_facts(str(file), "x")
    write(tmp_path / "token", SECRET)
    assert connection_facts(str(file), "x").changes_since(past) == ("token",)


def test_a_context_may_point_into_another_file(tmp_path: Path) -> None:
    one = write(tmp_path / "one", {"contexts": config()["contexts"], "current-context": "x"})
    two = write(tmp_path / "two", {"clusters": config()["clusters"], "users": config()["users"]})
    assert connect(environment=environment(one, two)).endpoint.server == "https://x.example"


def test_without_kubeconfig_the_home_directory_is_looked_at(tmp_path: Path) -> None:
    write(tmp_path / ".kube" / "config", config("home"))
    assert connect(environment={"HOME": str(tmp_path)}).context == "home"


def test_a_file_that_is_asked_for_alone_counts(tmp_path: Path) -> None:
    asked = write(tmp_path / "asked", config("asked"))
    other = write(tmp_path / "other", config("other"))
    assert connect(str(asked), environment=environment(other)).context == "asked"


def test_relative_paths_start_at_the_file_they_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "deep" / "ca.pem", "AUTHORITY")
    write(tmp_path / "deep" / "token", "from the file\n")
    document = config(cluster={"certificate-authority": "ca.pem"}, user={"tokenFile": "./token"})
    write(tmp_path / "deep" / "config", document)
    found = connect("deep/config")
    assert found.endpoint.authority == "AUTHORITY"
    assert ("Authorization", "Bearer from the file") in found.credentials.present().headers


def test_the_same_context_of_two_files_is_not_the_same_connection(tmp_path: Path) -> None:
    one, two = write(tmp_path / "one", config()), write(tmp_path / "two", config())
    assert connect(str(one)).key != connect(str(two)).key


@pytest.mark.parametrize(("asked", "wanted"), [("", "of-context"), ("asked", "asked")])
def test_the_namespace_is_the_one_asked_for_else_that_of_the_context(tmp_path: Path, asked: str, wanted: str) -> None:
    file = write(tmp_path / "config", config(context={"namespace": "of-context"}))
    assert connect(str(file), namespace=asked).namespace == wanted


@pytest.mark.parametrize(
    ("server", "wanted"),
    [
        ("https://a.example:6443/", "https://a.example:6443"),
        ("https://a.example/k8s/clusters/c-1", "https://a.example/k8s/clusters/c-1"),
        ("localhost:8080", "http://localhost:8080"),
        ("https://[::1]:6443", "https://[::1]:6443"),
    ],
)
def test_servers_are_taken_with_their_path(tmp_path: Path, server: str, wanted: str) -> None:
    assert connect(str(write(tmp_path / "c", config(server=server)))).endpoint.server == wanted


@pytest.mark.parametrize(
    ("server", "local"),
    [
        ("https://127.0.0.1:1", True),
        ("https://127.9.9.9", True),
        ("https://[::1]:6443", True),
        ("https://localhost", True),
        ("https://a.example", False),
        ("https://10.0.0.1", False),
    ],
)
def test_loopback_is_known(tmp_path: Path, server: str, local: bool) -> None:
    assert connect(str(write(tmp_path / "c", config(server=server)))).endpoint.is_local is local


PEM = base64.b64encode(b"PEM").decode()
BROKEN: dict[str, tuple[Any, str]] = {
    "no YAML": ("a: [", "line 2, column 1"),
    "tabs": ("\tx: 1", "not YAML"),
    "a list": ("- 1", "not a mapping"),
    "contexts are no list": ({"contexts": {}}, "contexts is not a list"),
    "a nameless context": ({"contexts": [{"context": {}}]}, "contexts[0] has no name"),
    "a context that is a text": ({"contexts": [{"name": "x", "context": "y"}]}, "context 'x' is not a mapping"),
    "no current context": ({**config(), "current-context": ""}, "has no current context"),
    "a current context that is not there": (
        {**config(), "current-context": "gone"},
        "the current context 'gone' does not exist",
    ),
    "a missing cluster": ({**config(), "clusters": []}, "the cluster 'x', which does not exist"),
    "a missing user": ({**config(), "users": []}, "the user 'x', which does not exist"),
    "a context without a cluster": (
        {"contexts": [{"name": "x", "context": {}}], "current-context": "x"},
        "names no cluster",
    ),
    "no server": (config(server=""), "has no server"),
    "a server that is none": (config(server="ftp://x"), "not an http or https address"),
    "a port that is none": (config(server="https://x:hello"), "not a valid address"),
    "two ways to trust": (
        config(cluster={"certificate-authority-data": PEM, "insecure-skip-tls-verify": True}),
        "keep one",
    ),
    "an authority that is not base64": (config(cluster={"certificate-authority-data": "!"}), "not base64"),
    "an authority that is not there": (config(cluster={"certificate-authority": "gone.pem"}), "cannot be read"),
    "a proxy that is none": (config(cluster={"proxy-url": "gopher://x"}), "proxy-url"),
    "a certificate without a key": (config(user={"client-certificate-data": PEM}), "without client-key"),
    "a key without a certificate": (config(user={"client-key-data": PEM}), "without client-certificate"),
    "token and password": (config(user={"token": "t", "username": "u", "password": "p"}), "keep one"),
    "groups without a user": (config(user={"as-groups": ["g"]}), "without a user"),
    "extra without a user": (config(user={"as-user-extra": {"a": ["b"]}}), "without a user"),
    "groups that are no list": (config(user={"as": "u", "as-groups": "g"}), "as-groups is not a list"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_used_is_said_with_its_place(tmp_path: Path, case: str) -> None:
    document, wanted = BROKEN[case]
    file = write(tmp_path / "config", document)
    with pytest.raises(ConfigurationError) as caught:
        connect(str(file))
    assert wanted in str(caught.value)
    assert str(file) in str(caught.value)


def test_an_unknown_context_is_answered_with_those_there_are(tmp_path: Path) -> None:
    file = write(tmp_path / "config", config("prod"))
    with pytest.raises(UnknownNameError, match=r'no context "prd" in .*; did you mean prod') as caught:
        connect(str(file), "prd")
    assert "prod" in caught.value.hint


def test_a_file_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="gone not found"):
        connect(str(tmp_path / "gone"))


def test_a_folder_or_bytes_are_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        connect(str(tmp_path))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        connect(str(tmp_path / "binary"))


def test_without_any_file_the_places_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    gone = tmp_path / "gone"
    with pytest.raises(ConfigurationError, match="no kubeconfig") as caught:
        connect(environment=environment(gone))
    assert str(gone) in str(caught.value)
    assert "kymatui demo" in caught.value.hint


def test_an_empty_file_has_no_context(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no current context"):
        connect(str(write(tmp_path / "empty", "")))


def test_no_file_at_all_reads_as_none(tmp_path: Path) -> None:
    assert read_kubeconfig(environment={"HOME": str(tmp_path)}) is None
