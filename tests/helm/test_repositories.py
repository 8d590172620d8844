"""Which archive a name and a version mean in a repository, by Helm's rules."""

from __future__ import annotations

import pytest

from kymatui.errors import HelmError
from kymatui.helm.charts.repositories import ChartVersion, archive_url, read_index

INDEX = """
apiVersion: v1
entries:
  redis:
    - {version: 1.2.0, urls: [charts/redis-1.2.0.tgz], digest: "%s", appVersion: "7"}
    - {version: 1.10.0, urls: ["https://cdn.example.org/redis-1.10.0.tgz"]}
    - {version: 2.0.0-rc.1, urls: [redis-2.0.0-rc.1.tgz]}
    - {version: nonsense, urls: [x.tgz]}
    - {version: 3}
    - just a text
  beta-only:
    - {version: 0.1.0-alpha, urls: [beta-0.1.0-alpha.tgz]}
  empty: []
""" % ("a" * 64)


@pytest.mark.parametrize(
    ("version", "found"),
    [
        ("", "1.10.0"),
        ("1.2.0", "1.2.0"),
        ("~1.2", "1.2.0"),
        ("^1", "1.10.0"),
        (">=1 <1.10", "1.2.0"),
        (">0.0.0-0", "2.0.0-rc.1"),
        ("2.0.0-rc.1", "2.0.0-rc.1"),
    ],
)
def test_the_version_that_is_meant(version: str, found: str) -> None:
    assert read_index(INDEX).find("redis", version).version == found


@pytest.mark.parametrize(
    ("name", "version", "message"),
    [
        ("reddis", "", "no chart name found: reddis"),
        ("empty", "", "no chart name found: empty"),
        ("redis", "4.0.0", "no chart version found for redis-4.0.0"),
        ("beta-only", "", "no chart version found for beta-only-"),
        ("redis", "nonsense", "'nonsense' is no version and no range"),
        ("redis", "%%", "'%%' is no version and no range"),
    ],
)
def test_what_is_not_there_is_said_in_helms_words(name: str, version: str, message: str) -> None:
    with pytest.raises(HelmError, match=message):
        read_index(INDEX).find(name, version)


def test_a_misspelt_name_gets_a_suggestion() -> None:
    with pytest.raises(HelmError) as refused:
        read_index(INDEX).find("reddis")
    assert refused.value.hint == "did you mean redis?"


@pytest.mark.parametrize(
    ("repository", "url", "wanted"),
    [
        ("https://r.io/stable", "charts/a.tgz", "https://r.io/stable/charts/a.tgz"),
        ("https://r.io/stable/", "/a.tgz", "https://r.io/a.tgz"),
        ("https://r.io/stable", "https://cdn.io/a.tgz", "https://cdn.io/a.tgz"),
        ("https://r.io/stable", "oci://r.io/a:1", "oci://r.io/a:1"),
    ],
)
def test_urls_are_taken_relative_to_the_repository(repository: str, url: str, wanted: str) -> None:
    assert archive_url(repository, ChartVersion("a", "1", (url,))) == wanted


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/a.tgz", "javascript:alert(1)"])
def test_an_index_cannot_send_us_to_files_of_this_machine(url: str) -> None:
    with pytest.raises(HelmError, match="no URL that can be fetched"):
        archive_url("https://r.io", ChartVersion("a", "1", (url,)))


@pytest.mark.parametrize("text", ["", "a: b", "- 1", "<html>404</html>"])
def test_what_is_no_index_is_refused(text: str) -> None:
    with pytest.raises(HelmError, match="no index of a chart repository"):
        read_index(text)
