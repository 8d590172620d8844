"""Which places tell of other versions of a chart, and what is said where none does."""

from __future__ import annotations

import pytest

from kymatui.domain.inventories import Origin
from kymatui.engine.sources.chart_lookup import ChartLocation, chart_location

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("address", "repository", "place"),
    [
        ("oci://reg.io/charts/web", "", ChartLocation("oci://reg.io/charts/web")),
        ("oci://reg.io:5000/charts/web:1.2.3", "", ChartLocation("oci://reg.io:5000/charts/web")),
        ("oci://reg.io/charts/web", "oci://reg.io/charts", ChartLocation("oci://reg.io/charts/web")),
        ("https://x.io/charts/web", "https://x.io/charts", ChartLocation("web", "https://x.io/charts")),
    ],
)
def test_registries_and_repositories_can_be_asked(address: str, repository: str, place: ChartLocation) -> None:
    assert chart_location(Origin("helm", address, repository=repository)) == place


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "its source is not recorded"),
        ("revision 3", "its source is not recorded"),
        ("./charts/web", "a path on the machine"),
        ("https://x.io/web-1.2.3.tgz", "a single archive"),
        ("https://x.io/charts/web", "the repository is not recorded"),  # as it was before that was noted
        (f"oci://reg.io/charts/web@{DIGEST}", "pinned to the digest"),
    ],
)
def test_of_others_it_is_said_why_not(address: str, said: str) -> None:
    assert said in str(chart_location(Origin("helm", address)))
