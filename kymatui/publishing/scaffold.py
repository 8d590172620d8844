"""Scaffold a module: a config to fill in, and the files that it names."""

from __future__ import annotations

import posixpath
from typing import Final

from msgspec import Struct

from kymatui.errors import ConfigurationError, UsageError
from kymatui.helm.yaml.writing import dump_yaml
from kymatui.publishing.config_reader import LARGEST_CONFIG
from kymatui.publishing.disk_sources import DiskSources
from kymatui.publishing.module_config import module_name_problem, module_version_problem

SCAFFOLDED_CONFIG: Final = "scaffold-module-config.yaml"
"""The name of modulectl, which reads another one by default."""


class ScaffoldRequest(Struct, frozen=True):
    """What to scaffold; `default_cr` and `security` are file names, "" for none."""

    folder: str
    config: str
    manifest: str
    name: str
    version: str
    team: str
    default_cr: str = ""
    security: str = ""
    overwrite: bool = False


class ScaffoldedFiles(Struct, frozen=True):
    written: tuple[str, ...]
    kept: tuple[str, ...]


def scaffold_module(request: ScaffoldRequest, sources: DiskSources) -> ScaffoldedFiles:
    """Write the files of a new module; only the config is ever replaced. Raise UsageError, ConfigurationError."""
    _check(request, sources)
    config = posixpath.join(request.folder, request.config)
    if sources.exists(config) and not request.overwrite:
        raise ConfigurationError(f"{config} already exists", hint="choose another name, or replace it with --overwrite")
    files = {posixpath.join(request.folder, request.manifest): _MANIFEST}
    if request.default_cr:
        files[posixpath.join(request.folder, request.default_cr)] = _DEFAULT_CR
    if request.security:
        files[posixpath.join(request.folder, request.security)] = _security(request.name)
    kept = tuple(path for path in files if sources.exists(path))
    written = {path: text for path, text in files.items() if path not in kept}
    written[config] = _config(request)
    for path, text in written.items():
        sources.write(path, text)
    return ScaffoldedFiles(tuple(written), kept)


def read_module_config(sources: DiskSources, path: str) -> bytes:
    """Return the content of a module config. Raise ConfigurationError with what to do if it does not exist."""
    if not sources.exists(path):
        other = posixpath.join(posixpath.dirname(path), SCAFFOLDED_CONFIG)
        hint = "`kymatui bundle scaffold --module-team kyma/TEAM` writes a config; -c names another one"
        if sources.exists(other):
            hint = f"rename {other} to {path}, or name it with -c"
        raise ConfigurationError(f"module config {path} does not exist", hint=hint)
    return sources.read(path, "module config", LARGEST_CONFIG)


def _check(request: ScaffoldRequest, sources: DiskSources) -> None:
    for option, problem in (
        ("--module-name", module_name_problem(request.name)),
        ("--module-version", module_version_problem(request.version)),
    ):
        if problem:
            raise UsageError(f"{option} {problem}")
    if not request.team:
        raise UsageError("--module-team must not be empty", hint="for example: --module-team kyma/blue")
    names = [name for name in (request.config, request.manifest, request.default_cr, request.security) if name]
    if len(set(names)) != len(names) or not (request.config and request.manifest):
        raise UsageError("the files of a module need different names")
    if not sources.is_folder(request.folder):
        raise UsageError(f"folder {request.folder} does not exist", hint="create it, or choose another --directory")


def _config(request: ScaffoldRequest) -> str:
    optional = "".join(
        f"\n# {comment}\n{key}: {_text(value)}\n"
        for key, value, comment in (
            ("defaultCR", request.default_cr, "The default CR: a file beside this one, or an https address."),
            ("security", request.security, "The config of the security scanners: a file beside this one."),
        )
        if value
    )
    return (
        "# The config of a module; `kymatui bundle create` builds the module from it.\n\n"
        f"name: {_text(request.name)}\n"
        f"version: {_text(request.version)}\n\n"
        "# All objects of the module, with its CRDs: a file beside this one, or an https address.\n"
        f"manifest: {_text(request.manifest)}\n\n"
        "# The team that is responsible: kyma/TEAM.\n"
        f"team: {_text(request.team)}\n\n"
        "# Required https addresses of the sources and of the documentation.\n"
        "repository:\n"
        "documentation:\n\n"
        "# At least one icon: a name with an https address.\n"
        "icons: {}\n"
        f"{optional}\n"
        f"{_MORE}"
    )


def _security(name: str) -> str:
    return (
        "# The config of the security scanners.\n"
        f"module-name: {_text(name)}\n\n"
        "# The images of the module, with semantic versions.\n"
        "bdba: []\n\n"
        "mend:\n"
        '  language: ""\n'
        '  subprojects: ""\n'
        "  exclude: []\n"
    )


def _text(value: str) -> str:
    return dump_yaml(value).strip()


_MANIFEST = "# All objects of the module that are applied when it is enabled, with the CRD of its default CR.\n"
_DEFAULT_CR = "# The default CR of the module: one object, without its CRD, which belongs to the manifest.\n"
_MORE = """\
# The object that reports whether the module is ready:
# manager:
#   name: my-controller-manager
#   namespace: my-system
#   group: apps
#   version: v1
#   kind: Deployment

# Kinds that users create, which are cleaned up with the module:
# associatedResources:
#   - group: operator.kyma-project.io
#     version: v1alpha1
#     kind: Sample

# More: labels, annotations, resources (names with https addresses), securityScanEnabled, requiresDowntime, beta,
# internal.
"""
