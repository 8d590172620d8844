"""Kubeconfigs of every kind that `docs/guide/kubeconfigs.md` lists, written for one sandbox.

`KUBECTL=PATH python -m tests.kubeconfigs` prints what kubectl and kymatui do with each, as the table's rows.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import re
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml

from tests.adapters.kube.secure import Authority

Json = dict[str, Any]
API = "client.authentication.k8s.io"


@dataclass
class Kubeconfigs:
    """One case: the folder with its files, the environment and the options; `body` is a good kubeconfig to change."""

    folder: Path
    body: Json
    viewer: str
    environment: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    rotation: Callable[[], object] | None = None
    """What happens once the server has rejected the first credential."""
    pod: bool = False
    """Whether `serviceaccount` in the folder is what a Pod has."""

    @property
    def cluster(self) -> Json:
        return self.body["clusters"][0]["cluster"]  # type: ignore[no-any-return]

    @property
    def user(self) -> Json:
        return self.body["users"][0]["user"]  # type: ignore[no-any-return]

    @property
    def context(self) -> Json:
        return self.body["contexts"][0]["context"]  # type: ignore[no-any-return]

    @property
    def token(self) -> str:
        return str(self.user["token"])

    @property
    def authority(self) -> bytes:
        return base64.b64decode(self.cluster["certificate-authority-data"])

    def write(self, body: object, name: str = "config") -> Path:
        """Write a file and let KUBECONFIG name it after those before."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(body if isinstance(body, str) else yaml.safe_dump(body, sort_keys=False))
        known = self.environment.get("KUBECONFIG")
        self.environment["KUBECONFIG"] = f"{known}{os.pathsep}{path}" if known else str(path)
        return path

    def script(self, text: str, name: str = "login.sh") -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path

    def plugin(self, script: str, version: str = "v1", **more: Any) -> None:
        """Let the user log in with a plugin."""
        command = str(self.script(script))
        plan = {"apiVersion": f"{API}/{version}", "command": command, "interactiveMode": "Never", **more}
        self.body["users"][0]["user"] = {"exec": plan}

    def answer(self, token: str, version: str = "v1", **status: Any) -> str:
        body = {"kind": "ExecCredential", "apiVersion": f"{API}/{version}", "status": {"token": token, **status}}
        return f"cat <<'END'\n{json.dumps(body)}\nEND"


def open_case(folder: Path, kubeconfig: Path, viewer: str) -> Kubeconfigs:
    body = yaml.safe_load(kubeconfig.read_text())
    body.pop("extensions", None)
    for plural, name in (("clusters", "one"), ("users", "ann"), ("contexts", "work")):
        body[plural] = [{**body[plural][0], "name": name}]
    body["contexts"][0]["context"] = {"cluster": "one", "user": "ann"}
    body["current-context"] = "work"
    return Kubeconfigs(folder, copy.deepcopy(body), viewer)


CASES: dict[str, Callable[[Kubeconfigs], object]] = {}


def case(title: str) -> Callable[[Callable[[Kubeconfigs], object]], Callable[[Kubeconfigs], object]]:
    def add(build: Callable[[Kubeconfigs], object]) -> Callable[[Kubeconfigs], object]:
        CASES[title] = build
        return build

    return add


@case("one file with a current context")
def _(given: Kubeconfigs) -> None:
    given.write(given.body)


@case("cluster, user and context in three files of KUBECONFIG")
def _(given: Kubeconfigs) -> None:
    for key in ("clusters", "users", "contexts"):
        given.write({key: given.body[key]}, key)
    given.write({"current-context": "work"}, "current")


@case("a user of the same name in two files: the first counts")
def _(given: Kubeconfigs) -> None:
    given.write(given.body)
    given.write({"users": [{"name": "ann", "user": {"token": "wrong"}}]}, "other")


@case("a file of KUBECONFIG that does not exist, and an empty one")
def _(given: Kubeconfigs) -> None:
    given.environment["KUBECONFIG"] = str(given.folder / "missing")
    given.write("", "empty")
    given.write(given.body)


@case("--kubeconfig with a file that does not exist")
def _(given: Kubeconfigs) -> None:
    given.options = ("--kubeconfig", "missing")


@case("no current context")
def _(given: Kubeconfigs) -> None:
    del given.body["current-context"]
    given.write(given.body)


@case("no current context, and --context")
def _(given: Kubeconfigs) -> None:
    del given.body["current-context"]
    given.write(given.body)
    given.options = ("--context", "work")


@case("a current context that does not exist")
def _(given: Kubeconfigs) -> None:
    given.body["current-context"] = "gone"
    given.write(given.body)


@case("a context whose cluster does not exist")
def _(given: Kubeconfigs) -> None:
    given.context["cluster"] = "gone"
    given.write(given.body)


@case("a context whose user does not exist")
def _(given: Kubeconfigs) -> None:
    given.context["user"] = "gone"
    given.write(given.body)


@case("a context without a user")
def _(given: Kubeconfigs) -> None:
    del given.context["user"]
    given.write(given.body)


@case("two contexts of one cluster with two users, and --context")
def _(given: Kubeconfigs) -> None:
    given.body["users"].append({"name": "bob", "user": {"token": given.viewer}})
    given.body["contexts"].append({"name": "view", "context": {"cluster": "one", "user": "bob"}})
    given.write(given.body)
    given.options = ("--context", "view")


@case("--user with another user of the file")
def _(given: Kubeconfigs) -> None:
    given.body["users"].append({"name": "bob", "user": {"token": given.viewer}})
    given.write(given.body)
    given.options = ("--user", "bob")


@case("certificate-authority and tokenFile beside the kubeconfig")
def _(given: Kubeconfigs) -> None:
    (given.folder / "ca.pem").write_bytes(given.authority)
    (given.folder / "token").write_text(f"{given.token}\n")
    del given.cluster["certificate-authority-data"]
    given.cluster["certificate-authority"] = "ca.pem"
    given.body["users"][0]["user"] = {"tokenFile": "token"}
    given.write(given.body)


@case("token and tokenFile: the file counts")
def _(given: Kubeconfigs) -> None:
    (given.folder / "token").write_text(given.token)
    given.body["users"][0]["user"] = {"token": "wrong", "tokenFile": "token"}
    given.write(given.body)


@case("certificate-authority and certificate-authority-data: the data counts")
def _(given: Kubeconfigs) -> None:
    given.cluster["certificate-authority"] = "missing.pem"
    given.write(given.body)


@case("insecure-skip-tls-verify with a certificate authority")
def _(given: Kubeconfigs) -> None:
    given.cluster["insecure-skip-tls-verify"] = True
    given.write(given.body)


@case("insecure-skip-tls-verify alone")
def _(given: Kubeconfigs) -> None:
    del given.cluster["certificate-authority-data"]
    given.cluster["insecure-skip-tls-verify"] = True
    given.write(given.body)


@case("no certificate authority for a private one")
def _(given: Kubeconfigs) -> None:
    del given.cluster["certificate-authority-data"]
    given.write(given.body)


@case("tls-server-name that the certificate does not have")
def _(given: Kubeconfigs) -> None:
    given.cluster["tls-server-name"] = "other.example"
    given.write(given.body)


@case("a token that the server rejects")
def _(given: Kubeconfigs) -> None:
    given.user["token"] = "wrong"
    given.write(given.body)


@case("a token and a user name with password")
def _(given: Kubeconfigs) -> None:
    given.user.update(username="ann", password="secret")
    given.write(given.body)


@case("as: impersonation of a user")
def _(given: Kubeconfigs) -> None:
    given.user["as"] = "jane"
    given.write(given.body)


@case("as-groups without as")
def _(given: Kubeconfigs) -> None:
    given.user["as-groups"] = ["devs"]
    given.write(given.body)


@case("exec of version v1 with a path relative to the kubeconfig")
def _(given: Kubeconfigs) -> None:
    token = given.token
    given.plugin(given.answer(token), command="./login.sh")
    given.write(given.body)


@case("exec with provideClusterInfo")
def _(given: Kubeconfigs) -> None:
    answer = given.answer(given.token)
    check = 'case "$KUBERNETES_EXEC_INFO" in *\'"server":\'*) ;; *) echo "no cluster" >&2; exit 7;; esac'
    given.plugin(f"{check}\n{answer}", provideClusterInfo=True)
    given.write(given.body)


@case("exec of version v1beta1")
def _(given: Kubeconfigs) -> None:
    given.plugin(given.answer(given.token, "v1beta1"), "v1beta1")
    given.write(given.body)


@case("exec of version v1alpha1")
def _(given: Kubeconfigs) -> None:
    given.plugin(given.answer(given.token, "v1alpha1"), "v1alpha1")
    given.write(given.body)


@case("exec that answers in another version")
def _(given: Kubeconfigs) -> None:
    given.plugin(given.answer(given.token, "v1beta1"), "v1")
    given.write(given.body)


@case("exec whose command is not installed, with installHint")
def _(given: Kubeconfigs) -> None:
    given.plugin("", command="kubectl-missing_login", installHint="get it from example.com")
    given.write(given.body)


@case("exec that fails")
def _(given: Kubeconfigs) -> None:
    given.plugin("echo 'no network for you' >&2; exit 3")
    given.write(given.body)


@case("exec that answers with an expired credential")
def _(given: Kubeconfigs) -> None:
    given.plugin(given.answer("wrong", expirationTimestamp="2020-01-01T00:00:00Z"))
    given.write(given.body)


@case("exec of version v1 without interactiveMode")
def _(given: Kubeconfigs) -> None:
    given.plugin(given.answer(given.token))
    del given.user["exec"]["interactiveMode"]
    given.write(given.body)


@case("exec and a token: the token counts")
def _(given: Kubeconfigs) -> None:
    token = given.token
    given.plugin("exit 1")
    given.user["token"] = token
    given.write(given.body)


@case("auth-provider gcp")
def _(given: Kubeconfigs) -> None:
    given.body["users"][0]["user"] = {"auth-provider": {"name": "gcp"}}
    given.write(given.body)


@case("a server without a scheme")
def _(given: Kubeconfigs) -> None:
    given.cluster["server"] = given.cluster["server"].removeprefix("https://")
    given.write(given.body)


@case("a server with a slash at its end")
def _(given: Kubeconfigs) -> None:
    given.cluster["server"] += "/"
    given.write(given.body)


@case("proxy-url of a proxy that does not run")
def _(given: Kubeconfigs) -> None:
    given.cluster["proxy-url"] = "http://127.0.0.1:9"
    given.write(given.body)


@case("JSON, and unknown fields")
def _(given: Kubeconfigs) -> None:
    given.user["unknown"] = given.body["unknown"] = {"a": 1}
    given.write(json.dumps(given.body))


@case("without apiVersion and kind")
def _(given: Kubeconfigs) -> None:
    del given.body["apiVersion"], given.body["kind"]
    given.write(given.body)


@case("another apiVersion")
def _(given: Kubeconfigs) -> None:
    given.body["apiVersion"] = "v2"
    given.write(given.body)


@case("a file that is not YAML")
def _(given: Kubeconfigs) -> None:
    given.write("clusters: [")


@case("a list where a mapping belongs")
def _(given: Kubeconfigs) -> None:
    given.body["users"][0]["user"] = []
    given.write(given.body)


@case("a folder instead of a file")
def _(given: Kubeconfigs) -> None:
    given.environment["KUBECONFIG"] = str(given.folder)


@case("no kubeconfig, and not in a Pod")
def _(given: Kubeconfigs) -> None:
    given.environment["KUBECONFIG"] = ""


@case("exec that answers with a client certificate")
def _(given: Kubeconfigs) -> None:
    authority = Authority()
    pair = authority.user("ann", "devs")
    given.cluster["server"] = certificate_door(given.cluster["server"], given.token, authority)
    given.cluster["certificate-authority-data"] = base64.b64encode(authority.pem.encode()).decode()
    status = {"clientCertificateData": pair.certificate, "clientKeyData": pair.key}
    given.plugin(given.answer("", **status))
    given.write(given.body)


@case("a token that is replaced in the file while the program runs")
def _(given: Kubeconfigs) -> None:
    good = copy.deepcopy(given.body)
    given.user["token"] = "old"
    path = given.write(given.body)
    given.rotation = lambda: path.write_text(yaml.safe_dump(good))


@case("no kubeconfig, in a Pod with a ServiceAccount")
def _(given: Kubeconfigs) -> None:
    host, _, port = given.cluster["server"].removeprefix("https://").partition(":")
    given.environment.update(KUBECONFIG="", KUBERNETES_SERVICE_HOST=host, KUBERNETES_SERVICE_PORT=port)
    account = given.folder / "serviceaccount"
    account.mkdir()
    (account / "ca.crt").write_bytes(given.authority)
    (account / "token").write_text(given.token)
    given.pod = True


def certificate_door(server: str, token: str, authority: Authority) -> str:
    """Serve a sandbox, which knows tokens only, to owners of a certificate of the authority; return the address."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            trusting = ssl._create_unverified_context()
            sandbox = HTTPSConnection(server.removeprefix("https://"), context=trusting)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with closing(sandbox):
                sandbox.request(self.command, self.path, body, {**headers, "Authorization": f"Bearer {token}"})
                answer = sandbox.getresponse()
                content = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.getheader("Content-Type") or "")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    door = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.pem)
    own = authority.server("127.0.0.1")
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(own.certificate + own.key)
        file.flush()
        context.load_cert_chain(file.name)
    door.socket = context.wrap_socket(door.socket, server_side=True)
    threading.Thread(target=door.serve_forever, daemon=True).start()
    return f"https://127.0.0.1:{door.server_address[1]}"


def redacted(text: str, given: Kubeconfigs) -> str:
    """Return a message without what differs from run to run."""
    text = text.replace(str(given.folder), "DIR")
    text = re.sub(r"127\.0\.0\.1:(?!9\b)\d+", "HOST", text)
    text = re.sub(r"[EWI]\d{4} [\d:.]+ +\d+ \S+\] ", "", text)
    return " ".join(text.split())


def outcome(status: int, out: str, err: str, given: Kubeconfigs) -> str:
    if status == 0:
        return f"works as {out.strip()}"
    lines = [line for line in err.strip().splitlines() if line.strip()]
    return redacted(lines[-1] if lines else "", given)


def run_kubectl(kubectl: str, given: Kubeconfigs) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(given.folder / "home"), **given.environment}
    words = [kubectl, *given.options, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"]
    words += ["--request-timeout", "20s"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=given.folder, timeout=60)
    return outcome(done.returncode, done.stdout, done.stderr, given)


def run_kymatui(given: Kubeconfigs) -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(given.folder / "home"), **given.environment}
    words = [sys.executable, "-m", "kymatui", "rights", "-o", "json", *given.options]
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
    done = subprocess.run(words, env=environment, capture_output=True, text=True, cwd=given.folder, timeout=60)
    if done.stdout.startswith("{") and "user" in (answer := json.loads(done.stdout)):
        return f"works as {answer['user']}"
    line = next((line for line in done.stderr.splitlines() if line.startswith("kymatui: ")), done.stderr)
    return redacted(line.removeprefix("kymatui: "), given)


def main() -> None:
    from tests.sandboxes.starting import ready_sandbox

    kubectl = os.environ.get("KUBECTL", "kubectl")
    with ready_sandbox("kcp", empty=False, settled=False, viewer_token="viewer") as running:
        for title, build in CASES.items():
            with tempfile.TemporaryDirectory() as folder:
                given = open_case(Path(folder), running.kubeconfig, "viewer")
                build(given)
                print(f"| {title} | {run_kubectl(kubectl, given)} | {run_kymatui(given)} |", flush=True)


if __name__ == "__main__":
    main()
