"""Signatures of the catalog's modules: read from templates and registries, verified if a key is configured.

The descriptor alone is fetched, no layers and images; `verify_component` compares those too.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from kymatui.actions.components.component_digests import has_all_digests
from kymatui.actions.components.content_cache import ContentCache
from kymatui.actions.components.stored_components import require_component
from kymatui.actions.components.template_component import embedded_descriptor, template_location
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.json_reader import JsonReader
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.kyma.template_index import TemplateIndex
from kymatui.domain.modules.state_checks import ModuleSignature, SignatureStatus
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.engine.sources.component_source import Trust
from kymatui.errors import KymatuiError, RegistryUnreachableError
from kymatui.ocm import ComponentDescriptor, SignatureError, verify
from kymatui.ocm.component_location import ComponentLocation
from kymatui.structs import compare_by

MOST_SIGNATURES: Final = 20
"""Signatures of one component that are verified for the catalog."""
PARALLEL_READS: Final = 4  # threads that ask registries at the same time


class SignatureQuestion(Struct, frozen=True):
    """One version of a module: the descriptor in its template, or where its component is, or why neither is known.

    Questions with equal `key` have equal answers until someone changes the registry.
    """

    key: tuple[object, ...]
    descriptor: ComponentDescriptor | None = None
    location: ComponentLocation | None = None
    unknown: str = ""

    __eq__, __hash__ = compare_by("key")


def catalog_questions(
    catalog: Catalog, snapshot: Snapshot, registry: str, cache: ReadCache
) -> dict[str, SignatureQuestion]:
    """Return what to ask for each module: about the installed version, else the desired, else the newest."""
    template_index = index_cluster(snapshot, cache=cache).templates
    questions = {}
    for row in catalog.rows:
        offer = row.base_offer
        templates = template_index.offers(row.name) if offer is not None else ()
        template = next(
            (candidate for candidate in templates if offer is not None and candidate.ref == offer.template), None
        )
        if template is None:
            questions[row.name] = SignatureQuestion((row.name,), unknown="no ModuleTemplate found")
        else:
            questions[row.name] = signature_question(template, template_index, snapshot.manifests, registry)
    return questions


def signature_question(
    template: ModuleTemplate, templates: TemplateIndex, manifests: Iterable[Mapping[str, Any]], registry: str
) -> SignatureQuestion:
    """Return what to ask for a template; nothing is sent."""
    try:
        descriptor = embedded_descriptor(template)
        if descriptor is not None:
            revision = JsonReader(template.raw).child("metadata").text("resourceVersion")
            return SignatureQuestion((template.ref, template.meta.uid, revision), descriptor)
        location = template_location(template, templates, manifests, registry)
        return SignatureQuestion((location,), location=location)
    except KymatuiError as error:
        unknown = f"{error}{f'; {error.hint}' if error.hint else ''}"
        return SignatureQuestion((template.ref, unknown), unknown=unknown)


class SignatureReader:
    """Answers questions about signatures; methods block, and are thread-safe.

    A registry that did not answer is not asked for other components until `forget`.
    """

    def __init__(self, store: ContentStore, trust: Trust | None = None) -> None:
        self._content = ContentCache(store)
        self._trust = trust
        self._lock = threading.Lock()
        self._down: dict[str, str] = {}

    def forget(self) -> None:
        """Ask registries again that did not answer."""
        with self._lock:
            self._down.clear()

    def read(self, question: SignatureQuestion) -> ModuleSignature:
        """Return the signatures; what cannot be fetched or read is UNKNOWN, never raised."""
        if question.location is not None:
            return self._fetched(question.location)
        if question.descriptor is None:
            return ModuleSignature(SignatureStatus.UNKNOWN, why=sanitize(question.unknown))
        return judge_signatures(question.descriptor, self._trust)

    def _fetched(self, location: ComponentLocation) -> ModuleSignature:
        host, where = location.base.partition("/")[0], str(location)
        with self._lock:
            known = self._down.get(host)
        if known is not None:
            return ModuleSignature(SignatureStatus.UNKNOWN, why=known, component=where)
        try:
            component = require_component(self._content, location)
        except KymatuiError as error:
            why = sanitize(str(error))
            if isinstance(error, RegistryUnreachableError):  # later questions need not wait for this host again
                with self._lock:
                    self._down[host] = why
            return ModuleSignature(SignatureStatus.UNKNOWN, why=why, component=where)
        return judge_signatures(component.descriptor, self._trust, where)


def judge_signatures(descriptor: ComponentDescriptor, trust: Trust | None, where: str = "") -> ModuleSignature:
    """Return what the signatures of a descriptor are worth: verified if there is a trusted key, else only named."""
    names = tuple(dict.fromkeys(sanitize(signature.name) for signature in descriptor.signatures))
    if not names:
        return ModuleSignature(SignatureStatus.UNSIGNED, component=where)
    if trust is None:
        return ModuleSignature(SignatureStatus.SIGNED, names, component=where)
    if not has_all_digests(descriptor):
        why = "its descriptor lacks digests; `kymatui bundle verify` computes them"
        return ModuleSignature(SignatureStatus.UNKNOWN, names, why, where)
    expected_signatures = (
        (trust.signature,) if trust.signature else tuple(signature.name for signature in descriptor.signatures)
    )
    try:
        for name in dict.fromkeys(expected_signatures[:MOST_SIGNATURES]):
            verify(descriptor, trust.keys, name=name, issuer=trust.issuer, now=trust.now)
    except SignatureError as error:
        return ModuleSignature(SignatureStatus.INVALID, names, sanitize(str(error)), where)
    if len(expected_signatures) > MOST_SIGNATURES:
        why = f"more than {MOST_SIGNATURES} signatures"
        return ModuleSignature(SignatureStatus.UNKNOWN, names, why, where)
    return ModuleSignature(SignatureStatus.VALID, names, component=where)


def read_signatures(
    reader: SignatureReader,
    questions: Iterable[SignatureQuestion],
    tell: Callable[[SignatureQuestion, ModuleSignature], None],
) -> None:
    """Answer questions in some threads, each once; `tell` gets the answers there. Return after the last one.

    The threads do not keep the process from ending.
    """
    waiting: queue.SimpleQueue[SignatureQuestion] = queue.SimpleQueue()
    unique = {entry.key: entry for entry in questions}
    for question in unique.values():
        waiting.put(question)

    def work() -> None:
        while True:
            try:
                question = waiting.get_nowait()
            except queue.Empty:  # other threads took the last questions
                return
            try:
                answer = reader.read(question)
            except Exception as error:  # noqa: BLE001 (a defect must not leave the answer at "loading")
                answer = ModuleSignature(SignatureStatus.UNKNOWN, why=sanitize(f"{type(error).__name__}: {error}"))
            tell(question, answer)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(min(PARALLEL_READS, len(unique)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
