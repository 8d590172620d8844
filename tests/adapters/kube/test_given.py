"""Kubeconfigs out of Secrets: used where they are harmless, refused where they reach for this machine, never quoted."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import yaml

from kymatui.adapters.kube.auth.secret_kubeconfig import LARGEST, connect_from_secret, require_unexpired
from kymatui.errors import ConfigurationError

WHERE = "Secret kcp-system/kubeconfig-one"
TOKEN = "the-secret-token"


def kubeconfig(user: dict[str, Any] | None = None, cluster: dict[str, Any] | None = None, **more: Any) -> bytes:
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": "https://api.example.org", **(cluster or {})}}],
        "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}],
        "current-context": "x",
        **more,
    }
    return yaml.safe_dump(document).encode()


def test_its_current_context_is_used() -> None:
    found = connect_from_secret(kubeconfig(), WHERE)
    assert (found.endpoint.server, found.namespace, found.context) == ("https://api.example.org", "ns", WHERE)


def test_the_only_context_is_the_current_one() -> None:
    no_current: dict[str, Any] = {"current-context": ""}
    assert connect_from_secret(kubeconfig(**no_current), WHERE).namespace == "ns"


@pytest.mark.parametrize(
    ("user", "cluster", "named"),
    [
        ({"exec": {"apiVersion": "v1", "command": "curl"}}, None, "user names exec"),
        ({"auth-provider": {"name": "oidc", "config": {}}}, None, "user names auth-provider"),
        ({"tokenFile": "/etc/passwd"}, None, "user names tokenFile"),
        ({"client-certificate": "a.pem", "client-key": "b.pem"}, None, "user names client-certificate, client-key"),
        (None, {"certificate-authority": "/etc/ssl/ca.pem"}, "cluster names certificate-authority"),
    ],
)
def test_nothing_of_this_machine_may_be_named(user: Any, cluster: Any, named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{WHERE} is refused: its {named}"):
        connect_from_secret(kubeconfig(user, cluster), WHERE)


@pytest.mark.parametrize(
    "content",
    [
        b"a: [" + TOKEN.encode(),
        f"- {TOKEN}".encode(),
        b"\xff\xfe" + TOKEN.encode(),
        b"x: " + TOKEN.encode() + b"\n" + b" " * LARGEST,
        b"users: " + TOKEN.encode(),
        kubeconfig(contexts=[]),
        b"",
    ],
)
def test_what_cannot_be_used_is_said_without_a_word_of_its_content(content: bytes) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect_from_secret(content, WHERE)
    said = f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert WHERE in said
    assert TOKEN not in said


ODD = [
    f"a: !!bool {TOKEN}",
    f"a: !!int {TOKEN}",
    f"a: !!float {TOKEN}",
    f"a: !!timestamp {TOKEN}",
    f"a: !!binary {TOKEN}",
    f"a: !!null {TOKEN}",
    f"a: !!python/object/apply:os.system [{TOKEN}]",
    f"a: !!set {{{TOKEN}}}",
    f"a: *{TOKEN}",
    f"? [{TOKEN}]\n: x",
    f"~: {TOKEN}",
    f"a: &a [*a, {TOKEN}]",
    f"%TAG !{TOKEN}! x\n--- !{TOKEN}!",
    f"a: {TOKEN}\n--- b: !!int {TOKEN}",
    f"%{TOKEN}",
    f"a: '{TOKEN}",
    f"a: {TOKEN}\0",
    "a: !!int ''",
    "a: 1" + ":1" * 400_000,
    "a: 1" + ":1" * 400_000 + ".5",
    "a: " + "7" * 900_000,
    "a: 2001-01-01T00:00:00." + "0" * 900_000,
    "[" * 1_000_000,
    "- " * 500_000,
    "{a: " * 200_000,
    "a: [" + "[]," * 300_000,
    "b0: &b0 [x]\n" + "".join(f"b{n}: &b{n} [" + f"*b{n - 1}," * 9 + "]\n" for n in range(1, 12)),
    "".join(f"%TAG !a{number}! x\n" for number in range(60_000)),
    "[!!str x," * 100_000,
    "a: b\n[ " + "# " * 5_000 + "\nx: y\n",
    "<<: 1",
    "clusters: !!int 1\n",
    "clusters: [{name: !!bool " + TOKEN + "}]",
]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_odd_yaml_is_refused_at_once_without_a_word_of_it(text: str) -> None:
    """Text that takes long runs into the time limit of the test."""
    with pytest.raises(ConfigurationError, match=f"the kubeconfig in {WHERE} ") as caught:
        connect_from_secret(text.encode(), WHERE)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    assert TOKEN not in f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"
    assert len(str(caught.value)) < 300


MARK = "planted-marker"
VALUES: list[Any] = [
    *(None, True, 0, 1.5, 10**30, "", MARK, [MARK], {MARK: MARK}, [[MARK]], [{}], [None], f"\0{MARK}", f"\n{MARK}"),
    *(f"https://{MARK}", f"http://[{MARK}", f"https://x:99999999/{MARK}", f"\U0001f600{MARK}", MARK * 10_000),
]


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_of(part, (*path, key))


def displayed(content: bytes) -> str:
    """Return the connection or the error as they are displayed."""
    try:
        return repr(connect_from_secret(content, WHERE))
    except ConfigurationError as error:
        return f"{error} {error.hint} {error.__cause__!r}"


def test_whatever_a_field_holds_is_used_or_refused_without_a_word_of_it() -> None:
    fields = {"username", "password", "client-certificate-data", "client-key-data", "as", "as-uid"}
    user: dict[str, Any] = {"token": "t", "as-groups": [""], "as-user-extra": {"a": [""]}, **dict.fromkeys(fields, "")}
    texts = dict.fromkeys(("certificate-authority-data", "proxy-url", "tls-server-name"), "")
    cluster: dict[str, Any] = {**texts, "insecure-skip-tls-verify": False}
    whole = yaml.safe_load(kubeconfig(user, cluster))
    for path in paths_of(whole):
        for value in VALUES:
            document = copy.deepcopy(whole)
            holder = document
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = value
            content = yaml.safe_dump(document, allow_unicode=True).encode()
            assert MARK not in displayed(content), (path, value)


CURRENT: dict[str, Any] = {"current-context": MARK}
NO_CURRENT: dict[str, Any] = {"current-context": ""}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (kubeconfig(None, None, **CURRENT), "its current context does not exist"),
        (
            kubeconfig(contexts=[{"name": MARK, "context": {"cluster": MARK}}], **CURRENT),
            "a cluster or a user that it does not have",
        ),
        (kubeconfig(contexts=[], **NO_CURRENT), "it has no context"),
        (kubeconfig(None, {"server": f"ftp://{MARK}"}), "its server is not an http or https address"),
        (
            kubeconfig(None, {"server": f"https://u:{MARK}@api.example.org"}),
            "its server is not an http or https address",
        ),
        (kubeconfig(None, {"server": ""}), "its server is not an http or https address"),
        (kubeconfig({"token": MARK, "username": MARK, "password": MARK}), "token and a password"),
        (kubeconfig({"client-certificate-data": MARK}), "is not base64"),
        (kubeconfig({"exec": {"command": MARK, "args": [MARK]}}), "user names exec"),
        (kubeconfig(None, {"certificate-authority": f"/{MARK}"}), "cluster names certificate-authority"),
        (kubeconfig(None, {"proxy-url": f"gopher://{MARK}"}), "proxy-url"),
        (kubeconfig(users=[{"name": MARK, "user": MARK}]), WHERE),
        (kubeconfig(clusters=MARK), WHERE),
    ],
)
def test_each_flaw_has_its_own_words_and_none_of_the_content(content: bytes, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        connect_from_secret(content, WHERE)
    assert MARK not in f"{caught.value} {caught.value.hint} {caught.value.__cause__!r}"


def test_what_is_connected_shows_nothing_of_it() -> None:
    authority = base64.b64encode(MARK.encode()).decode()
    found = connect_from_secret(kubeconfig({"token": MARK}, {"certificate-authority-data": authority}), WHERE)
    shown = [repr(part) for part in (found, found.endpoint, found.credentials, found.credentials.present())]
    assert not [text for text in shown if MARK in text]


def token(ends: datetime) -> str:
    parts = [json.dumps(part).encode() for part in ({"alg": "none"}, {"exp": int(ends.timestamp())})]
    return ".".join([*(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts), MARK])


def certificate(ends: datetime) -> dict[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, ends - timedelta(days=9), ends)
    chain = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = serialization.NoEncryption()
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    encoded = {"client-certificate-data": chain, "client-key-data": text}
    return {name: base64.b64encode(value).decode() for name, value in encoded.items()}


@pytest.mark.parametrize("kind", ["token", "client certificate"])
@pytest.mark.parametrize("over", [True, False])
def test_57_what_has_expired_is_said_before_anybody_is_asked(kind: str, over: bool) -> None:
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    ends = now - timedelta(hours=1) if over else now + timedelta(hours=1)
    found = connect_from_secret(kubeconfig({"token": token(ends)} if kind == "token" else certificate(ends)), WHERE)
    if not over:
        require_unexpired(found, now.timestamp())
        return
    with pytest.raises(ConfigurationError, match=f"its {kind} was valid until 2026-11-21 11:00:00 UTC") as caught:
        require_unexpired(found, now.timestamp())
    assert WHERE in str(caught.value)
    assert MARK not in str(caught.value)
