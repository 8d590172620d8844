"""The proxy-url of a kubeconfig."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.adapters.kube.auth.endpoint import read_endpoint
from kymatui.adapters.kube.auth.kubeconfig import KubeconfigEntry
from kymatui.errors import ConfigurationError


@pytest.mark.parametrize("proxy", ["http://[", "http://", "ftp://a"])
def test_a_proxy_that_is_no_address_is_refused(proxy: str) -> None:
    with pytest.raises(ConfigurationError, match="proxy-url"):
        read_endpoint(KubeconfigEntry("a", {"server": "https://a.example", "proxy-url": proxy}, Path("file")))
