"""Charts from registries and repositories, cached on this machine; signed ones only where their provenance holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.adapters.files.user_files import cache_folder
from kymatui.errors import HelmError, UsageError

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.actions.modules.signatures import SignatureOptions
    from kymatui.engine.cluster.ports import FetchedChart
    from kymatui.engine.sources.chart_source import LoadedChart
    from kymatui.helm.language.caching import TemplateCache
    from kymatui.sessions.fetching import FetchOptions


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
    flags: tuple[str, str] | None = None,
) -> FetchedChart:
    """Return a packed chart by URL, by name in a repository, or by `oci://` reference; see `ChartAccess`.

    `flags` are the command's options for a private CA and for no TLS, see `ChartAccess`.
    Raises RegistryError where it cannot be fetched, HelmError where what is there is no chart of that version.
    """
    from kymatui.adapters.content.chart_fetcher import ChartAccess, ChartFetcher

    if unverified:
        import urllib3

        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # it was asked for
    cache = cache_folder("charts")
    access = ChartAccess(username, password, ca, plain_http, cache, certificate, unverified, everywhere, flags=flags)
    fetcher = ChartFetcher(access)
    return fetcher.fetch(reference, version=version, repository=repository, provenance=provenance)


def cached_templates() -> TemplateCache:
    """Open the cache of compiled templates, on disk too: a new process need not parse a chart again."""
    from kymatui.helm.functions import FUNCTIONS
    from kymatui.helm.language.caching import TemplateCache

    return TemplateCache(FUNCTIONS, folder=cache_folder("templates"))


def signed_chart(source: ModuleSource, signers: SignatureOptions, fetch: FetchOptions) -> LoadedChart:
    """Return a chart whose provenance holds. Raises SignatureError before anything of it is read."""
    from kymatui.actions.modules.signatures import read_signer_file
    from kymatui.engine.sources import chart_source
    from kymatui.helm.charts.provenance import verify
    from kymatui.ocm.errors import SignatureError

    if not signers.keyring:
        raise UsageError(
            "verification needs a keyring", hint="name the file of the signers' public keys with --keyring FILE"
        )
    ring = read_signer_file(signers.keyring, "--keyring")
    chart = _packed(source, fetch)
    if chart.provenance is None:
        raise SignatureError(f"{chart.source} is not signed: no provenance file", hint="the chart was not used")
    try:
        verify(chart.content, chart.filename, chart.provenance, ring)
    except HelmError as error:
        raise SignatureError(f"{chart.source}: {error}", hint=error.hint or "the chart was not used") from error
    return chart_source.load_fetched_chart(chart, source.chart, source.repository)


def _packed(source: ModuleSource, fetch: FetchOptions) -> FetchedChart:
    from kymatui.actions.modules.signatures import read_signer_file
    from kymatui.adapters.content.blob_fetcher import chart_registry
    from kymatui.engine.cluster.ports import FetchedChart
    from kymatui.ocm.errors import SignatureError

    path = Path(source.chart)
    if source.repository or "://" in source.chart or not path.exists():
        host = chart_registry(source.chart, source.repository)
        return fetch_chart(
            source.chart,
            version=source.version,
            repository=source.repository,
            ca=fetch.ca,
            plain_http=host in fetch.insecure,
            provenance=True,
        )
    if path.is_dir():
        raise SignatureError(
            f"{path} is a folder; only packed charts are signed", hint="use the packed chart next to its .prov file"
        )
    beside = path.with_name(f"{path.name}.prov")
    provenance = read_signer_file(str(beside), "provenance") if beside.exists() else None
    return FetchedChart(str(path), path.name, read_signer_file(str(path), "--chart"), provenance)
