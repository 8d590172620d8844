"""Layers for the engine: verified, kept, and without TLS only from where somebody allowed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.adapters.fetching import Fetcher
from kymatui.adapters.oci.registry import Registry
from kymatui.errors import RegistryError
from kymatui.sandbox.registry.faults import Fault, FaultKind
from tests.sandbox.registry.conftest import Serve, Served, serve  # noqa: F401 (a fixture)

LAYER = b"kind: ConfigMap\n"


@pytest.fixture
def served(serve: Serve) -> Served:  # noqa: F811
    return serve()


def pushed(served: Served) -> tuple[str, str, str]:
    """Host, repository and digest of a layer."""
    host = served.registry.address
    content = Registry(insecure=True).push_blob(f"{host}/modules/a", LAYER, "application/yaml")
    return host, f"{host}/modules/a", content.digest


def test_a_layer_is_fetched_once_and_kept(served: Served, tmp_path: Path) -> None:
    host, repository, digest = pushed(served)
    assert Fetcher(cache=tmp_path, insecure=(host,)).layer(repository, digest, insecure=True) == LAYER
    served.registry.faults.set(Fault(FaultKind.TAMPER, path="/blobs/", times=0))
    assert Fetcher(cache=tmp_path, insecure=(host,)).layer(repository, digest, insecure=True) == LAYER
    with pytest.raises(RegistryError, match="arrived as"):
        Fetcher(insecure=(host,)).layer(repository, digest, insecure=True)


def test_nobody_who_was_not_allowed_goes_without_tls(served: Served) -> None:
    host, repository, digest = pushed(served)
    before = len(served.registry.requests)
    with pytest.raises(RegistryError, match="without TLS, and nobody here has allowed that") as refused:
        Fetcher().layer(repository, digest, insecure=True)
    assert refused.value.hint == f"allow it with --insecure-registry {host}"
    assert len(served.registry.requests) == before


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://host/x", "x.yaml"])
def test_an_address_is_on_the_web(address: str) -> None:
    with pytest.raises(RegistryError, match="is no address on the web"):
        Fetcher().url(address)
