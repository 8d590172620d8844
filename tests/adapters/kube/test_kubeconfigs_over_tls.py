"""Kubeconfigs from the file to the wire: what a real server, or a proxy before it, gets to see."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Request, Transport
from kymatui.errors import ConfigurationError, KymatuiError, UnreachableError
from tests.adapters.kube.secure import (
    Authority,
    Seen,
    Server,
    base64_of,
    connect_proxy,
    plain_serving,
    secure_serving,
    socks_proxy,
)

Json = dict[str, Any]
GET = Request("GET", "/api/v1/pods", [("limit", "1")])
EXEC = "client.authentication.k8s.io/v1"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture
def server(authority: Authority, tmp_path: Path) -> Iterator[Server]:
    with secure_serving(authority, tmp_path) as found:
        yield found


class Kubeconfig:
    """A kubeconfig with one context, in parts that a test may change."""

    def __init__(self, address: str, authority: Authority | None) -> None:
        self.cluster: Json = {"server": address}
        if authority is not None:
            self.cluster["certificate-authority-data"] = base64_of(authority.pem)[0]
        self.user: Json = {"token": "t"}
        self.context: Json = {"cluster": "c", "user": "u"}

    def write(self, file: Path, *, name: str = "one", current: str = "one") -> Path:
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": self.cluster}],
            "users": [{"name": "u", "user": self.user}],
            "contexts": [{"name": name, "context": self.context}],
            "current-context": current,
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
        return file


@pytest.fixture
def config(server: Server, authority: Authority) -> Kubeconfig:
    return Kubeconfig(f"https://{server.address}", authority)


def ask(server: Server, kubeconfig: str | Path = "", context: str = "", environment: Json | None = None) -> Seen:
    """Sends one request by a kubeconfig; returns what the server saw of it."""
    transport = Transport(connect(str(kubeconfig), context, environment=environment), sleep=lambda _: None)
    transport.send(GET)
    transport.close()
    return server.seen[-1]


def refused(server: Server, kubeconfig: Path) -> KymatuiError:
    """The error of a kubeconfig that cannot be used; nothing may have reached the server."""
    with pytest.raises(KymatuiError) as caught:
        ask(server, kubeconfig)
    assert server.seen == [], "a request without the credential left"
    return caught.value


# several files


def test_files_of_the_environment_are_merged(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    """Context, cluster and user may stand in three files; the first that says something wins; missing ones pass."""
    whole = json.loads(config.write(tmp_path / "whole").read_text())
    parts = {}
    for part in ("contexts", "clusters", "users"):
        parts[part] = tmp_path / part
        parts[part].write_text(json.dumps({part: whole[part]}))
    rival = json.loads(json.dumps(whole))
    rival["clusters"][0]["cluster"]["server"] = "https://rival.example"
    rival["users"][0]["user"] = {"token": "rival"}
    last = tmp_path / "last"
    last.write_text(json.dumps(rival))
    files = [tmp_path / "missing", *parts.values(), last]
    found = ask(server, environment={"KUBECONFIG": os.pathsep.join(map(str, files)), "HOME": "/nowhere"})
    assert found.header("Authorization") == "Bearer t"
    assert found.path == "/api/v1/pods?limit=1"


def test_the_context_that_is_asked_for_is_used(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.user = {"token": "of-two"}
    file = config.write(tmp_path / "k", name="two", current="gone")
    assert ask(server, file, "two").header("Authorization") == "Bearer of-two"


def test_the_home_directory_has_the_last_word(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.write(tmp_path / ".kube" / "config")
    assert ask(server, environment={"HOME": str(tmp_path)}).header("Authorization") == "Bearer t"


def test_a_file_that_nobody_may_look_at_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(path: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "exists", forbid)
    monkeypatch.setattr(Path, "read_text", lambda path, **_: forbid(path))
    for file, environment in ((str(tmp_path / "k"), {}), ("", {"KUBECONFIG": str(tmp_path / "k")})):
        with pytest.raises(ConfigurationError, match="cannot be read: Permission denied"):
            connect(file, environment=environment)


# who asks


@pytest.mark.parametrize(
    ("user", "wanted"),
    [
        ({"token": "plain"}, "Bearer plain"),
        ({"tokenFile": "token"}, "Bearer filed"),
        ({"tokenFile": "token", "token": "plain"}, "Bearer filed"),
        ({"tokenFile": "gone", "token": "plain"}, "Bearer plain"),
        ({"tokenFile": "empty", "token": "plain"}, "Bearer plain"),
        ({"username": "ann", "password": "p:w"}, "Basic " + base64.b64encode(b"ann:p:w").decode()),
        ({}, None),
    ],
    ids=["token", "file", "file before token", "file gone", "file empty", "password", "nobody"],
)
def test_tokens_and_passwords(
    server: Server, config: Kubeconfig, tmp_path: Path, user: Json, wanted: str | None
) -> None:
    (tmp_path / "token").write_text("filed\n")
    (tmp_path / "empty").touch()
    config.user = user
    assert ask(server, config.write(tmp_path / "k")).header("Authorization") == wanted


@pytest.mark.parametrize("form", ["data", "files"])
def test_client_certificates(
    authority: Authority, config: Kubeconfig, server: Server, tmp_path: Path, form: str
) -> None:
    pair = authority.user("ann", "operators")
    chain, key = base64_of(pair.certificate, pair.key)
    config.user = {"client-certificate-data": chain, "client-key-data": key}
    if form == "files":
        (tmp_path / "ann.crt").write_text(pair.certificate)
        (tmp_path / "ann.key").write_text(pair.key)
        config.user = {"client-certificate": "ann.crt", "client-key": "ann.key"}
    found = ask(server, config.write(tmp_path / "k"))
    assert (found.subject, found.header("Authorization")) == ("ann/operators", None)


def test_a_server_that_wants_a_certificate_and_gets_none_is_said(authority: Authority, tmp_path: Path) -> None:
    with secure_serving(authority, tmp_path, only_certified=True) as strict:
        config = Kubeconfig(f"https://{strict.address}", authority)
        with pytest.raises(UnreachableError):
            ask(strict, config.write(tmp_path / "k"))


def test_impersonation_goes_with_every_request(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.user = {
        "token": "t",
        "as": "jane",
        "as-uid": "u-1",
        "as-groups": ["dev", "ops"],
        "as-user-extra": {"example.com/Scopes": ["view", "edit"], "reason": ["on call"]},
    }
    found = ask(server, config.write(tmp_path / "k"))
    assert found.header("Authorization") == "Bearer t"
    assert found.all("Impersonate-") == [
        ("Impersonate-Extra-example.com%2Fscopes", "edit"),
        ("Impersonate-Extra-example.com%2Fscopes", "view"),
        ("Impersonate-Extra-reason", "on call"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Uid", "u-1"),
        ("Impersonate-User", "jane"),
    ]


# plugins


def plugin(folder: Path, script: str, **more: Any) -> Json:
    file = folder / "plugin.py"
    file.write_text(f"import json, os, sys\n{script}")
    return {"exec": {"apiVersion": EXEC, "command": sys.executable, "args": [str(file)], **more}}


def answer(status: Json) -> str:
    return f"print({json.dumps({'apiVersion': EXEC, 'kind': 'ExecCredential', 'status': status})!r})\n"


def test_a_plugin_gives_a_token(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.user = plugin(tmp_path, answer({"token": "issued"}), interactiveMode="IfAvailable")
    assert ask(server, config.write(tmp_path / "k")).header("Authorization") == "Bearer issued"


def test_a_plugin_gives_a_certificate(server: Server, config: Kubeconfig, authority: Authority, tmp_path: Path) -> None:
    pair = authority.user("bot", "plugins")
    config.user = plugin(tmp_path, answer({"clientCertificateData": pair.certificate, "clientKeyData": pair.key}))
    assert ask(server, config.write(tmp_path / "k")).subject == "bot/plugins"


def test_a_token_beside_a_plugin_comes_first(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.user = {**plugin(tmp_path, "sys.exit(1)"), "token": "kept"}
    assert ask(server, config.write(tmp_path / "k")).header("Authorization") == "Bearer kept"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("print('log in first', file=sys.stderr); sys.exit(3)", "failed with exit status 3: log in first"),
        ("print('welcome!')", "did not answer with JSON"),
        (answer({}), "neither a token nor a certificate"),
    ],
)
def test_a_plugin_that_fails_is_an_error_and_never_an_anonymous_request(
    server: Server, config: Kubeconfig, tmp_path: Path, script: str, said: str
) -> None:
    config.user = plugin(tmp_path, script)
    assert said in str(refused(server, config.write(tmp_path / "k")))


def test_a_plugin_that_is_not_installed_is_an_error_with_its_own_hint(
    server: Server, config: Kubeconfig, tmp_path: Path
) -> None:
    config.user = {"exec": {"apiVersion": EXEC, "command": "no-such-login", "installHint": "brew install it"}}
    assert refused(server, config.write(tmp_path / "k")).hint == "brew install it"


def test_a_plugin_that_must_ask_is_refused_unasked(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.user = plugin(tmp_path, f"open({str(tmp_path / 'ran')!r}, 'w')", interactiveMode="Always")
    assert "needs a terminal" in str(refused(server, config.write(tmp_path / "k")))
    assert not (tmp_path / "ran").exists()


def test_a_plugin_cannot_take_the_terminal(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    """On a real terminal: a process whose controlling terminal it is runs the plugin, which tries to ask there."""
    config.user = plugin(
        tmp_path,
        """
try:
    with open("/dev/tty", "w") as terminal:
        terminal.write("password: ")
        token = "took the terminal"
except OSError:
    token = "found no terminal"
if sys.stdin.read() or sys.stdin.isatty():
    token += " but an input"
sys.stderr.write("press any key\\n")
"""
        + "print(json.dumps({'apiVersion': '"
        + EXEC
        + "', 'kind': 'ExecCredential', 'status': {'token': token}}))",
        interactiveMode="IfAvailable",
    )
    file = config.write(tmp_path / "k")
    code = "import sys; from kymatui.adapters.kube.auth.connection import connect; "
    code += "print(connect(sys.argv[1]).credentials.present().headers)"
    on_a_terminal = "import pty, sys; pty.spawn(sys.argv[1:])"
    command = [sys.executable, "-c", on_a_terminal, sys.executable, "-c", code, str(file)]
    text = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60).stdout
    assert "Bearer found no terminal" in text
    assert "password" not in text
    assert "press any key" not in text


# where it goes


@pytest.mark.parametrize("form", ["data", "file"])
def test_authorities(server: Server, config: Kubeconfig, authority: Authority, tmp_path: Path, form: str) -> None:
    if form == "file":
        (tmp_path / "ca.crt").write_text(authority.pem)
        del config.cluster["certificate-authority-data"]
        config.cluster["certificate-authority"] = "ca.crt"
    assert ask(server, config.write(tmp_path / "k"))


def test_what_is_named_is_trusted_be_it_a_root_or_not(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    """As with kubectl: here the server's own certificate, which somebody else signed."""
    config.cluster["certificate-authority-data"] = base64_of(server.certificate)[0]
    assert ask(server, config.write(tmp_path / "k"))


def test_another_authority_is_not_trusted(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.cluster["certificate-authority-data"] = base64_of(Authority("somebody else").pem)[0]
    assert "no TLS connection" in str(refused(server, config.write(tmp_path / "k")))


def test_without_verification_because_it_was_asked_for(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.cluster = {"server": f"https://{server.address}", "insecure-skip-tls-verify": True}
    assert ask(server, config.write(tmp_path / "k"))


def test_the_name_in_the_certificate_may_be_another_one(authority: Authority, tmp_path: Path) -> None:
    with secure_serving(authority, tmp_path, "api.cluster.example") as server:
        config = Kubeconfig(f"https://{server.address}", authority)
        assert "tls-server-name" in refused(server, config.write(tmp_path / "k")).hint
        config.cluster["tls-server-name"] = "api.cluster.example"
        assert ask(server, config.write(tmp_path / "k"))


def test_a_path_before_the_api_is_kept(server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.cluster["server"] += "/k8s/clusters/c-1/"
    assert ask(server, config.write(tmp_path / "k")).path == "/k8s/clusters/c-1/api/v1/pods?limit=1"


# proxies


@pytest.fixture
def far(authority: Authority, tmp_path: Path) -> Iterator[tuple[Server, Kubeconfig, dict[str, int]]]:
    """A server that only a proxy reaches, by a name that nobody else resolves."""
    with secure_serving(authority, tmp_path, "api.far.example") as server:
        yield server, Kubeconfig("https://api.far.example:6443", authority), {"api.far.example:6443": server.port}


@pytest.mark.parametrize("variable", ["", "api.far.example", "*"])
def test_the_proxy_of_the_kubeconfig_is_asked_whatever_the_environment_says(
    far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    server, config, route = far
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", variable)
    with connect_proxy(route) as proxy:
        config.cluster["proxy-url"] = f"http://127.0.0.1:{proxy.port}"
        assert ask(server, config.write(tmp_path / "k")).header("Authorization") == "Bearer t"
    assert proxy.targets == ["api.far.example:6443"]
    assert proxy.logins == [""]


def test_user_and_password_of_a_proxy_are_sent_to_it_alone(
    far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path
) -> None:
    server, config, route = far
    login = "Basic " + base64.b64encode(b"ann:p@ss").decode()
    with connect_proxy(route, login) as proxy:
        config.cluster["proxy-url"] = f"http://ann:p%40ss@127.0.0.1:{proxy.port}"
        found = ask(server, config.write(tmp_path / "k"))
    assert proxy.logins == [login]
    assert found.header("Proxy-Authorization") is None


def test_a_proxy_that_turns_us_away_is_said(far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path) -> None:
    server, config, route = far
    with connect_proxy(route, "Basic nobody") as proxy:
        config.cluster["proxy-url"] = f"http://127.0.0.1:{proxy.port}"
        error = refused(server, config.write(tmp_path / "k"))
    address = f"http://127.0.0.1:{proxy.port} (proxy-url of the kubeconfig)"
    assert str(error) == (
        f"the proxy {address} refuses the connection to https://api.far.example:6443: 407 Proxy Authentication Required"
    )
    assert "USER:PASSWORD" in error.hint


@pytest.mark.parametrize(
    ("scheme", "message"), [("http", "refuses the connection to"), ("socks5", "does not connect to")]
)
def test_a_proxy_that_does_not_reach_the_server_is_said(
    far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path, scheme: str, message: str
) -> None:
    server, config, _ = far
    opened = connect_proxy({}) if scheme == "http" else socks_proxy({})
    with opened as proxy:
        config.cluster["proxy-url"] = f"{scheme}://127.0.0.1:{proxy.port}"
        error = refused(server, config.write(tmp_path / "k"))
    assert f"the proxy {scheme}://127.0.0.1:{proxy.port} (proxy-url of the kubeconfig) {message}" in str(error)
    assert "https://api.far.example:6443" in str(error)


@pytest.mark.parametrize("scheme", ["http", "https", "socks5", "socks5h"])
@pytest.mark.parametrize("setting", ["proxy-url of the kubeconfig", "HTTPS_PROXY", "https_proxy"])
def test_a_proxy_that_does_not_run_is_what_refuses_connections(
    far: tuple[Server, Kubeconfig, dict[str, int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    setting: str,
) -> None:
    server, config, _ = far
    address = f"{scheme}://ann:SECRET@127.0.0.1:{free_port()}"
    for variable in ("HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    if setting.startswith("proxy-url"):
        config.cluster["proxy-url"] = address
    else:
        monkeypatch.setenv(setting, address)
    error = refused(server, config.write(tmp_path / "k"))
    assert str(error) == f"the proxy {address.replace('ann:SECRET@', '')} ({setting}) refuses connections"
    assert setting in error.hint


def test_a_proxy_whose_name_is_unknown_is_said(far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path) -> None:
    server, config, _ = far
    for scheme in ("http", "socks5"):
        config.cluster["proxy-url"] = f"{scheme}://proxy.invalid:3128"
        error = refused(server, config.write(tmp_path / "k"))
        assert f"the name of the proxy {scheme}://proxy.invalid:3128" in str(error)


def test_a_socks_proxy_gets_user_and_password(far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path) -> None:
    server, config, route = far
    with socks_proxy(route, "ann:p@s:s") as proxy:
        config.cluster["proxy-url"] = f"socks5://ann:p%40s%3As@127.0.0.1:{proxy.port}"
        assert ask(server, config.write(tmp_path / "k")).header("Authorization") == "Bearer t"
        server.seen.clear()
        config.cluster["proxy-url"] = f"socks5://ann:other@127.0.0.1:{proxy.port}"
        error = refused(server, config.write(tmp_path / "k"))
    assert "refuses the login" in str(error)
    assert "other" not in f"{error} {error.hint}"


@pytest.mark.parametrize("scheme", ["socks5", "socks5h"])
def test_a_socks_proxy_resolves_the_name_itself(
    far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path, scheme: str
) -> None:
    server, config, route = far
    with socks_proxy(route) as proxy:
        config.cluster["proxy-url"] = f"{scheme}://127.0.0.1:{proxy.port}"
        assert ask(server, config.write(tmp_path / "k")).header("Authorization") == "Bearer t"
    assert proxy.targets == ["api.far.example:6443"]


def test_the_proxy_of_the_environment_is_asked_where_the_kubeconfig_has_none(
    far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, config, route = far
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with connect_proxy(route) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        assert ask(server, config.write(tmp_path / "k"))
        monkeypatch.setenv("NO_PROXY", "far.example")
        with pytest.raises(UnreachableError, match="cannot be resolved"):
            ask(server, config.write(tmp_path / "k"))
    assert proxy.targets == ["api.far.example:6443"]


def test_a_socks_proxy_of_the_environment_resolves_the_name(
    far: tuple[Server, Kubeconfig, dict[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, config, route = far
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with socks_proxy(route) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"socks5://127.0.0.1:{proxy.port}")
        assert ask(server, config.write(tmp_path / "k"))
    assert proxy.targets == ["api.far.example:6443"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


# in a pod


@pytest.fixture
def pod(authority: Authority, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a pod finds of its service account."""
    account = tmp_path / "serviceaccount"
    account.mkdir()
    (account / "token").write_text("first")
    (account / "ca.crt").write_text(authority.pem)
    (account / "namespace").write_text("team-a")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", str(server.port))
    module = "kubernetes.config.incluster_config"
    monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(account / "token"))
    monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(account / "ca.crt"))
    monkeypatch.setattr("kymatui.adapters.kube.auth.connection._NAMESPACE_FILE", account / "namespace")
    return account


def test_a_pod_uses_its_service_account(pod: Path, server: Server, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path / "nobody")}
    assert ask(server, environment=environment).header("Authorization") == "Bearer first"
    assert connect(environment=environment).namespace == "team-a"
    (pod / "token").write_text("rotated")
    assert ask(server, environment=environment).header("Authorization") == "Bearer rotated"


def test_a_kubeconfig_in_a_pod_comes_first(pod: Path, server: Server, config: Kubeconfig, tmp_path: Path) -> None:
    config.write(tmp_path / ".kube" / "config")
    assert ask(server, environment={"HOME": str(tmp_path)}).header("Authorization") == "Bearer t"


def test_plain_http_is_spoken_where_the_kubeconfig_says_so(tmp_path: Path) -> None:
    with plain_serving() as server:
        assert ask(server, Kubeconfig(f"http://{server.address}", None).write(tmp_path / "k"))
