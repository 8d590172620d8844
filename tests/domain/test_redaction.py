"""What leaves a cluster: secrets are hidden wherever they are, and what a ticket needs stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.objects.redaction import RULES, Redactor, is_sensitive
from tests.domain.test_any_input import JSON

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJqYW5lIn0.c2lnbmF0dXJlLW9mLWphbmU"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc+/=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"token {JWT} expired", "token (redacted: jwt) expired"),
        (f"key: {PEM} end", "key: (redacted: private-key) end"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", "(redacted: private-key)"),
        ("Authorization: Bearer abcdef123456", "Authorization: Bearer (redacted: authorization)"),
        ("dial https://jane:hunter2@host/x", "dial https://(redacted: url-login)@host/x"),
        ("postgres://u:p@db:5432/x", "postgres://(redacted: url-login)@db:5432/x"),
        ("AKIAIOSFODNN7EXAMPLE used", "(redacted: access-key) used"),
        ("password=hunter2 user=jane", "password=(redacted: assignment) user=jane"),
        ('"clientSecret": "hunter2"', '"clientSecret": (redacted: assignment)'),
        ("db_password: h2nter", "db_password: (redacted: assignment)"),
        ("API_KEY=abc", "API_KEY=(redacted: assignment)"),
        ("mail jane.doe@example.com now", "mail (redacted: email) now"),
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
        "https://registry.example:5000/v2/",
        'level=info msg="reconciled" namespace=kyma-system loop=7',
        "2026-03-01T12:00:00Z started",
        "cannot list resource secrets in API group",
    ],
)
def test_what_a_ticket_needs_stays(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("password", True),
        ("clientSecret", True),
        ("DB_PASSWORD", True),
        ("client-key-data", True),
        ("token", True),
        (".dockerconfigjson", True),
        ("accessKey", True),
        ("secretName", False),
        ("secretRef", False),
        ("tokenExpirationSeconds", False),
        ("key", False),
        ("author", False),
        ("name", False),
    ],
)
def test_fields_are_hidden_by_the_end_of_their_name(name: str, expected: bool) -> None:
    assert is_sensitive(name) is expected


def test_objects_keep_their_shape() -> None:
    redactor = Redactor()
    found = redactor.value(
        {
            "metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}},
            "spec": {
                "secretName": "certs",
                "password": "hunter2",
                "replicas": 2,
                "args": ["--token=abc", "--password", "hunter2", "--metrics-bind-address=:8080", "-v"],
                "env": [
                    {"name": "DB_PASSWORD_VALUE", "value": "hunter2"},
                    {"name": "MODE", "value": "fast"},
                    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "t", "key": "token"}}},
                ],
            },
        }
    )
    assert found == {
        "metadata": {"annotations": {"a": "b"}},
        "spec": {
            "secretName": "certs",
            "password": "(redacted: field)",
            "replicas": 2,
            "args": [
                "--token=(redacted: field)",
                "--password",
                "(redacted: field)",
                "--metrics-bind-address=:8080",
                "-v",
            ],
            "env": [
                {"name": "DB_PASSWORD_VALUE", "value": "(redacted: variable)"},
                {"name": "MODE", "value": "fast"},
                {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "t", "key": "token"}}},
            ],
        },
    }
    assert redactor.hits == {"applied-configuration": 1, "field": 3, "variable": 1}
    assert set(redactor.hits) <= {rule.name for rule in RULES}


def test_a_secret_loses_its_data_whatever_it_is() -> None:
    found = Redactor().secret({"kind": "Secret", "data": {"a": "aHVudGVyMg=="}, "stringData": "x", "type": "Opaque"})
    assert found == {"kind": "Secret", "type": "Opaque"}


SECRETS = (JWT, PEM, "Bearer abcdef123456", "https://u:hunter2@host", "password=hunter2")


@given(JSON, st.sampled_from(SECRETS), st.text(max_size=5))
def test_no_secret_survives_wherever_it_is_put(value: Any, secret: str, around: str) -> None:
    text = f"{around} {secret} {around}"
    for wrapped in ([value, text], {"a": text, "b": value}, {"items": [{"c": [text]}, value]}):
        found = json.dumps(Redactor().value(wrapped))
        assert "hunter2" not in found
        assert "abcdef123456" not in found
        assert "c2lnbmF0dXJl" not in found
        assert "MIIEowIBAAKCAQEA" not in found


@given(st.text())
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = Redactor().text(text)
    assert Redactor().text(once) == once


HOSTILE = ("-----BEGIN PRIVATE KEY-----", "eyJ", "a@", "token", "://", "password=", "a:b@")


@pytest.mark.parametrize("part", HOSTILE)
def test_hostile_texts_take_no_time(part: str) -> None:
    Redactor().text(part * (1_000_000 // len(part)))
