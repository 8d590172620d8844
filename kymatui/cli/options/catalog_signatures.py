"""`--signed` of `kymatui catalog`: the catalog with the signatures of its components."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Generator, Mapping
from contextlib import closing

from kymatui.actions.components.signature_reader import catalog_questions, read_signatures
from kymatui.actions.modules.signatures import signature_reader
from kymatui.cli.cluster_options import fetch_options
from kymatui.cli.options.reading import watch_sessions
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.modules.state_checks import ModuleSignature
from kymatui.domain.snapshot.snapshots import ReadCache
from kymatui.sessions.registries import open_registries
from kymatui.settings.config_file import load_settings


def watch_signed_catalogs(args: argparse.Namespace) -> Generator[tuple[Catalog, Mapping[str, ModuleSignature]]]:
    """Yield the catalog and each module's signatures, with --watch again; each version is read once.

    Raise ConfigurationError for a key that cannot be read; what a registry does not answer is UNKNOWN.
    """
    settings = load_settings(os.environ)
    options = fetch_options(args).with_registry(args.registry or settings.registry)
    reader = signature_reader(open_registries(options), args.public_key or settings.public_key)
    cache, known = ReadCache(), dict[tuple[object, ...], ModuleSignature]()
    with closing(watch_sessions(args)) as sessions:
        for session in sessions:
            snapshot = session.snapshot()
            catalog = build_catalog(snapshot, time.time())
            questions = catalog_questions(catalog, snapshot, options.registry, cache)
            news = [question for question in questions.values() if question.key not in known]
            read_signatures(reader, news, lambda question, answer: known.update({question.key: answer}))
            yield catalog, {name: known[question.key] for name, question in questions.items()}
