"""Helm charts rendered in pure Python, as Helm v4 renders them.

    chart = load_chart("charts/web")                       # a directory or a .tgz; Chart.from_files for files in memory
    values = merge_values(value_files=["prod.yaml"], set=["replicas=3"])
    rendered = render(chart, values, release_name="web", namespace="shop")
    for manifest in rendered.manifests:                    # in the order of installation
        print(manifest.path, manifest.kind, manifest.content)

Charts
    load_chart(path) -> Chart       a folder (without files in .helmignore) or a packed chart
    load_archive(data) -> Chart     a packed chart's bytes
    Chart.from_files(files)         {path within the chart: text or bytes}
    check_dependencies(chart)       HelmError if charts/ lacks a dependency of Chart.yaml
    check_installable(chart)        the same, and for a library chart

Values
    merge_values(...) -> dict       the values of -f, --set, --set-string, --set-json, --set-file and --set-literal
    ValuesText(name, data)          a values file that was read elsewhere, for merge_values
    load_yaml(text)                 the first document as Helm reads it; numbers are floats (whole numbers
                                    from 2**53 on are int, with the digits that Go prints)
    dump_yaml(value) -> str         YAML as `toYaml` writes it, with a trailing newline

Rendering
    render(...) -> Rendered         .manifests .hooks .notes .crds .files (path: text) .values
    Manifest, Hook, CrdFile         documents with .path and .content; hooks with .events, .weight, .delete_policies
    sort_hooks(hooks, event)        the hooks of an event, in helm's order of execution
    INSTALL_ORDER, UNINSTALL_ORDER  kinds in helm's order of installation and removal
    Environment                     external inputs of a rendering: clock, random bytes, `lookup`, host names
    Limits                          limits of a rendering: depth, steps, characters, seconds
    TemplateCache(FUNCTIONS)        compiled templates, in memory and in a folder, for render(cache=...)
    DEFAULT_API_VERSIONS            .Capabilities.APIVersions without a cluster

Every failure is a HelmError, with Helm's message where Helm has one; `str(error)` says what failed and where,
`error.hint` what to do. Further modules: `linting` (helm lint), `rendering.releases` (the Secrets of
helm's releases), `charts.repositories` (index.yaml), `charts.provenance` (.prov files).

This package writes no files (except in a TemplateCache's folder), uses no network and runs no programs. It treats
charts, values and archives as hostile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kymatui.errors import HelmError

if TYPE_CHECKING:
    from kymatui.helm.charts.chart import Chart, load_archive, load_chart
    from kymatui.helm.charts.dependencies import check_dependencies, check_installable
    from kymatui.helm.charts.values import ValuesText, merge_values
    from kymatui.helm.functions import FUNCTIONS
    from kymatui.helm.language.caching import TemplateCache
    from kymatui.helm.language.environment import Environment
    from kymatui.helm.language.environment import RenderLimits as Limits
    from kymatui.helm.rendering.capabilities import DEFAULT_API_VERSIONS
    from kymatui.helm.rendering.manifests import INSTALL_ORDER, UNINSTALL_ORDER, Hook, sort_hooks
    from kymatui.helm.rendering.manifests import RenderedManifest as Manifest
    from kymatui.helm.rendering.render import CrdFile, Rendered, render
    from kymatui.helm.yaml.reading import load_as_json as load_yaml
    from kymatui.helm.yaml.writing import dump_yaml

_HOMES: Final = {
    "DEFAULT_API_VERSIONS": "rendering.capabilities",
    "FUNCTIONS": "functions",
    "INSTALL_ORDER": "rendering.manifests",
    "UNINSTALL_ORDER": "rendering.manifests",
    "Chart": "charts.chart",
    "CrdFile": "rendering.render",
    "Environment": "language.environment",
    "Hook": "rendering.manifests",
    "Limits": "language.environment",
    "Manifest": "rendering.manifests",
    "Rendered": "rendering.render",
    "TemplateCache": "language.caching",
    "ValuesText": "charts.values",
    "check_dependencies": "charts.dependencies",
    "check_installable": "charts.dependencies",
    "dump_yaml": "yaml.writing",
    "load_archive": "charts.chart",
    "load_chart": "charts.chart",
    "load_yaml": "yaml.reading",
    "merge_values": "charts.values",
    "render": "rendering.render",
    "sort_hooks": "rendering.manifests",
}
# Short public names have longer names inside the package, where other classes are also called Manifest.
_NAMES: Final = {"load_yaml": "load_as_json", "Limits": "RenderLimits", "Manifest": "RenderedManifest"}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that listing charts does not load the template language."""
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    attribute = getattr(import_module(f"{__name__}.{home}"), _NAMES.get(name, name))
    globals()[name] = attribute
    return attribute


__all__ = [
    "DEFAULT_API_VERSIONS",
    "FUNCTIONS",
    "INSTALL_ORDER",
    "UNINSTALL_ORDER",
    "Chart",
    "CrdFile",
    "Environment",
    "HelmError",
    "Hook",
    "Limits",
    "Manifest",
    "Rendered",
    "TemplateCache",
    "ValuesText",
    "check_dependencies",
    "check_installable",
    "dump_yaml",
    "load_archive",
    "load_chart",
    "load_yaml",
    "merge_values",
    "render",
    "sort_hooks",
]
