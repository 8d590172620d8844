"""Who asks: tokens, plugins, impersonation; renewed in time, and never shown."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.credentials import (
    Credential,
    CredentialSource,
    authentication_kind,
    bearer_credential,
    impersonation_headers,
    read_user,
)
from kymatui.adapters.kube.auth.endpoint import Endpoint, jwt_expiry
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.errors import ConfigurationError

API = "client.authentication.k8s.io/v1"
ENDPOINT = Endpoint("https://a.example", authority="PEM", server_name="b.example")


def entry(tmp_path: Path, body: dict[str, Any]) -> KubeconfigEntry:
    return KubeconfigEntry("ann", body, tmp_path / "config")


def credential(tmp_path: Path, body: dict[str, Any], cluster: dict[str, Any] | None = None) -> Credential:
    return read_user(entry(tmp_path, body), ENDPOINT, entry(tmp_path, cluster or {}))()


def plugin(tmp_path: Path, script: str, **more: Any) -> dict[str, Any]:
    """A plugin that is a Python program."""
    file = tmp_path / "plugin.py"
    file.write_text("import json, os, sys, time\n" + script)
    return {"exec": {"apiVersion": API, "command": sys.executable, "args": [str(file)], **more}}


def answering(status: dict[str, Any], version: str = API) -> str:
    return f"print(json.dumps({ {'apiVersion': version, 'kind': 'ExecCredential', 'status': status}!r}))"


def authorization(found: Credential) -> str:
    return dict(found.headers).get("Authorization", "")


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"token": "t"}, "Bearer t"),
        ({"token": "t\n"}, "Bearer t"),
        ({"username": "u", "password": "p"}, "Basic " + base64.b64encode(b"u:p").decode()),
        ({"username": "u"}, "Basic " + base64.b64encode(b"u:").decode()),
        ({}, ""),
    ],
)
def test_tokens_and_passwords(tmp_path: Path, body: dict[str, Any], wanted: str) -> None:
    assert authorization(credential(tmp_path, body)) == wanted


def test_a_token_file_is_read_again_when_it_was_rotated(tmp_path: Path) -> None:
    now = [0.0]
    file = tmp_path / "token"
    file.write_text("one")
    make = read_user(entry(tmp_path, {"tokenFile": str(file)}), ENDPOINT, entry(tmp_path, {}))
    credentials = CredentialSource(make, clock=lambda: now[0])
    assert authorization(credentials.present()) == "Bearer one"
    file.write_text("two")
    assert authorization(credentials.present()) == "Bearer one"
    now[0] = 1e12
    assert authorization(credentials.present()) == "Bearer two"


def test_an_empty_token_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("\n")
    with pytest.raises(ConfigurationError, match="is empty"):
        credential(tmp_path, {"tokenFile": str(file)})


def test_impersonation_is_sent_whole(tmp_path: Path) -> None:
    body = {
        "as": "jane",
        "as-uid": "u-1",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"example.com/Scopes": ["view", "edit"]},
    }
    assert impersonation_headers(entry(tmp_path, body)) == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "u-1"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-example.com%2Fscopes", "view"),
        ("Impersonate-Extra-example.com%2Fscopes", "edit"),
    )


def test_a_plugin_gives_a_token_and_its_end(tmp_path: Path) -> None:
    status = {"token": "issued", "expirationTimestamp": "2030-01-01T00:00:00Z"}
    found = credential(tmp_path, plugin(tmp_path, answering(status)))
    assert authorization(found) == "Bearer issued"
    assert found.expires == 1893456000.0


def test_a_plugin_gives_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "CERT", "clientKeyData": "KEY"}
    found = credential(tmp_path, plugin(tmp_path, answering(status)))
    assert found.certificate is not None
    assert (found.certificate.chain, found.certificate.key) == ("CERT", "KEY")


def test_a_plugin_is_told_that_nobody_is_there_and_gets_no_terminal(tmp_path: Path) -> None:
    script = """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
try:
    open("/dev/tty"); terminal = True
except OSError:
    terminal = False
facts = {"info": info, "stdin": sys.stdin.read(), "terminal": terminal, "extra": os.environ.get("EXTRA")}
print(json.dumps({"apiVersion": info["apiVersion"], "kind": info["kind"], "status": {"token": json.dumps(facts)}}))
"""
    body = plugin(tmp_path, script, provideClusterInfo=True, env=[{"name": "EXTRA", "value": "given"}])
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    facts = json.loads(authorization(credential(tmp_path, body, {"extensions": [extension]})).removeprefix("Bearer "))
    assert facts["stdin"] == ""
    assert facts["terminal"] is False
    assert facts["extra"] == "given"
    assert facts["info"]["spec"]["interactive"] is False
    assert facts["info"]["spec"]["cluster"] == {
        "server": "https://a.example",
        "insecure-skip-tls-verify": False,
        "certificate-authority-data": base64.b64encode(b"PEM").decode(),
        "tls-server-name": "b.example",
        "config": {"audience": "x"},
    }


FAILING: dict[str, tuple[str, str]] = {
    "it fails": ("print('log in first', file=sys.stderr); sys.exit(7)", "exit status 7: log in first"),
    "it says nothing": ("", "did not answer with JSON"),
    "it says something else": ("print('{}')", "did not answer with an ExecCredential"),
    "it speaks another version": (
        answering({"token": "t"}, "client.authentication.k8s.io/v1beta1"),
        "expected client.authentication.k8s.io/v1",
    ),
    "it gives nothing": (answering({}), "neither a token nor a certificate"),
    "it gives half a certificate": (answering({"clientCertificateData": "C"}), "neither a token nor a certificate"),
    "its end is no time": (answering({"token": "t", "expirationTimestamp": "soon"}), "which is not a time"),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_plugin_that_fails_is_an_error_that_names_it(tmp_path: Path, case: str) -> None:
    script, wanted = FAILING[case]
    with pytest.raises(ConfigurationError) as caught:
        credential(tmp_path, plugin(tmp_path, script))
    assert wanted in str(caught.value)
    assert sys.executable in str(caught.value)


def test_a_plugin_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KYMATUI_LOGIN_TIMEOUT", "0.2")
    with pytest.raises(ConfigurationError, match="did not answer within"):
        credential(tmp_path, plugin(tmp_path, "time.sleep(60)"))


@pytest.mark.parametrize(
    ("plan", "wanted"),
    [
        ({"apiVersion": API, "command": "no-such-plugin-here", "installHint": "brew install it"}, "cannot be run"),
        ({"apiVersion": API}, "no command"),
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1", "command": "x"}, "apiVersion"),
        ({"apiVersion": API, "command": "x", "interactiveMode": "Always"}, "needs a terminal"),
        ("text", "no command"),
    ],
)
def test_a_plugin_that_cannot_be_run_is_refused(tmp_path: Path, plan: Any, wanted: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        credential(tmp_path, {"exec": plan})
    assert wanted in str(caught.value)
    if wanted == "cannot be run":
        assert caught.value.hint == "brew install it"


def test_a_plugin_beside_the_kubeconfig_is_found_there(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "plugin"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nimport json\n{answering({'token': 'near'})}\n")
    program.chmod(0o755)
    found = credential(tmp_path, {"exec": {"apiVersion": API, "command": "./bin/plugin"}})
    assert authorization(found) == "Bearer near"


def test_what_was_issued_is_used_until_it_ends() -> None:
    now, made = [100.0], []

    def make() -> Credential:
        made.append(1)
        return bearer_credential(f"t{len(made)}", now[0] + 60)

    credentials = CredentialSource(make, clock=lambda: now[0])
    assert authorization(credentials.present()) == authorization(credentials.present()) == "Bearer t1"
    now[0] += 55
    assert authorization(credentials.present()) == "Bearer t2"


@pytest.mark.parametrize("life", [0.5, 5.0, 9.0, 60.0, 3600.0])
@pytest.mark.parametrize("kept", [True, False], ids=["the plugin answers from its own cache", "each answer is new"])
def test_a_credential_of_a_short_life_is_used_and_renewed_before_it_ends(life: float, kept: bool) -> None:
    now, ends, runs = [1000.0], [1000.0 + life], []

    def make() -> Credential:
        runs.append(now[0])
        if now[0] >= ends[0] or not kept:
            ends[0] = now[0] + life
        return bearer_credential(f"t{ends[0]}", ends[0])

    credentials = CredentialSource(make, clock=lambda: now[0])
    for _ in range(400):  # two lives
        known = credentials.present()
        assert known.expires is not None
        assert known.expires > now[0]
        now[0] += life / 200
    assert len(runs) <= 10


def test_after_a_refusal_only_one_thread_renews_and_the_same_is_not_tried_twice() -> None:
    tokens = iter(["old", "new", "new"])
    credentials = CredentialSource(lambda: bearer_credential(next(tokens)))
    old = credentials.present()
    new = credentials.renewed(old)
    assert new is not None
    assert authorization(new) == "Bearer new"
    assert credentials.renewed(old) is new  # another thread, refused with the old one, takes what is there
    assert credentials.renewed(new) is None  # nothing better came


@pytest.mark.parametrize("name", ["gcp", "azure", None])
def test_auth_providers_that_are_gone_are_refused(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(ConfigurationError, match="use an exec plugin"):
        credential(tmp_path, {"auth-provider": {"name": name}})


def jwt(claims: dict[str, Any]) -> str:
    def part(value: dict[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'none'})}.{part(claims)}.sig"


def test_an_oidc_token_that_holds_is_used(tmp_path: Path) -> None:
    token = jwt({"exp": 4102444800, "pad": "xx"})
    found = credential(tmp_path, {"auth-provider": {"name": "oidc", "config": {"id-token": token}}})
    assert authorization(found) == f"Bearer {token}"
    assert found.expires == 4102444800


def test_an_oidc_user_without_a_token_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no id-token"):
        credential(tmp_path, {"auth-provider": {"name": "oidc", "config": {}}})


@pytest.mark.parametrize(
    ("token", "wanted"),
    [(jwt({"exp": 5}), 5.0), (jwt({}), None), ("a.b.c", None), ("opaque", None), (jwt({"exp": "x"}), None)],
)
def test_the_end_of_a_web_token(token: str, wanted: float | None) -> None:
    assert jwt_expiry(token) == wanted


def test_nothing_secret_is_shown() -> None:
    assert "hush" not in repr(bearer_credential("hush"))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"token": "t"}, "a token"),
        ({"exec": {"command": "kubelogin"}}, "the plugin kubelogin"),
        ({"client-certificate-data": "x"}, "a client certificate"),
        ({}, "no credentials"),
    ],
)
def test_how_a_user_proves_who_it_is(tmp_path: Path, body: dict[str, Any], wanted: str) -> None:
    assert authentication_kind(entry(tmp_path, body)) == wanted


@pytest.mark.parametrize("token", ["SECRET\nTOKEN", "SECRET\rTOKEN", "SECRETÿTOKEN", "SECRET\0TOKEN"])
@pytest.mark.parametrize("kind", ["token", "tokenFile", "exec"])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(tmp_path: Path, token: str, kind: str) -> None:
    if kind == "exec":
        body = plugin(tmp_path, answering({"token": token}))
    elif kind == "tokenFile":
        Path(tmp_path, "token").write_text(token, newline="")
        body = {"tokenFile": str(tmp_path / "token")}
    else:
        body = {"token": token}
    with pytest.raises(ConfigurationError, match="no HTTP header can hold") as caught:
        credential(tmp_path, body)
    assert "SECRET" not in str(caught.value) + caught.value.hint
    assert "TOKEN" not in str(caught.value) + caught.value.hint


def test_a_user_to_impersonate_is_sent_as_utf_8_and_never_breaks_a_header(tmp_path: Path) -> None:
    headers = dict(credential(tmp_path, {"as": "Jürgen"}).headers)
    assert headers["Impersonate-User"].encode("latin-1") == "Jürgen".encode()
    with pytest.raises(ConfigurationError, match="Impersonate-User"):
        credential(tmp_path, {"as": "a\nX-Other: b"})


@pytest.mark.parametrize("args", [5, "word", {"a": 1}])
def test_arguments_of_a_plugin_are_a_list(tmp_path: Path, args: Any) -> None:
    with pytest.raises(ConfigurationError, match="args"):
        credential(tmp_path, {"exec": {"apiVersion": API, "command": sys.executable, "args": args}})


def test_an_empty_variable_of_a_plugin_is_empty(tmp_path: Path) -> None:
    script = (
        f"print(json.dumps(dict(apiVersion={API!r}, kind='ExecCredential', status=dict(token='t' + os.environ['E']))))"
    )
    body = plugin(tmp_path, script, env=[{"name": "E", "value": None}])
    assert authorization(credential(tmp_path, body)) == "Bearer t"


@pytest.mark.parametrize("moment", [-1e300, -1, 1e300, 10**12])
def test_an_impossible_end_of_a_web_token_is_none(moment: float) -> None:
    assert jwt_expiry(jwt({"exp": moment})) is None
