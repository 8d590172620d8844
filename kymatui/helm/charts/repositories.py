"""Chart repositories: parsing of `index.yaml` and resolution of versions.

This module reads text only; adapters download it. The rules are those of Helm's `repo.IndexFile`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cmp_to_key
from urllib.parse import urljoin, urlsplit

from msgspec import Struct

from kymatui.errors import HelmError, nearest_names
from kymatui.helm.semver.constraints import Constraint, parse_constraint
from kymatui.helm.semver.versions import SemanticVersion, SemverError, parse_version
from kymatui.helm.yaml.errors import YamlError
from kymatui.helm.yaml.reading import load_yaml
from kymatui.structs import repr_without

_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


class ChartVersion(Struct, frozen=True):
    """One packed chart of a repository; `digest` is the hexadecimal SHA-256 of the archive, or ""."""

    name: str
    version: str
    urls: tuple[str, ...]
    digest: str = ""
    app_version: str = ""
    description: str = ""
    deprecated: bool = False
    created: str = ""


class RepositoryIndex(Struct, frozen=True):
    """The charts of a repository by name, each with its versions, newest first."""

    charts: Mapping[str, tuple[ChartVersion, ...]]

    __repr__ = repr_without("charts")

    def find(self, name: str, version: str = "") -> ChartVersion:
        """Return the exact version, else the newest in a range; "" means the newest stable one.

        Raise HelmError if the repository has none.
        """
        offered = self.charts.get(name)
        if not offered:
            raise HelmError(f"no chart name found: {name}", hint=_near(name, self.charts))
        exact = next((entry for entry in offered if version and entry.version == version), None)
        if exact is not None:
            return exact
        constraint = _constraint(name, version)
        for entry in offered:
            if constraint.check(parse_version(entry.version)):
                return entry
        newest = ", ".join(entry.version for entry in offered[:5])
        raise HelmError(f"no chart version found for {name}-{version}", hint=f"the newest are {newest}")


def read_index(text: str, *, source: str = "index.yaml") -> RepositoryIndex:
    """Parse an `index.yaml`. Invalid entries are skipped, as in Helm. Raise HelmError for other files."""
    try:
        body = load_yaml(text)
    except YamlError as error:
        raise HelmError(f"{source} is no index of a chart repository: {error.summary}") from None
    if not isinstance(body, dict) or not body.get("apiVersion"):
        raise HelmError(f"{source} is no index of a chart repository: no API version specified")
    entries = body.get("entries")
    charts: dict[str, tuple[ChartVersion, ...]] = {}
    for name, versions in (entries if isinstance(entries, dict) else {}).items():
        chart_versions = [
            entry for version in (versions if isinstance(versions, list) else []) if (entry := _entry(name, version))
        ]
        if chart_versions:
            charts[str(name)] = tuple(sorted(chart_versions, key=cmp_to_key(_newest_first)))
    return RepositoryIndex(charts)


def archive_url(repository: str, entry: ChartVersion) -> str:
    """Return the archive's URL: the entry's first one, relative to the repository. Raise HelmError.

    Only http, https and oci are allowed, because an index is untrusted.
    """
    if not entry.urls:
        raise HelmError(f"chart {entry.name}-{entry.version} has no downloadable URLs")
    url = repository_url(repository, entry.urls[0])
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        scheme = ""
    if scheme not in ("http", "https", "oci"):
        raise HelmError(f"chart {entry.name}-{entry.version}: {url!r} is no URL that can be fetched")
    return url


def repository_url(repository: str, address: str) -> str:
    """Return an address of an index: absolute ones as they are, others below the repository's path with its query.

    The query of a repository may contain a token.
    """
    try:
        parts = urlsplit(repository)
        if urlsplit(address).scheme:
            return address
        base = parts._replace(path=f"{parts.path.removesuffix('/')}/", query="", fragment="").geturl()
        return urlsplit(urljoin(base, address))._replace(query=parts.query).geturl()
    except ValueError:
        return address


def _entry(name: object, value: object) -> ChartVersion | None:
    if not isinstance(value, dict) or not isinstance(value.get("version"), str) or _parsed(value["version"]) is None:
        return None
    urls = value.get("urls")
    digest = _DIGEST.fullmatch(str(value.get("digest") or ""))
    return ChartVersion(
        str(value.get("name") or name),
        value["version"],
        tuple(str(url) for url in urls) if isinstance(urls, list) else (),
        digest[1] if digest else "",
        str(value.get("appVersion") or ""),
        str(value.get("description") or ""),
        value.get("deprecated") is True,
        str(value.get("created") or ""),
    )


def _parsed(text: str) -> SemanticVersion | None:
    try:
        return parse_version(text)
    except SemverError:
        return None


def _newest_first(version: ChartVersion, other: ChartVersion) -> int:
    """Compare for sorting: newest first."""
    return parse_version(other.version).compare(parse_version(version.version))


def _constraint(name: str, version: str) -> Constraint:
    try:
        return parse_constraint(version or "*")
    except SemverError as error:
        raise HelmError(f"{name}: {version!r} is no version and no range: {error}") from error


def _near(name: str, charts: Mapping[str, object]) -> str:
    near = nearest_names(name, charts)
    return f"did you mean {', '.join(near)}?" if near else ""
