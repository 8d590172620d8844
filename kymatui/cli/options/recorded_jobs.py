"""Commands as jobs: what of a command line is written down, and the command line that continues it.

Values of charts and whatever may be a password stay out of journals: what is continued takes values from the release.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from kymatui.adapters.files.job_journals import open_job
from kymatui.cli.options.chart_values import VALUE_OPTIONS, split_files
from kymatui.cli.options.direct_install import cancellable
from kymatui.cli.parser import build_parser
from kymatui.domain.plans.cluster_target import ClusterName
from kymatui.domain.plans.jobs import VALUES_LEFT_OUT, JobPurpose
from kymatui.engine.jobs.job_records import JobRecord
from kymatui.engine.jobs.open_job import OpenJob
from kymatui.errors import RefusedError


class OptionForm(Enum):
    """How the value of an option is written as a text."""

    TEXT = "text"
    FLAG = "flag"
    NUMBER = "number"
    FILE = "file"  # written with its whole path, since the next command may run in another folder
    FILES = "files"
    ADDRESS = "address"  # a file or a URL, which is left out if it has credentials
    WORDS = "words"


_FLAG, _TEXT, _FILE, _ADDRESS = OptionForm.FLAG, OptionForm.TEXT, OptionForm.FILE, OptionForm.ADDRESS
_UNINSTALLS: Final = {"cascade": _FLAG, "accept_unknown": _FLAG, "no_backup": _FLAG, "backup": _FILE}
_PACE: Final = {"canaries": OptionForm.NUMBER, "at_once": OptionForm.NUMBER}
_EDITS: Final = {**_UNINSTALLS, **_PACE}
_INSTALLS: Final = {
    **dict.fromkeys(("version", "policy", "signature", "issuer", "registry", "namespace", "template"), _TEXT),
    **dict.fromkeys(("file", "chart", "kustomize", "component", "repo"), _ADDRESS),
    **dict.fromkeys(("devel", "direct", "force", "no_backup", "allow_downgrade", "verify", "all"), _FLAG),
    **dict.fromkeys(
        ("skip_schema_validation", "follow_links", "prune", "keeps_values", "prune_definitions", "prune_namespaces"),
        _FLAG,
    ),
    **dict.fromkeys(("keyring", "public_key", "ca_cert"), _FILE),
    "values": OptionForm.FILES,
    "insecure_registry": OptionForm.WORDS,
}
_OPERATOR: Final = {
    **dict.fromkeys(("image", "controllers", "registry", "restricted_modules", "listener_gateways"), _TEXT),
    **dict.fromkeys(("watcher_image", "watcher_address", "skip_finalizer_purging_for", "namespace"), _TEXT),
    **dict.fromkeys(("manifest_namespaces", "manifest_service_account", "metrics_from", "lookup_secrets"), _TEXT),
    **dict.fromkeys(("replicas", "shards", "purge_grace"), OptionForm.NUMBER),
    **dict.fromkeys(("single_cluster", "service_monitor", "prometheus_rule", "force"), _FLAG),
    "insecure_registry": OptionForm.WORDS,
}
_OWN_FORMS: Final[Mapping[str, Mapping[str, OptionForm]]] = {
    "delete": {**_UNINSTALLS, "delete_crds": _FLAG, "way": _TEXT, "namespace": _TEXT},
    **dict.fromkeys(("enable", "disable", "channel", "manage", "unmanage", "policy"), _EDITS),
    "label": {**_UNINSTALLS, "labels": OptionForm.WORDS},
    **dict.fromkeys(("install", "adopt"), _INSTALLS),
    "upgrade": {**_INSTALLS, **_PACE},
    "apply": {"plan": _FILE},
    "manifest": {"version": _TEXT, "force": _FLAG, "allow_downgrade": _FLAG},
    "restore": {"file": _ADDRESS},
    "finalizers": {"object": _TEXT, "remove": _TEXT, "namespace": _TEXT},
    **dict.fromkeys(("operator install", "operator upgrade"), _OPERATOR),
    "operator uninstall": {
        **dict.fromkeys(("delete_kymas", "delete_crds", "accept_unknown", "no_backup"), _FLAG),
        "namespace": _TEXT,
    },
}
_FORMS: Final = {kind: {**forms, "override_gitops": _FLAG} for kind, forms in _OWN_FORMS.items()}
_TRUE_BY_DEFAULT: Final = frozenset({"prune", "keeps_values"})


@contextlib.contextmanager
def recorded_job(
    args: argparse.Namespace,
    cluster: ClusterName,
    kind: str,
    modules: Sequence[str],
    title: str,
    options: Mapping[str, str] | None = None,
) -> Iterator[tuple[OpenJob, threading.Event]]:
    """Run an accepted plan as a job; yield it with the event that Ctrl-C sets. `options` are further ones.

    Raises StoppedError with what is done and left.
    """
    resumed: JobRecord | None = getattr(args, "resumed_job", None)
    purpose = JobPurpose(kind, tuple(modules), {**job_options(kind, args), **(options or {})})
    job = open_job(cluster, purpose, title, number=resumed.number if resumed is not None else "")
    with job.recorded(), cancellable() as cancel:
        yield job, cancel


def job_options(kind: str, args: argparse.Namespace) -> dict[str, str]:
    """Return the options of a command line that a journal has."""
    options = {name: text for name, form in _FORMS.get(kind, {}).items() if (text := _text(args, name, form))}
    from_input = "-" in split_files(getattr(args, "values", None) or ())
    if from_input or any(getattr(args, name, None) for name in VALUE_OPTIONS):
        options[VALUES_LEFT_OUT] = "true"
    return options


def _text(args: argparse.Namespace, name: str, form: OptionForm) -> str:
    value = getattr(args, name, None)
    if value is None or value == [] or value == "":
        return ""
    match form:
        case OptionForm.FLAG:
            return str(value).lower() if bool(value) is not (name in _TRUE_BY_DEFAULT) else ""
        case OptionForm.FILE:
            return str(Path(value).expanduser().absolute())
        case OptionForm.FILES:
            return "\n".join(
                str(Path(file).expanduser().absolute()) if "://" not in file else _address(file)
                for file in split_files(value)
                if file != "-"
            )
        case OptionForm.ADDRESS:
            return _address(str(value))
        case OptionForm.WORDS:
            return " ".join(value)
        case OptionForm.NUMBER:
            return f"{value:g}" if value else ""
        case _:
            return str(value)


def _address(text: str) -> str:
    """Return a source as the next command finds it: a path as a whole, a URL only without credentials."""
    if "://" in text:
        parts = urlsplit(text)
        return "" if "@" in parts.netloc or parts.query else text
    scheme, path = ("layout:", text.removeprefix("layout:")) if text.startswith("layout:") else ("", text)
    folder, separator, rest = path.partition("//")  # a component of a layout, a folder of an archive
    expanded = Path(folder).expanduser()
    return f"{scheme}{expanded.absolute()}{separator}{rest}" if folder and expanded.exists() else text


def resume_args(record: JobRecord, options: argparse.Namespace) -> argparse.Namespace:
    """Return the command line that continues a job; `options` has the cluster, the consent and the output of `resume`.

    Raises RefusedError for a job that this version cannot continue.
    """
    heading = record.heading
    forms = _FORMS.get(heading.kind)
    if forms is None:
        raise RefusedError(f"job {record.number} is {heading.kind!r}, which this version of kymatui does not continue")
    words = [*heading.kind.split(), *_positionals(record)]
    args = build_parser(words).parse_args(words)
    for name, value in vars(options).items():
        if name not in _OWN:
            setattr(args, name, value)
    for name, form in forms.items():
        if name in heading.options and not getattr(options, name, None):
            setattr(args, name, _value(heading.options[name], form))
    args.resumed_job = record
    if record.is_on_contexts:
        args.contexts = []
    elif record.is_fleet:
        args.fleet, args.runtime = True, list(record.runtimes)
    return args


_OWN: Final = frozenset({"job", "list", "command", "command_module"})


def _positionals(record: JobRecord) -> list[str]:
    modules, options = list(record.heading.modules), record.heading.options
    match record.heading.kind:
        case "channel" | "policy":
            return [*modules, options.get(record.heading.kind, "default")]
        case "enable":
            return [*modules, *(f"--{name}={options[name]}" for name in ("channel", "policy") if name in options)]
        case "label":
            return options.get("labels", "").split()
        case "restore":
            return [options.get("file", "") or modules[0]]
        case "apply":
            return [options.get("plan", "")]
        case "finalizers":
            return modules[:1]
        case "install" | "upgrade" if options.get("all"):
            return ["--all"]
        case "operator install" | "operator upgrade" | "operator uninstall":
            return [f"--image={options['image']}"] if "image" in options else []
        case _:
            return modules


def _value(text: str, form: OptionForm) -> object:
    match form:
        case OptionForm.FLAG:
            return text == "true"
        case OptionForm.NUMBER:
            return float(text) if "." in text or "e" in text else int(text)
        case OptionForm.FILES:
            return text.split("\n")
        case OptionForm.WORDS:
            return text.split()
        case _:
            return text
