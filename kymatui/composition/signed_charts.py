"""Charts that are used only where their provenance holds; fetched from wherever they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kymatui.actions.modules.signatures import SignatureOptions, read_signer_file
from kymatui.adapters.content.blob_fetcher import chart_registry
from kymatui.adapters.content.chart_fetcher import FetchedChart
from kymatui.composition.chart_fetch import fetch_chart
from kymatui.engine.sources import chart_source
from kymatui.errors import HelmError, UsageError
from kymatui.helm.charts.provenance import verify
from kymatui.ocm import SignatureError

if TYPE_CHECKING:
    from kymatui.actions.modules.module_sources import ModuleSource
    from kymatui.adapters.sessions.fetching import FetchOptions
    from kymatui.engine.sources.chart_source import LoadedChart


def signed_chart(source: ModuleSource, signers: SignatureOptions, fetch: FetchOptions) -> LoadedChart:
    """Return a chart whose provenance holds. Raises SignatureError before anything of it is read."""
    if not signers.keyring:
        raise UsageError(
            "verification needs a keyring", hint="name the file of the signers' public keys with --keyring FILE"
        )
    ring = read_signer_file(signers.keyring, "--keyring")
    found = _packed(source, fetch)
    if found.provenance is None:
        raise SignatureError(f"{found.source} is not signed: no provenance file", hint="the chart was not used")
    try:
        verify(found.content, found.filename, found.provenance, ring)
    except HelmError as error:
        raise SignatureError(f"{found.source}: {error}", hint=error.hint or "the chart was not used") from error
    return chart_source.load_fetched_chart(found.content, source.chart, source.repository)


def _packed(source: ModuleSource, fetch: FetchOptions) -> FetchedChart:
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
