"""Credential plugins of a kubeconfig (`users[].user.exec`), run without a terminal.

Versions client.authentication.k8s.io/v1 and v1beta1. Standard input is closed, standard error is saved for the
message, and the plugin receives `interactive: false`. A plugin that needs a terminal (`interactiveMode: Always`) is
refused.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kymatui.adapters.kube.auth.endpoint import Endpoint, entry_error
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.domain.kubernetes.object_meta import parse_time
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_PATIENCE = 60.0  # seconds: a plugin may ask a login server, but cannot prompt


class ExecCredential(Struct, frozen=True):
    """The answer of a plugin; `expires` in Unix seconds, None if it does not expire."""

    token: str
    certificate: str
    key: str
    expires: float | None


def run_plugin(
    user: KubeconfigEntry, endpoint: Endpoint, cluster: KubeconfigEntry, *, timeout: float = _PATIENCE
) -> ExecCredential:
    """Run the plugin once and return its credential. Raise ConfigurationError, with the plugin's name."""
    plan = user.body["exec"]
    if not isinstance(plan, Mapping) or not isinstance(plan.get("command"), str) or not plan["command"]:
        raise entry_error(user, "user", "its exec has no command")
    version = plan.get("apiVersion")
    if version not in _VERSIONS:
        raise entry_error(
            user, "user", f"its exec has the apiVersion {version!r}; supported are {', '.join(_VERSIONS)}"
        )
    if plan.get("interactiveMode") == "Always":
        raise entry_error(user, "user", f"its plugin {plan['command']} needs a terminal (interactiveMode: Always)")
    output = _run(user, plan, _exec_info(str(version), plan, endpoint, cluster), timeout)
    return _read(plan["command"], str(version), output)


def _exec_info(version: str, plan: Mapping[str, Any], endpoint: Endpoint, cluster: KubeconfigEntry) -> str:
    spec: dict[str, Any] = {"interactive": False}
    if plan.get("provideClusterInfo") is True:
        spec["cluster"] = _cluster_info(endpoint, cluster)
    return json.dumps({"apiVersion": version, "kind": "ExecCredential", "spec": spec})


def _cluster_info(endpoint: Endpoint, cluster: KubeconfigEntry) -> dict[str, Any]:
    info: dict[str, Any] = {"server": endpoint.server, "insecure-skip-tls-verify": endpoint.insecure}
    if endpoint.authority:
        info["certificate-authority-data"] = base64.b64encode(endpoint.authority.encode()).decode()
    if endpoint.server_name:
        info["tls-server-name"] = endpoint.server_name
    if endpoint.proxy:
        info["proxy-url"] = endpoint.proxy
    extensions = cluster.body.get("extensions")
    for item in extensions if isinstance(extensions, list) else ():
        if isinstance(item, Mapping) and item.get("name") == "client.authentication.k8s.io/exec":
            info["config"] = item.get("extension")
    return info


def _run(user: KubeconfigEntry, plan: Mapping[str, Any], exec_info: str, timeout: float) -> bytes:
    command = _command(str(plan["command"]), user)
    arguments = plan.get("args") or []
    if not isinstance(arguments, list):
        raise entry_error(user, "user", "the args of its exec are not a list")
    environment = {**os.environ, **_variables(plan), "KUBERNETES_EXEC_INFO": exec_info}
    try:
        done = subprocess.run(  # noqa: S603 (the user's own kubeconfig names it, as for every Kubernetes client)
            [command, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            timeout=timeout,
            check=False,
            start_new_session=True,  # without a controlling terminal it cannot open /dev/tty to prompt
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(command, f"did not answer within {timeout:.0f} s") from error
    except OSError as error:
        install_hint = plan.get("installHint")
        hint = str(install_hint).strip() if install_hint else "install it, or put it on the PATH"
        raise ConfigurationError(
            f"the credential plugin {command} cannot be run: {error.strerror}", hint=hint
        ) from error
    if done.returncode != 0:
        stderr = done.stderr.decode(errors="replace").strip()[-2000:]
        raise _failed(command, f"failed with exit status {done.returncode}" + (f": {stderr}" if stderr else ""))
    return done.stdout


def _command(command: str, user: KubeconfigEntry) -> str:
    """Return the command: a path with a slash relative to the kubeconfig, a bare name for PATH."""
    if os.sep in command and not os.path.isabs(command):
        return os.path.normpath(user.file.parent / command)
    return command


def _variables(plan: Mapping[str, Any]) -> dict[str, str]:
    items = plan.get("env") or ()
    return {
        str(item["name"]): str(item.get("value") or "")
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, Mapping) and "name" in item
    }


def _read(command: str, version: str, output: bytes) -> ExecCredential:
    try:
        answer = read_json(output)
    except ValueError as error:
        raise _failed(command, "did not answer with JSON") from error
    if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
        raise _failed(command, "did not answer with an ExecCredential")
    if answer.get("apiVersion") != version:
        raise _failed(command, f"answered in {answer.get('apiVersion')!r}, expected {version}")
    status = answer.get("status")
    fields = status if isinstance(status, dict) else {}
    token, certificate, key = (
        str(fields.get(name) or "") for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not (certificate and key):
        raise _failed(command, "answered with neither a token nor a certificate with its key")
    return ExecCredential(token, certificate, key, _expiry(command, fields.get("expirationTimestamp")))


def _expiry(command: str, text: object) -> float | None:
    if not text:
        return None
    moment = parse_time(str(text))
    if moment is None:
        raise _failed(command, f"gave {text!r} as expirationTimestamp, which is not a time")
    return moment


def _failed(command: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"the credential plugin {command} {reason}", hint="run it in a terminal; it may ask you to log in"
    )
