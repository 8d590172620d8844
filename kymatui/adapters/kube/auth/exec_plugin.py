"""Credential plugins of a kubeconfig (`users[].user.exec`), as kubectl runs them.

Versions client.authentication.k8s.io/v1 and v1beta1. What a plugin prints on standard error is displayed while it runs
(`logins`). With `interactiveMode: Always` it needs the terminal and is refused without one; with `IfAvailable`, the
default, it gets one if the front end has one; with `Never` its standard input is closed.
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, Final

from msgspec import Struct

from kymatui.adapters.kube.auth.endpoint import Endpoint, entry_error
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.domain.kubernetes.json_reader import mapping_at, objects_at
from kymatui.domain.kubernetes.object_meta import parse_time
from kymatui.domain.kubernetes.terminal_text import sanitize_lines
from kymatui.engine.cluster.logins import LOGINS, POLL_SECONDS, Login, PluginResult, login_limit
from kymatui.errors import ConfigurationError
from kymatui.json_input import read_json

_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_LARGEST_OUTPUT: Final = 1 << 20  # bytes of a credential
_CHUNK: Final = 4096
_DRAIN: Final = 0.5  # seconds for pipes that a grandchild keeps open
_MODES = ("Never", "IfAvailable", "Always")


class ExecCredential(Struct, frozen=True):
    """The answer of a plugin; `expires` in Unix seconds, None if it does not expire."""

    token: str
    certificate: str
    key: str
    expires: float | None


def run_plugin(user: KubeconfigEntry, endpoint: Endpoint, cluster: KubeconfigEntry) -> ExecCredential:
    """Run the plugin once and return its credential. Raise ConfigurationError, with the plugin's name."""
    plan = user.body["exec"]
    if not isinstance(plan, Mapping) or not isinstance(plan.get("command"), str) or not plan["command"]:
        raise entry_error(user, "user", "its exec has no command")
    version = plan.get("apiVersion")
    if version not in _VERSIONS:
        raise entry_error(
            user, "user", f"its exec has the apiVersion {version!r}; supported are {', '.join(_VERSIONS)}"
        )
    mode = plan.get("interactiveMode") or "IfAvailable"
    if mode not in _MODES:
        raise entry_error(user, "user", f"its exec has the interactiveMode {mode!r}; use {', '.join(_MODES)}")
    info = _exec_info(str(version), plan, endpoint, cluster)
    return _read(plan["command"], str(version), _run(user, plan, info, str(mode)))


def _exec_info(
    version: str, plan: Mapping[str, Any], endpoint: Endpoint, cluster: KubeconfigEntry
) -> Callable[[bool], str]:
    spec: dict[str, Any] = {}
    if plan.get("provideClusterInfo") is True:
        spec["cluster"] = _cluster_info(endpoint, cluster)
    head = {"apiVersion": version, "kind": "ExecCredential"}
    return lambda interactive: json.dumps({**head, "spec": {"interactive": interactive, **spec}})


def _cluster_info(endpoint: Endpoint, cluster: KubeconfigEntry) -> dict[str, Any]:
    info: dict[str, Any] = {"server": endpoint.server, "insecure-skip-tls-verify": endpoint.insecure}
    if endpoint.authority:
        info["certificate-authority-data"] = base64.b64encode(endpoint.authority.encode()).decode()
    if endpoint.server_name:
        info["tls-server-name"] = endpoint.server_name
    if endpoint.proxy:
        info["proxy-url"] = endpoint.proxy
    for item in objects_at(cluster.body, "extensions"):
        if item.get("name") == "client.authentication.k8s.io/exec":
            info["config"] = item.get("extension")
    return info


def _run(user: KubeconfigEntry, plan: Mapping[str, Any], info: Callable[[bool], str], mode: str) -> bytes:
    command = _command(str(plan["command"]), user)
    arguments = plan.get("args") or []
    if not isinstance(arguments, list):
        raise entry_error(user, "user", "the args of its exec are not a list")

    def start(has_terminal: bool) -> PluginResult | None:
        if mode == "Always" and not has_terminal:
            raise entry_error(user, "user", f"its plugin {command} needs a terminal (interactiveMode: Always)")
        environment = {**os.environ, **_variables(plan), "KUBERNETES_EXEC_INFO": info(has_terminal)}
        return _run_process(login, [command, *map(str, arguments)], environment, has_terminal)

    login = Login(command, user.name, login_limit(), needs_terminal=mode == "Always")
    try:
        result = LOGINS.run(login, start, terminal=mode != "Never")
    except OSError as error:
        hint = str(plan.get("installHint") or "").strip() or "install it, or put it on the PATH"
        raise ConfigurationError(
            f"the credential plugin {command} cannot be run: {error.strerror}", hint=hint
        ) from error
    if result.status != 0:
        reason = f"failed with exit status {result.status}"
        raise _failed(command, f"{reason}: {login.last_lines}" if login.last_lines else reason)
    return result.output


def _command(command: str, user: KubeconfigEntry) -> str:
    """Return the command: a path with a slash relative to the kubeconfig, a bare name for PATH."""
    if os.sep in command and not os.path.isabs(command):
        return os.path.normpath(user.file.parent / command)
    return command


def _variables(plan: Mapping[str, Any]) -> dict[str, str]:
    return {str(item["name"]): str(item.get("value") or "") for item in objects_at(plan, "env") if "name" in item}


def _read(command: str, version: str, output: bytes) -> ExecCredential:
    try:
        answer = read_json(output)
    except ValueError as error:
        raise _failed(command, "did not answer with JSON") from error
    if not isinstance(answer, dict) or answer.get("kind") != "ExecCredential":
        raise _failed(command, "did not answer with an ExecCredential")
    if answer.get("apiVersion") != version:
        raise _failed(command, f"answered in {answer.get('apiVersion')!r}, expected {version}")
    fields = mapping_at(answer, "status")
    token, certificate, key = (
        str(fields.get(name) or "") for name in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not (certificate and key):
        raise _failed(command, "answered with neither a token nor a certificate with its key")
    expires = _expiry(command, fields.get("expirationTimestamp"))
    if expires is not None and expires <= time.time():
        raise _failed(command, f"answered with a credential that expired at {fields['expirationTimestamp']}")
    return ExecCredential(token, certificate, key, expires)


def _expiry(command: str, text: object) -> float | None:
    if not text:
        return None
    moment = parse_time(str(text))
    if moment is None:
        raise _failed(command, f"gave {text!r} as expirationTimestamp, which is not a time")
    return moment


def _failed(command: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"the credential plugin {command} {reason}", hint="run it in a terminal to see what it needs"
    )


def _run_process(
    login: Login, command: Sequence[str], environment: Mapping[str, str], has_terminal: bool
) -> PluginResult | None:
    process = subprocess.Popen(  # noqa: S603 (the user's own kubeconfig names it, as for every Kubernetes client)
        command,
        stdin=None if has_terminal else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        start_new_session=not has_terminal,  # without a controlling terminal it cannot open /dev/tty to prompt
    )
    output = bytearray()

    def printed(text: str) -> None:
        LOGINS.printed(login, text)

    readers = [
        threading.Thread(target=_read_output, args=(process.stdout, output), daemon=True),
        threading.Thread(target=_read_text, args=(process.stderr, printed), daemon=True),
    ]
    try:
        for reader in readers:
            reader.start()
        while process.poll() is None:
            if login.is_cancelled:
                raise ConfigurationError(f"the login of user {login.user!r} with {login.plugin} was cancelled")
            if login.needs_terminal and not has_terminal:
                return None
            if login.seconds_left <= 0:
                raise ConfigurationError(
                    f"the credential plugin {login.plugin} did not answer within {login.limit:g} s",
                    hint="log in faster, or set KYMATUI_LOGIN_TIMEOUT to more seconds",
                )
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(POLL_SECONDS)
        for reader in readers:
            reader.join(_DRAIN)
        return PluginResult(process.returncode, bytes(output))
    finally:
        _end(process, is_group=not has_terminal)


def _end(process: subprocess.Popen[bytes], *, is_group: bool) -> None:
    """End a plugin that still runs, with what it has started in its own session."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if is_group and hasattr(os, "killpg"):
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2.0)
            return


def _read_output(stream: IO[bytes] | None, output: bytearray) -> None:
    assert stream is not None
    with stream, contextlib.suppress(OSError):
        while data := os.read(stream.fileno(), _CHUNK):
            output += data[: _LARGEST_OUTPUT - len(output)]


def _read_text(stream: IO[bytes] | None, printed: Callable[[str], None]) -> None:
    assert stream is not None
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    with stream, contextlib.suppress(OSError):
        while data := os.read(stream.fileno(), _CHUNK):
            if text := sanitize_lines(decoder.decode(data)):
                printed(text)
