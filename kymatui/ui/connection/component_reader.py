"""Components for the screen: read from registries or templates, each once until the user asks again."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from kymatui.actions.components.component_facts import (
    ShownComponent,
    descriptor_text,
    registry_location,
    resource_text,
    show_component,
    show_embedded,
)
from kymatui.actions.components.content_cache import ContentCache
from kymatui.actions.components.signature_reader import judge_signatures
from kymatui.actions.components.template_component import template_location
from kymatui.actions.modules.signatures import SignatureOptions, read_trust
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.kyma.module_templates import ModuleTemplate
from kymatui.domain.modules.state_checks import ModuleSignature, SignatureStatus
from kymatui.domain.snapshot.cluster_index import index_cluster
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.engine.sources.artifact_store import ContentStore
from kymatui.errors import KymatuiError
from kymatui.sessions.fetching import FetchOptions
from kymatui.sessions.registries import open_registries

MOST_COMPONENTS: Final = 16  # read components in memory; the oldest is dropped


class ReadComponent(Struct, frozen=True):
    """A component with the verdict on its signatures, and the store that its content comes from."""

    shown: ShownComponent
    signature: ModuleSignature
    store: ContentCache

    def text(self, number: int | None) -> str:
        """Return the content of a resource by its place in the descriptor, None for the descriptor. It blocks."""
        return descriptor_text(self.shown) if number is None else resource_text(self.store, self.shown, number)


class ComponentReader:
    """Reads components; methods block, and are thread-safe.

    `registry` has the components of templates without a descriptor; the key in the file `public_key` verifies.
    """

    def __init__(
        self, registry: str, public_key: str, open_store: Callable[[FetchOptions], ContentStore] = open_registries
    ) -> None:
        self._options = FetchOptions().with_registry(registry)
        self._public_key = public_key
        self._open_store = open_store
        self._lock = threading.Lock()
        self._known: OrderedDict[object, ReadComponent] = OrderedDict()

    def forget(self) -> None:
        """Read all components again."""
        with self._lock:
            self._known.clear()

    def of_reference(self, reference: str) -> ReadComponent:
        """Return the component of `HOST[:PORT][/PATH]//COMPONENT:VERSION`; only `http://` before it goes without TLS.

        Raise RegistryError, DescriptorError and SourceError.
        """
        location = registry_location(reference)
        options = self._options.with_registry(reference) if reference.startswith("http://") else self._options
        component = self._recall(reference)
        if component is None:
            store = ContentCache(self._open_store(options))
            component = self._keep(reference, show_component(store, location), store)
        return component

    def of_template(self, template: ModuleTemplate, snapshot: Snapshot) -> ReadComponent:
        """Return the component that a template holds, else the one in the registry. Raise also ConfigurationError."""
        embedded = show_embedded(template)
        if embedded is not None:
            return self._read(embedded, ContentCache(self._open_store(self._options)))
        templates = index_cluster(snapshot).templates
        location = template_location(template, templates, snapshot.manifests, self._options.registry)
        component = self._recall(location)
        if component is None:
            store = ContentCache(self._open_store(self._options))
            component = self._keep(location, show_component(store, location), store)
        return component

    def _recall(self, key: object) -> ReadComponent | None:
        with self._lock:
            return self._known.get(key)

    def _keep(self, key: object, shown: ShownComponent, store: ContentCache) -> ReadComponent:
        component = self._read(shown, store)
        with self._lock:
            self._known[key] = component
            while len(self._known) > MOST_COMPONENTS:
                self._known.popitem(last=False)
        return component

    def _read(self, shown: ShownComponent, store: ContentCache) -> ReadComponent:
        return ReadComponent(shown, self._judged(shown), store)

    def _judged(self, shown: ShownComponent) -> ModuleSignature:
        try:
            trust = read_trust(SignatureOptions(public_key=self._public_key)) if self._public_key else None
        except KymatuiError as error:  # an unusable key must not hide the component itself
            return ModuleSignature(SignatureStatus.UNKNOWN, why=sanitize(str(error)))
        return judge_signatures(shown.component.descriptor, trust)
