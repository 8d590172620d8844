"""The proxy-url of a kubeconfig."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.adapters.kube.endpoints import read_endpoint
from kymatui.adapters.kube.kubeconfig import Entry
from kymatui.errors import ConfigurationError


@pytest.mark.parametrize("proxy", ["http://[", "http://", "ftp://a"])
def test_a_proxy_that_is_no_address_is_refused(proxy: str) -> None:
    with pytest.raises(ConfigurationError, match="proxy-url"):
        read_endpoint(Entry("a", {"server": "https://a.example", "proxy-url": proxy}, Path("file")))
