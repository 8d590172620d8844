"""`kymatui diagnose [NAME]`: an archive with what a ticket needs; without secrets, and redacted by printed rules."""

from __future__ import annotations

import argparse
import io
import json
import platform
import re
import sys
import tarfile
import threading
import time
from collections.abc import Iterable, Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct

from kymatui import __version__
from kymatui.actions.diagnose import Diagnosis, diagnose, yaml_documents
from kymatui.actions.session import Session
from kymatui.adapters.files.user_files import write_private_file
from kymatui.cli.cluster_options import add_option
from kymatui.cli.commands.inspect.checks import checks_json
from kymatui.cli.commands.inspect.events import event_json
from kymatui.cli.commands.inspect.module import module_json
from kymatui.cli.options.reading import configure_listing, listed_session, row_of
from kymatui.cli.output.audit_formats import stamp
from kymatui.cli.output.html_page import html_page, html_section, html_table
from kymatui.cli.output.printing import print_line, print_message, print_text
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.catalog_json import catalog_to_json
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.domain.objects.redaction import Redactor
from kymatui.domain.objects.redaction_rules import RULES
from kymatui.engine.cluster.yaml_output import dump_yaml
from kymatui.errors import ConfigurationError, PartlyDoneError

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 150  # characters of a file name


def configure(parser: argparse.ArgumentParser) -> None:
    add_option(parser, "name NAME", "name of the module (default: all, in less depth)", nargs="?")
    add_option(
        parser, "-o --output FILE", "archive to write (default: kymatui-diagnose-CLUSTER-NAME-TIME.tgz)", type=Path
    )
    configure_listing(parser)


def run(args: argparse.Namespace) -> int:
    """Write the archive and print what it has, and what the rules hid.

    Exit with 3 if the runtime cannot be reached: the archive then has what its control plane knows.
    """
    path: Path | None = args.output
    if path is not None and path.exists():
        raise ConfigurationError(f"{path} already exists; not overwritten", hint="choose another -o")
    args.output = ""  # no document goes to standard output
    redactor = Redactor(yaml_documents)
    with listed_session(args, threading.Event(), once=True, partial=True) as session:
        catalog = build_catalog(session.snapshot(), time.time())
        rows = [row_of(catalog, args.name)] if args.name else list(catalog.rows)
        diagnosis = diagnose(session, rows, redactor, args.timeout, deep=bool(args.name))
        files = _files(session, catalog, rows, diagnosis, redactor)
        about = ("kymatui-diagnose", session.name, args.name or "", _time("%Y%m%dT%H%M%SZ"))
        stem = _file_name("-".join(filter(None, about)))
    path = path or Path(f"{stem}.tgz")
    if path.exists():
        raise ConfigurationError(f"{path} already exists; not overwritten", hint="choose another file with -o")
    write_private_file(path, _archive(stem, files))
    _report(path, diagnosis, redactor)
    if diagnosis.unreachable:
        print_message("the runtime was not reached; the archive has what its control plane knows")
        return PartlyDoneError.exit_code
    return 0


def _files(
    session: Session, catalog: Catalog, rows: list[ModuleRow], diagnosis: Diagnosis, redactor: Redactor
) -> dict[str, str]:
    """Return the files of the archive by name, the page first."""
    modules = [redactor.value(_explained(row)) for row in rows]
    reads, writes = session.traffic
    requests = {"reads": reads, "writes": writes}
    program = {
        "kymatui": __version__,
        "python": platform.python_version(),
        "platform": f"{sys.platform} {platform.machine()}",
    }
    files = {
        "catalog.json": _json(redactor.value(catalog_to_json(catalog))),
        "events.json": _json({"events": redactor.value([event_json(event) for event in diagnosis.events])}),
        "rights.json": _json(diagnosis.rights),
        "versions.json": _json({**program, "servers": diagnosis.versions, "requests": requests}),
        "not-read.json": _json({"notRead": diagnosis.unread}),
        "redaction.json": _json(
            {rule.name: {"hides": rule.explanation, "hits": redactor.hits[rule.name]} for rule in RULES}
        ),
        **{f"modules/{_file_name(str(module['name']))}.json": _json(module) for module in modules},
        **_named((_object_name(ref), dump_yaml(body)) for ref, body in diagnosis.objects.items()),
        **_named((f"logs/{_file_name(name)}", text) for name, text in diagnosis.logs.items()),
    }
    facts = [
        ("Cluster", redactor.text(catalog.cluster)),
        *([("Runtime", f"not reached: {diagnosis.unreachable}")] if diagnosis.unreachable else []),
        *((f"Version of the {name}", version) for name, version in diagnosis.versions.items()),
        ("Taken", _time("%Y-%m-%dT%H:%M:%SZ")),
        *program.items(),
        ("Requests", f"{format_count(reads, 'read')}, {format_count(writes, 'write')}"),
    ]
    sizes = [(name, len(text.encode())) for name, text in files.items()]
    title = f"Diagnosis of {rows[0].name if len(rows) == 1 else format_count(len(rows), 'module')}"
    page = PageFacts(title, facts, modules, sizes, dict(redactor.hits))
    return {"index.html": diagnosis_page(diagnosis, page), **files}


def _explained(row: ModuleRow) -> dict[str, Any]:
    """Return everything about a module with the evaluation of its state, as lifecycle-manager does it and strictly."""
    checks = [
        {
            "klm": checks_json(str(resource.resource), resource.klm),
            "strict": checks_json(str(resource.resource), resource.strict),
        }
        for resource in row.checked
    ]
    return {**module_json(row), "checks": checks}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _object_name(ref: ObjectRef) -> str:
    kind = f"{ref.kind.kind}.{ref.kind.group}" if ref.kind.group else ref.kind.kind
    return f"objects/{_file_name(kind)}/{_file_name('_'.join(filter(None, (ref.namespace, ref.name))))}.yaml"


def _file_name(text: str) -> str:
    """Return a name that is a file's on every system, and never leads to another folder."""
    return _UNSAFE.sub("_", text).lstrip(".")[:_LONGEST] or "_"


def _named(files: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return files by name; a number parts those that have the same name without unsafe characters."""
    contents: dict[str, str] = {}
    for name, text in files:
        stem, dot, ending = name.rpartition(".")
        names = (f"{stem}-{number}{dot}{ending}" for number in count(2))
        contents[
            name if name not in contents else next(candidate for candidate in names if candidate not in contents)
        ] = text
    return contents


def _time(form: str) -> str:
    return time.strftime(form, time.gmtime())


def _archive(folder: str, files: dict[str, str]) -> bytes:
    """Return a gzipped tar with one folder, whose files only their owner may read."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as archive:
        for name, text in files.items():
            content = text.encode("utf-8", "replace")
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mode, entry.mtime = len(content), 0o600, int(time.time())
            archive.addfile(entry, io.BytesIO(content))
    return written.getvalue()


def _report(path: Path, diagnosis: Diagnosis, redactor: Redactor) -> None:
    counts = (
        (len(diagnosis.objects), "object", ""),
        (len(diagnosis.events), "event", ""),
        (len(diagnosis.logs), "log", ""),
    )
    print_line(f"wrote {path}: {', '.join(format_count(number, *noun) for number, *noun in counts if number)}")
    print_text("redacted:")
    for rule in RULES:
        print_line(f"  {rule.name:22} {redactor.hits[rule.name]:5}  {rule.explanation}")
    for reason in diagnosis.unread:
        print_line(f"not read: {reason}", sys.stderr)
    print_text("Read its files before you send it: a secret whose name and form do not say so is not hidden.")


# `index.html` of a diagnosis: a page that needs nothing else, made of what was redacted before.


_EVENTS = 200  # on the page; the other files have all of them


class PageFacts(Struct, frozen=True):
    """What the page displays besides what was gathered; `files` are the names of the other files with their sizes."""

    title: str
    facts: Sequence[tuple[str, str]]
    modules: Sequence[dict[str, Any]]
    files: Sequence[tuple[str, int]]
    hits: dict[str, int]


def diagnosis_page(diagnosis: Diagnosis, facts: PageFacts) -> str:
    """Return the page; every value is escaped."""
    parts = [
        html_table(("", ""), facts.facts),
        html_section(("Modules", _MODULE_HEADER, map(_module, facts.modules))),
        html_section(("Problems", ("Module", "Severity", "Problem"), _problems(facts.modules))),
        html_section(("Not read", ("",), [(reason,) for reason in diagnosis.unread])),
        "<h2>Events</h2>",
        html_table(
            ("Last seen", "Type", "Reason", "Object", "Count", "Message"),
            [
                (
                    stamp(event.last_seen) or "" if event.last_seen else "",
                    event.type,
                    event.reason,
                    f"{event.kind}/{event.name}",
                    str(event.count or ""),
                    event.message,
                )
                for event in diagnosis.events[:_EVENTS]
            ],
        ),
        "<h2>Files</h2>",
        "<ul>",
        *(
            f'<li><a href="{quote(name)}">{escape(sanitize(name))}</a> {size:,} bytes</li>'
            for name, size in facts.files
        ),
        "</ul>",
        html_section(("Your rights", ("Kind", *(next(iter(diagnosis.rights.values()), {}))), _rights(diagnosis))),
        "<h2>Redacted</h2>",
        html_table(
            ("Rule", "What is hidden", "Hits"), [(r.name, r.explanation, str(facts.hits.get(r.name, 0))) for r in RULES]
        ),
    ]
    return html_page(facts.title, parts)


_MODULE_KEYS = ("name", "state", "reason", "installed", "desired", "drift", "actor")
_MODULE_HEADER = ("Module", "State", "Reason", "Installed", "Desired", "Drift", "Who acts")


def _module(module: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        _cell(module.get(key)) for key in ("name", "state", "reason", "installed", "desired", "drift", "actor")
    )


def _cell(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_cell(item)}" for key, item in value.items() if item not in (None, "", [], {}))
    return "" if value is None else str(value)


def _problems(modules: Sequence[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    for module in modules:
        for problem in module.get("problems") or ():
            yield str(module.get("name")), _cell(problem.get("severity")), _cell(problem.get("message"))


def _rights(diagnosis: Diagnosis) -> Iterable[tuple[str, ...]]:
    words = {True: "yes", False: "no", None: "unknown"}
    for kind, verbs in diagnosis.rights.items():
        yield kind, *(words[allowed] for allowed in verbs.values())
