"""What leaves a cluster: secrets are hidden wherever they are, and what a ticket needs stays."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from kymatui.domain.objects.redaction import Redactor
from kymatui.domain.objects.redaction_rules import RULES
from kymatui.domain.objects.sensitive_names import Sensitivity, is_sensitive, sensitivity
from tests.domain.secret_samples import SAMPLES, TOKENS
from tests.domain.test_any_input import JSON

JWT = TOKENS["JWT"]
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----"
_BASE64 = re.compile(r"[A-Za-z0-9+/]{12,}={0,2}")


HARMLESS = """
secretName secretRef secretKeyRef tokenExpirationSeconds key keys author name topologyKey publicKey
matchLabelKeys x-kubernetes-list-map-keys passwordPolicy existingSecret tokenUrl authorizationMode
external-secrets.io/component bypass monkey keyId apiVersion automountServiceAccountToken
"""


def documents(text: str) -> list[Any] | None:
    try:
        return list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return None


def decoded(text: str) -> str | None:
    try:
        return base64.b64decode(text, validate=True).decode()
    except ValueError:
        return None


def on_each_text(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {key: on_each_text(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [on_each_text(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def placed(text: str, secret: str) -> str:
    """Return a text with a secret, which base64 in it may contain."""

    def inner(found: re.Match[str]) -> str:
        before = decoded(found[0])
        if before is None or (after := placed(before, secret)) == before:
            return found[0]
        return base64.b64encode(after.encode()).decode()

    return _BASE64.sub(inner, text.replace("PLACED", secret))


def readable(text: str) -> str:
    """Return a text with what base64 in it says."""
    inner = [readable(plain) for found in _BASE64.findall(text) if (plain := decoded(found)) is not None]
    return "\n".join([text, *inner])


@pytest.mark.parametrize("what", SAMPLES)
@pytest.mark.parametrize("secret", ["hunter07topsecret", "tiger#3", "Secret-1"])
def test_a_secret_of_each_kind_is_hidden_and_what_is_beside_it_stays(what: str, secret: str) -> None:
    body = {"marker": "visible07", "content": on_each_text(SAMPLES[what], lambda text: placed(text, secret))}
    assert secret in readable(json.dumps(body))
    found = json.dumps(Redactor(documents).value(body))
    assert secret not in readable(found), found
    assert "visible07" in found


def test_there_are_more_than_two_hundred_kinds_and_one_for_each_rule() -> None:
    assert len(SAMPLES) > 200
    redactor = Redactor(documents)
    for body in (*SAMPLES.values(), *TOKENS.values(), "jane@x.example"):
        redactor.value(on_each_text(body, lambda text: placed(text, "hunter07topsecret")))
    assert {rule.name for rule in RULES} == set(redactor.hits)


@pytest.mark.parametrize("what", SAMPLES)
def test_a_secret_of_each_kind_is_hidden_in_a_repeated_object(what: str) -> None:
    """A tool repeats an object as JSON in a field; another one as YAML."""
    body = on_each_text(SAMPLES[what], lambda text: placed(text, "hunter07topsecret"))
    for text in (json.dumps(body), yaml.safe_dump(body), json.dumps({"object": json.dumps(body)})):
        found = json.dumps(Redactor(documents).value({"status": {"note": text}}))
        assert "hunter07topsecret" not in readable(found), found


@pytest.mark.parametrize("what", TOKENS)
@pytest.mark.parametrize("around", ["{}", "a {} b", "x={}", '"{}"', "({})", "x: {}\n", "failed: {}, next"])
def test_a_secret_is_known_by_its_looks(what: str, around: str) -> None:
    token = TOKENS[what]
    assert token not in Redactor().text(around.format(token))
    assert token not in json.dumps(Redactor().value({"any": [around.format(token)]}))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"token {JWT} expired", "token (redacted: access-key) expired"),
        (f"key: {PEM} end", "key: (redacted: pem) end"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "(redacted: pem)"),
        ("Authorization: Bearer abcdef123456", "Authorization: (redacted: assignment)"),
        ("sent Bearer abcdef123456", "sent Bearer (redacted: authorization)"),
        ("dial https://jane:hunter2@host/x", "dial https://(redacted: url-login)@host/x"),
        ("postgres://u:p@db:5432/x", "postgres://(redacted: url-login)@db:5432/x"),
        ("AKIAIOSFODNN7EXAMPLE used", "(redacted: access-key) used"),
        ("password=hunter2 user=jane", "password=(redacted: assignment) user=jane"),
        ('"clientSecret": "hunter2"', '"clientSecret": (redacted: assignment)'),
        ("db_password: h2nter", "db_password: (redacted: assignment)"),
        ("API_KEY=abc", "API_KEY=(redacted: assignment)"),
        ("mail jane.doe@example.com now", "mail (redacted: email) now"),
        ("GET /x?limit=5&code=abc", "GET /x?limit=5&code=(redacted: url-query)"),
        ('{"a": 1, "token": "b"}', '{"a": 1, "token": "(redacted: field)"}'),
        ("login failed: db_password Abc123def!", "login failed: db_password (redacted: assignment)"),
        ("DB_PASSWORD is Abc123def", "DB_PASSWORD is (redacted: assignment)"),
        ("bound dbPassword Abc123def", "bound dbPassword (redacted: assignment)"),
        ("use client_secret Abc123def456xyz", "use client_secret (redacted: assignment)"),
        ("clientSecret Abc123def456xyz", "clientSecret (redacted: assignment)"),
        ("my_api_key was Abc123def456xyz", "my_api_key was (redacted: assignment)"),
    ],
)
def test_secrets_in_texts_are_hidden(text: str, expected: str) -> None:
    assert Redactor().text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Secret sap-btp-manager not found",
        'secrets "token" not found',
        "failed to get token: not authorized",
        "image registry.example/keda@sha256:0123456789abcdef",
        "Pulling image europe-docker.pkg.dev/kyma-project/prod/secret-store:v1.2.0@sha256:" + 64 * "0",
        "https://registry.example:5000/v2/",
        'level=info msg="reconciled" namespace=kyma-system loop=7',
        "2026-03-01T12:00:00Z started",
        "cannot list resource secrets in API group",
        "pod keda-operator-7d9f8b6c5d-x2x9z in kyma-system: CrashLoopBackOff",
        'failed calling webhook "x.example": Post "https://hook.kyma-system.svc:443/validate?timeout=10s": EOF',
        "/go/pkg/mod/sigs.k8s.io/controller-runtime@v0.17.2/pkg/controller/controller.go:227 +0x1e",
        '{"level":"info","logger":"controller","msg":"done","reconcileID":"8799b5cc-c2c9-4be5-9660-f97a4eede7f7"}',
        "spec.template.spec.containers[0].image: Invalid value",
        "User cannot get resource x in API group y: RBAC: clusterrole not found",
        "GET /api/v1/pods?limit=500&resourceVersion=0 200",
        'MountVolume.SetUp failed for volume "certs" : secret "keda-certs" not found',
        "mutatingwebhookconfigurations.admissionregistration.k8s.io is forbidden",
        "mountedSecret kyma-system/istio-ca is missing",
        "DB_PASSWORD_FILE /run/secrets/db and no_password given",
    ],
)
def test_messages_that_a_ticket_needs_stay(text: str) -> None:
    assert Redactor(documents).value({"message": text}) == {"message": text}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("password", Sensitivity.DEEP),
        ("clientSecret", Sensitivity.DEEP),
        ("DB_PASSWORD", Sensitivity.DEEP),
        ("client-key-data", Sensitivity.DEEP),
        (".dockerconfigjson", Sensitivity.DEEP),
        ("accessKey", Sensitivity.DEEP),
        ("ENCRYPTION_KEY", Sensitivity.DEEP),
        ("tls.key", Sensitivity.DEEP),
        ("auth", Sensitivity.SCALAR),
        ("cookie", Sensitivity.SCALAR),
        ("REDIS_AUTH", Sensitivity.SCALAR),
        *((name, Sensitivity.NONE) for name in HARMLESS.split()),
    ],
)
def test_names_say_what_is_secret(name: str, expected: Sensitivity) -> None:
    assert sensitivity(name) is expected
    assert is_sensitive(name) is (expected is not Sensitivity.NONE)


POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "token-operator-7d9f8b6c5d-x2x9z",
        "namespace": "kyma-system",
        "uid": "8799b5cc-c2c9-4be5-9660-f97a4eede7f7",
        "resourceVersion": "12345",
        "labels": {"app.kubernetes.io/name": "token-operator", "pod-template-hash": "7d9f8b6c5d"},
        "annotations": {"deployment.kubernetes.io/revision": "3", "operator.kyma-project.io/is-cluster-scoped": "true"},
        "finalizers": ["operator.kyma-project.io/Kyma"],
        "ownerReferences": [{"kind": "ReplicaSet", "name": "token-operator-7d9f8b6c5d", "uid": "a"}],
    },
    "spec": {
        "serviceAccountName": "token-operator",
        "imagePullSecrets": [{"name": "regcred"}],
        "volumes": [
            {"name": "certs", "secret": {"secretName": "certs", "items": [{"key": "a", "path": "b", "mode": 420}]}},
            {"name": "t", "projected": {"sources": [{"serviceAccountToken": {"path": "token", "expiry": 3600}}]}},
        ],
        "containers": [
            {
                "name": "secret-manager",
                "image": "europe-docker.pkg.dev/kyma-project/prod/secret-store:1.2.0@sha256:" + 64 * "a",
                "args": ["--leader-elect", "--metrics-bind-address=:8080", "--log-level=debug", "--tls-key-file=/x"],
                "env": [
                    {"name": "MODE", "value": "fast"},
                    {"name": "LOG_LEVEL", "value": "debug"},
                    {"name": "IMAGE", "value": "europe-docker.pkg.dev/kyma-project/prod/agent:1.2.0"},
                    {"name": "TIMEOUT", "value": "1m30s"},
                    {"name": "ADDRESS", "value": "keda.kyma-system.svc.cluster.local:8443"},
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "t", "key": "token"}}},
                ],
                "ports": [{"name": "https", "containerPort": 8443}],
                "resources": {"limits": {"memory": "512Mi"}},
            }
        ],
    },
    "status": {
        "phase": "Running",
        "conditions": [
            {"type": "TokenReady", "status": "False", "reason": "SecretMissing", "message": 'secret "x" not found'}
        ],
        "containerStatuses": [
            {
                "imageID": "europe-docker.pkg.dev/x@sha256:" + 64 * "b",
                "containerID": "containerd://" + 64 * "c",
                "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting container"}},
            }
        ],
    },
}  # fmt: skip


def test_names_kinds_states_images_conditions_and_reasons_stay() -> None:
    redactor = Redactor(documents)
    assert redactor.value(POD) == POD
    assert not redactor.hits


def test_a_module_keeps_what_explains_it() -> None:
    manifest = {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": "Manifest",
        "metadata": {"name": "default-keda-1", "labels": {"operator.kyma-project.io/kyma-name": "default"}},
        "spec": {
            "install": {"name": "raw-manifest", "source": {"repo": "r.example/x", "ref": "sha256:" + 64 * "0"}},
            "config": {"credSecretSelector": {"matchLabels": {"operator.kyma-project.io/oci-registry-cred": "test"}}},
            "customResourcePolicy": "CreateAndDelete",
            "resource": {"apiVersion": "x.io/v1", "kind": "Keda", "spec": {"logging": {"level": "debug"}}},
        },
        "status": {"state": "Error", "lastOperation": {"operation": "3 of 5 objects are ready", "lastUpdateTime": "x"}},
    }
    schema = {
        "kind": "CustomResourceDefinition",
        "spec": {
            "properties": {
                "password": {"type": "string", "description": "the password", "minLength": 8},
                "env": {"type": "array", "description": "Variables, up to 10.", "items": {"type": "object"}},
                "basic": {"type": "object", "required": ["password", "user"]},
            }
        },
    }
    for body in (manifest, schema):
        assert Redactor(documents).value(body) == body


def test_objects_keep_their_shape() -> None:
    redactor = Redactor()
    found = redactor.value(
        {
            "metadata": {
                "annotations": {
                    "kubectl.kubernetes.io/last-applied-configuration": "{}",
                    "kubernetes.io/description": "b",
                    "example.org/a": "b",
                }
            },
            "spec": {
                "password": "hunter2",
                "replicas": 2,
                "pin": 1234,
                "args": ["--token=abc", "--password", "hunter2", "--metrics-bind-address=:8080", "-v"],
                "env": [{"name": "DB_PASSWORD_VALUE", "value": "hunter2"}, {"name": "MODE", "value": "h4"}],
            },
        }
    )
    assert found == {
        "metadata": {"annotations": {"kubernetes.io/description": "b", "example.org/a": "(redacted: annotation)"}},
        "spec": {
            "password": "(redacted: field)",
            "replicas": 2,
            "pin": "(redacted: field)",
            "args": [
                "--token=(redacted: argument)",
                "--password",
                "(redacted: argument)",
                "--metrics-bind-address=:8080",
                "-v",
            ],
            "env": [
                {"name": "DB_PASSWORD_VALUE", "value": "(redacted: variable)"},
                {"name": "MODE", "value": "(redacted: variable)"},
            ],
        },
    }
    assert redactor.hits == {"annotation": 2, "field": 2, "argument": 2, "variable": 2}
    assert set(redactor.hits) <= {rule.name for rule in RULES}


def test_a_secret_loses_its_data_and_a_configmap_its_values() -> None:
    found = Redactor().secret({"kind": "Secret", "data": {"a": "aHVudGVyMg=="}, "stringData": "x", "type": "Opaque"})
    assert found == {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b", "c": ""}, "binaryData": {"d": "eA=="}}
    hidden = "(redacted: configmap-data)"
    expected = {**body, "data": {"a": hidden, "c": ""}, "binaryData": {"d": hidden}}
    assert Redactor().value(body) == expected


SECRETS = (JWT, PEM, "Bearer abcdef123456", "https://u:hunter2@host", "password=hunter2")


@example(None, PEM, "-")  # a key with "=" in it is no option with a value
@example(None, PEM, "--")
@given(JSON, st.sampled_from(SECRETS), st.text(max_size=5))
def test_no_secret_survives_wherever_it_is_put(value: Any, secret: str, around: str) -> None:
    text = f"{around} {secret} {around}"
    for wrapped in ([value, text], {"a": text, "b": value}, {"items": [{"c": [text]}, value]}):
        found = json.dumps(Redactor().value(wrapped))
        assert "hunter2" not in found
        assert "abcdef123456" not in found
        assert "c2lnbmF0dXJl" not in found
        assert "MIIEowIBAAKCAQEA" not in found


@given(st.text() | st.text(alphabet='password=: "{}[]\n-a1@/?&'))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


@given(JSON)
def test_any_value_is_taken(value: Any) -> None:
    Redactor(documents).value(value)


HOSTILE = (
    *("-----BEGIN PRIVATE KEY-----", "eyJ", "a@", "token", "://", "password=", "a:b@", '{"', "[[", '{"a":', "?a="),
    *('password "', "password=[", "a-", "--a ", "mysql ", "<password>", "%41", "aB3", "Zm9v", "password:\n"),
)  # fmt: skip


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_texts_take_no_time(part: str) -> None:
    Redactor().text(part * (300_000 // len(part)))
