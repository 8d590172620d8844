"""Kubeconfig files, read, merged and resolved as client-go does.

`KUBECONFIG` may name several files; the first file that defines a context, a cluster, a user or the current context
wins. Relative paths are resolved against the file that holds them (k8s.io/client-go/tools/clientcmd). Without any
file, a pod uses its own service account (`in_cluster`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.json_reader import text_at
from kymatui.errors import ConfigurationError, UnknownNameError
from kymatui.structs import repr_without

_SECTIONS = (("clusters", "cluster"), ("users", "user"), ("contexts", "context"))
_PATHS = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
    "context": (),
}


class KubeconfigEntry(Struct, frozen=True):
    """A named entry of a kubeconfig and its file; `repr` hides the body, which may hold secrets."""

    name: str
    body: Mapping[str, Any]
    file: Path

    __repr__ = repr_without("body")


class AccessOverrides(Struct, frozen=True):
    """What a command line has instead of the kubeconfig's; "" and () where it says nothing.

    `user` is the name of another user of the kubeconfig, the others are whom to impersonate. `request_timeout` is in
    seconds, 0 for no limit of its own.
    """

    user: str = ""
    impersonated: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    request_timeout: float = 0.0

    @property
    def impersonation(self) -> Mapping[str, Any]:
        """Return the fields of a kubeconfig's user that impersonate."""
        settings = {"as": self.impersonated, "as-groups": list(self.groups), "as-uid": self.uid}
        return {name: value for name, value in settings.items() if value}


NO_OVERRIDES = AccessOverrides()


class KubeContext(Struct, frozen=True):
    """A context with its cluster and user; `files` are all kubeconfig files that were read."""

    name: str
    namespace: str
    cluster: KubeconfigEntry
    user: KubeconfigEntry | None
    files: tuple[Path, ...]

    @property
    def key(self) -> tuple[tuple[Path, ...], str]:
        """Return the identity of a connection: two files may define the same context name."""
        return self.files, self.name


class Kubeconfig(Struct, frozen=True):
    """All kubeconfig files merged; `files` are those that exist."""

    files: tuple[Path, ...]
    clusters: Mapping[str, KubeconfigEntry]
    users: Mapping[str, KubeconfigEntry]
    contexts: Mapping[str, KubeconfigEntry]
    current: str

    def context(self, chosen: str = "", overrides: AccessOverrides = NO_OVERRIDES) -> KubeContext:
        """Return the named context, else the current one. Raise ConfigurationError or UnknownNameError."""
        name = chosen or self.current
        if not name:
            raise ConfigurationError(
                f"{_listed(self.files)} has no current context", hint=f"choose one with --context: {self._names()}"
            )
        entry = self.contexts.get(name)
        if entry is None:
            where, hint = f"in {_listed(self.files)}", f"contexts: {self._names()}"
            if not chosen:  # the file is wrong, not the command line
                hint = f"choose one with --context: {self._names()}"
                raise ConfigurationError(f"the current context {name!r} does not exist {where}", hint=hint)
            raise UnknownNameError.near("context", name, self.contexts, where=where, hint=hint)
        return KubeContext(
            name=name,
            namespace=text_at(entry.body, "namespace"),
            cluster=self._pointed(entry, "cluster", self.clusters),
            user=self._user(entry, overrides),
            files=self.files,
        )

    def _user(self, context: KubeconfigEntry, overrides: AccessOverrides) -> KubeconfigEntry | None:
        """Return the context's user, or the chosen one, with whom it impersonates."""
        user = self._pointed(context, "user", self.users) if context.body.get("user") else None
        if overrides.user:
            user = self.users.get(overrides.user)
            if user is None:
                where, hint = f"in {_listed(self.files)}", f"users: {', '.join(sorted(self.users)) or 'none'}"
                raise UnknownNameError.near("user", overrides.user, self.users, where=where, hint=hint)
        if not overrides.impersonation:
            return user
        user = user or KubeconfigEntry("", {}, context.file)
        return replace(user, body={**user.body, **overrides.impersonation})

    def _names(self) -> str:
        return ", ".join(sorted(self.contexts)) or "none"

    def _pointed(self, context: KubeconfigEntry, what: str, among: Mapping[str, KubeconfigEntry]) -> KubeconfigEntry:
        name = text_at(context.body, what)
        if name in among:
            return among[name]
        problem = f"points to the {what} {name!r}, which does not exist" if name else f"names no {what}"
        raise ConfigurationError(
            f"the context {context.name!r} in {context.file} {problem}",
            hint=f"existing: {', '.join(sorted(among)) or 'none'}",
        )


def read_kubeconfig(explicit: str = "", environment: Mapping[str, str] | None = None) -> Kubeconfig | None:
    """Read the explicit file, else those of `KUBECONFIG`, else `~/.kube/config`; None if none exists.

    Raise ConfigurationError if the explicit file is missing. Missing files of `KUBECONFIG` are skipped.
    """
    paths = candidate_files(explicit, environment)
    if explicit and not _is_there(paths[0]):
        raise ConfigurationError(f"kubeconfig {paths[0]} not found", hint="check the path of --kubeconfig")
    present = [path for path in paths if _is_there(path)]
    return merge([(path, read_kubeconfig_file(path)) for path in present]) if present else None


def _is_there(file: Path) -> bool:
    """Return True also for a file without permission; reading it then reports the reason."""
    try:
        return file.exists()
    except OSError:
        return True


def candidate_files(explicit: str = "", environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the kubeconfig paths to try, in order of precedence."""
    environment = os.environ if environment is None else environment
    if explicit:
        return [Path(explicit).expanduser().absolute()]
    named = [part for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    if named:
        return [Path(part).expanduser().absolute() for part in dict.fromkeys(named)]
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return [(Path(home) if home else Path("~").expanduser()) / ".kube" / "config"]


def no_kubeconfig(explicit: str = "", environment: Mapping[str, str] | None = None) -> ConfigurationError:
    """Return the error for when no kubeconfig names a cluster."""
    return ConfigurationError(
        f"no kubeconfig found at {_listed(candidate_files(explicit, environment))}, "
        "and this is not a pod with a service account",
        hint="use --kubeconfig or KUBECONFIG, or try `kymatui demo`, which needs no cluster",
    )


def merge(documents: Sequence[tuple[Path, Mapping[str, Any]]]) -> Kubeconfig:
    """Merge parsed files; the first definition of a name wins."""
    sections: dict[str, dict[str, KubeconfigEntry]] = {plural: {} for plural, _ in _SECTIONS}
    current = ""
    for file, document in documents:
        for plural, singular in _SECTIONS:
            for entry in _entries(file, document, plural, singular):
                sections[plural].setdefault(entry.name, entry)
        chosen = document.get("current-context")
        current = current or (chosen if isinstance(chosen, str) else "")
    files = tuple(file for file, _ in documents)
    return Kubeconfig(files, sections["clusters"], sections["users"], sections["contexts"], current)


def _entries(file: Path, document: Mapping[str, Any], plural: str, singular: str) -> Iterator[KubeconfigEntry]:
    items = document.get(plural)
    if items is None:
        return
    if not isinstance(items, list):
        raise _malformed(file, f"{plural} is not a list")
    for index, item in enumerate(items):
        if not isinstance(item, Mapping) or not isinstance(item.get("name"), str):
            raise _malformed(file, f"{plural}[{index}] has no name")
        body = item.get(singular)
        if body is not None and not isinstance(body, Mapping):
            raise _malformed(file, f"{singular} {item['name']!r} is not a mapping")
        yield KubeconfigEntry(item["name"], _absolute(dict(body or {}), file, _PATHS[singular]), file)


def _absolute(body: dict[str, Any], file: Path, keys: Sequence[str]) -> dict[str, Any]:
    for key in keys:
        value = body.get(key)
        if isinstance(value, str) and value:
            body[key] = os.path.normpath(file.parent / value)
    return body


def read_kubeconfig_file(file: Path) -> Mapping[str, Any]:
    """Return the content of one file, empty for an empty one. Raise ConfigurationError."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"the kubeconfig {file} cannot be read: {reason}") from error
    from kymatui.helm.yaml.errors import YamlError
    from kymatui.helm.yaml.reading import load_exactly

    try:
        document = load_exactly(text)
    except YamlError as error:
        raise _malformed(file, f"it is not YAML: {error.summary}") from None
    if document is None:
        return {}
    if not isinstance(document, Mapping):
        raise _malformed(file, "it is not a mapping")
    return document


def _malformed(file: Path, reason: str) -> ConfigurationError:
    return ConfigurationError(
        f"the kubeconfig {file} cannot be used: {reason}", hint="fix the file, or use another --kubeconfig"
    )


def _listed(files: Sequence[Path]) -> str:
    return ", ".join(str(file) for file in files)
