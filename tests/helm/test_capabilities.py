"""Versions of Kubernetes as `--kube-version` takes them and as charts see them."""

from __future__ import annotations

import pytest

from kymatui.errors import HelmError
from kymatui.helm.capabilities import KubeVersion


@pytest.mark.parametrize(
    ("given", "version", "printed", "major", "minor"),
    [
        ("v1.33.4", "v1.33.4", "v1.33.4", "1", "33"),
        ("1.33.4", "v1.33.4", "v1.33.4", "1", "33"),
        ("v1.22", "v1.22", "v1.22", "1", "22"),
        ("1.22.3.4", "v1.22.3.4", "v1.22.3.4", "1", "22"),
        ("v1.27.3-eks-x", "v1.27.3-eks-x", "v1.27.3", "1", "27"),
        ("v1.22.1+k3s1", "v1.22.1+k3s1", "v1.22.1", "1", "22"),
        ("1.22+", "v1.22+", "v1.22", "1", "22"),
        ("1.022", "v1.022", "v1.22", "1", "22"),
        (" 1.2 ", "v 1.2 ", "v1.2", "1", "2"),
        ("0.0", "v0.0", "v0.0", "0", "0"),
    ],
)
def test_what_follows_the_numbers_is_in_the_version_but_not_printed(
    given: str, version: str, printed: str, major: str, minor: str
) -> None:
    found = KubeVersion(given)
    assert (found.version, str(found)) == (version, printed)
    assert (found.read_field("Major"), found.read_field("Minor")) == (major, minor)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("1", 'illegal version string "1"'),
        ("1.x", 'illegal version string "1.x"'),
        ("V1.2", 'could not parse "V1.2" as version'),
        ("", 'could not parse "" as version'),
        ("v01.2", 'illegal zero-prefixed version component "01" in "v01.2"'),
        ("1.18446744073709551616", "value out of range"),
    ],
)
def test_what_is_no_version_is_refused(given: str, reason: str) -> None:
    with pytest.raises(HelmError) as caught:
        KubeVersion(given)
    assert str(caught.value).startswith(f"invalid kube version '{given}': ")
    assert reason in str(caught.value)
