"""Charts from elsewhere: the adapters' fetcher, with its cache in the platform's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.adapters.files.cache_folder import cache_folder

if TYPE_CHECKING:
    from kymatui.adapters.content.chart_fetcher import FetchedChart
    from kymatui.helm.language.caching import TemplateCache


def fetch_chart(
    reference: str,
    *,
    version: str = "",
    repository: str = "",
    username: str = "",
    password: str = "",
    ca: str | None = None,
    plain_http: bool = False,
    certificate: tuple[str, str] | None = None,
    unverified: bool = False,
    everywhere: bool = False,
    provenance: bool = False,
) -> FetchedChart:
    """Return a packed chart by URL, by name in a repository, or by `oci://` reference; for how to get in see `Access`.

    Raises RegistryError where it cannot be fetched, HelmError where what is there is no chart of that version.
    """
    from kymatui.adapters.content.chart_fetcher import ChartAccess, ChartFetcher

    if unverified:
        import urllib3

        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # it was asked for
    cache = cache_folder("charts")
    fetcher = ChartFetcher(ChartAccess(username, password, ca, plain_http, cache, certificate, unverified, everywhere))
    return fetcher.fetch(reference, version=version, repository=repository, provenance=provenance)


def cached_templates() -> TemplateCache:
    """Open the cache of compiled templates, on disk too: a new process need not parse a chart again."""
    from kymatui.helm.functions import FUNCTIONS
    from kymatui.helm.language.caching import TemplateCache

    return TemplateCache(FUNCTIONS, folder=cache_folder("templates"))
