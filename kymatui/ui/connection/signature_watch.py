"""Signatures of the catalog's components, read in threads while the screen goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping

from kymatui.actions.components.signature_reader import (
    SignatureQuestion,
    SignatureReader,
    catalog_questions,
    read_signatures,
)
from kymatui.actions.modules.signatures import signature_reader
from kymatui.domain.catalog.rows import Catalog
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.modules.state_checks import ModuleSignature, SignatureStatus
from kymatui.domain.snapshot.snapshots import ReadCache, Snapshot
from kymatui.sessions.fetching import FetchOptions
from kymatui.sessions.registries import open_registries


class SignatureWatch:
    """Reader of signatures with its own threads; the loop only asks for what is known.

    An answer stays until `forget`, because a signed version rarely changes and registries limit requests.
    """

    def __init__(self, registry: str, public_key: str, changed: Callable[[], None]) -> None:
        """Read from `registry` ("" if nobody named one) and verify with the key in a file, "" for none."""
        self._options = FetchOptions().with_registry(registry)
        self._public_key = public_key
        self._changed = changed
        self._lock = threading.Lock()
        self._reader: SignatureReader | None = None
        self._memory = ReadCache()
        self._answers: dict[tuple[object, ...], ModuleSignature] = {}
        self._known: Mapping[str, ModuleSignature] = {}
        self._seen: Snapshot | None = None
        self._next: tuple[Catalog, Snapshot] | None = None
        self._works = False

    def known(self, catalog: Catalog, snapshot: Snapshot) -> Mapping[str, ModuleSignature]:
        """Return the signatures by module as far as they are known, and read the others; never block."""
        with self._lock:
            if snapshot is not self._seen:
                self._seen, self._next = snapshot, (catalog, snapshot)
                if not self._works:
                    self._works = True
                    threading.Thread(target=self._work, name="signatures", daemon=True).start()
            return self._known

    def forget(self) -> None:
        """Ask all registries again."""
        with self._lock:
            self._answers.clear()
            self._seen = None
            if self._reader is not None:
                self._reader.forget()

    def _work(self) -> None:
        while True:
            with self._lock:
                todo, self._next = self._next, None
                if todo is None:
                    self._works = False
                    return
            try:
                self._read(*todo)
            except Exception as error:  # noqa: BLE001 (an unreadable key; a defect must not look like loading)
                failed = ModuleSignature(SignatureStatus.UNKNOWN, why=sanitize(str(error)))
                self._publish({row.name: failed for row in todo[0].rows})

    def _read(self, catalog: Catalog, snapshot: Snapshot) -> None:
        reader = self._open()
        questions = catalog_questions(catalog, snapshot, self._options.registry, self._memory)
        self._publish(self._named(questions))

        def publish_answer(question: SignatureQuestion, answer: ModuleSignature) -> None:
            with self._lock:
                self._answers[question.key] = answer
            self._publish(self._named(questions))

        with self._lock:
            keys = {question.key for question in questions.values()}
            self._answers = {key: answer for key, answer in self._answers.items() if key in keys}
            open_questions = [question for question in questions.values() if question.key not in self._answers]
        read_signatures(reader, open_questions, publish_answer)

    def _named(self, questions: Mapping[str, SignatureQuestion]) -> dict[str, ModuleSignature]:
        with self._lock:
            loading = ModuleSignature(SignatureStatus.LOADING)
            return {name: self._answers.get(question.key, loading) for name, question in questions.items()}

    def _publish(self, known: Mapping[str, ModuleSignature]) -> None:
        with self._lock:
            is_news, self._known = known != self._known, known
        if is_news:
            self._changed()

    def _open(self) -> SignatureReader:
        if self._reader is None:
            self._reader = signature_reader(open_registries(self._options), self._public_key)
        return self._reader
