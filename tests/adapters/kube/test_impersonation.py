"""A connection as a ServiceAccount: the own credential with one more header, renewed with it."""

from __future__ import annotations

import pytest

from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource
from kymatui.adapters.kube.auth.impersonation import ImpersonatedCredentials
from kymatui.errors import ConfigurationError

USER = "system:serviceaccount:shop:deployer"


def source(*tokens: str) -> CredentialSource:
    """A source that has these tokens one after the other."""
    made = iter(Credential((("Authorization", f"Bearer {token}"),)) for token in tokens)
    return CredentialSource(lambda: next(made))


def headers(token: str) -> tuple[tuple[str, str], ...]:
    return (("Authorization", f"Bearer {token}"), ("Impersonate-User", USER))


def test_requests_have_the_own_credential_and_the_name_and_no_groups() -> None:
    credentials = ImpersonatedCredentials(source("a"), USER)
    assert credentials.present().headers == headers("a")
    assert credentials.present() is credentials.present()


def test_a_refused_credential_is_renewed_at_its_source() -> None:
    own = source("a", "b")
    credentials = ImpersonatedCredentials(own, USER)
    refused = credentials.present()
    fresh = credentials.renewed(refused)
    assert fresh is not None
    assert fresh.headers == headers("b")
    assert own.present().headers == (("Authorization", "Bearer b"),)
    late = credentials.renewed(refused)  # of another thread, which was refused before
    assert late is not None
    assert late.headers == headers("b")


def test_a_source_without_another_credential_has_none_here() -> None:
    credentials = ImpersonatedCredentials(source("a", "a"), USER)
    assert credentials.renewed(credentials.present()) is None


def test_a_connection_that_impersonates_already_cannot_impersonate_another_user() -> None:
    own = CredentialSource(lambda: Credential((("Impersonate-User", "ann"),)))
    with pytest.raises(ConfigurationError, match="impersonates another user already"):
        ImpersonatedCredentials(own, USER).present()
