"""The embedded cluster as a test sees it: objects put and taken away over HTTP, faults, and sessions of its users."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import ConflictError, NotFoundError
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sandbox.world.modules.module_manifest import module_definition
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from tests import kube_writes
from tests.sandboxes.starting import ReadySandbox

Json = dict[str, Any]
STRICT, LOOSE, VIEWER = "strict", "loose", "viewer-of-tests"
GROUP = "operator.kyma-project.io"
NAMESPACE = "kyma-system"
KYMAS, TEMPLATES = f"kymas.{GROUP}", f"moduletemplates.{GROUP}"
METAS, MANIFESTS = f"modulereleasemetas.{GROUP}", f"manifests.{GROUP}"
DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
QUICK = WatchTiming(wait=lambda event, seconds: event.wait(min(seconds, 0.05)))
_LAX = {"validation": "Ignore"}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_READ = ("get", "list", "watch")
_EXEC = "client.authentication.k8s.io/v1"


def eventually(holds: Callable[[], bool], what: str = "", timeout: float = 60.0) -> None:
    """Waits until something that another process or thread does has happened."""
    deadline = time.monotonic() + timeout
    while not holds():
        assert time.monotonic() < deadline, f"it never happened: {what}"
        time.sleep(0.01)


class Embedded:
    """One cluster of a sandbox."""

    def __init__(self, kubeconfig: Path, name: str, folder: Path) -> None:
        self.kubeconfig, self.name = kubeconfig, name
        self._folder = folder
        self.client = Client(Transport(connect(str(kubeconfig), name, "")))
        self._faults = FaultClient.for_kubeconfig(kubeconfig, name)

    @staticmethod
    @contextlib.contextmanager
    def on(sandbox: ReadySandbox, name: str, folder: Path) -> Iterator[Embedded]:
        """Begins with what the sandbox began with, and leaves nothing behind."""
        cluster = Embedded(sandbox.kubeconfig, name, folder)
        try:
            cluster.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
            yield cluster
        finally:
            cluster.clean()
            cluster.client.transport.close()

    # objects

    def put(self, body: Json) -> Json:
        """Creates an object, or replaces what is there of that name but for its status."""
        resource = self.client.resource(GroupVersionKind.of(body["apiVersion"], body["kind"]))
        namespace = body["metadata"].get("namespace", "")
        try:
            written = kube_writes.create(self.client, resource, body, namespace, **_LAX)
        except ConflictError:
            name = body["metadata"]["name"]
            written = kube_writes.patch(self.client, resource, name, body, PatchKind.MERGE, namespace, **_LAX)
        if "status" in body:
            name = body["metadata"]["name"]
            with contextlib.suppress(NotFoundError):
                patch = {"status": body["status"]}
                written = kube_writes.patch(
                    self.client, resource, name, patch, PatchKind.MERGE, namespace, subresource="status", **_LAX
                )
        return dict(written)

    def ensure(self, body: Json) -> None:
        with contextlib.suppress(ConflictError):
            kube_writes.create(
                self.client,
                self.client.resource(GroupVersionKind.of(body["apiVersion"], body["kind"])),
                body,
                body["metadata"].get("namespace", ""),
            )

    def remove(self, resource: str, name: str, namespace: str = NAMESPACE) -> None:
        found = served(self.client, resource)
        kube_writes.delete(self.client, found, name, namespace if found.namespaced else "")

    # definitions

    def define(self, *definitions: Json) -> None:
        """Installs CustomResourceDefinitions, and waits until their kinds are served."""
        for definition in definitions:
            self.put(definition)
        kinds = [_first_served(definition["spec"]) for definition in definitions]
        eventually(lambda: self._serves(kinds), f"{kinds} are served")

    def undefine(self, name: str) -> None:
        """Takes a definition away, and waits until it is gone."""
        self.remove(DEFINITIONS, name)
        eventually(lambda: name not in self._definitions(), f"{name} is gone")
        self.client.discovery.invalidate()

    def define_kyma(self) -> None:
        self.define(*read_crds())

    def define_anything(self) -> None:
        """The same kinds, whose objects may hold anything."""
        self.define(*map(_without_schema, read_crds()))

    def define_module(self, name: str, version: str = "v1alpha1") -> None:
        self.define(module_definition(GROUP, name.capitalize(), f"{name}s", version))

    def _serves(self, kinds: Sequence[GroupVersionKind]) -> bool:
        self.client.discovery.invalidate()
        return all(self.client.discovery.find(kind) is not None for kind in kinds)

    def _definitions(self) -> set[str]:
        return {item["metadata"]["name"] for item in self.client.list(served(self.client, DEFINITIONS)).items}

    # a small Kyma

    def add_module(self, name: str, *, version: str = "1.0.0", state: str = "Ready") -> None:
        """A module that is installed as it should be: offered, asked for, reported, with its resource."""
        self.define_module(name)
        self.put(template(name, version))
        self.put(release_meta(name, version))
        self.put(resource(name, state))

    def add_kyma(self, *modules: str) -> None:
        self.put(kyma(*modules))

    # misbehaviour

    def fault(self, word: str, **given: Any) -> None:
        """One word of `kymatui sandbox fault`."""
        self._faults.send(word, given)

    def clear(self) -> None:
        self._faults.send("clear", {})

    # users

    def grant(self, name: str, *resources: str, namespace: str = "", verbs: Sequence[str] = _READ) -> None:
        """Lets the viewer list and watch resources, everywhere or in one namespace."""
        kind = "Role" if namespace else "ClusterRole"
        meta = {"name": name, **({"namespace": namespace} if namespace else {})}
        api = "rbac.authorization.k8s.io"
        rules = [
            {"apiGroups": [group], "resources": [plural], "verbs": list(verbs)}
            for plural, _, group in (resource.partition(".") for resource in resources)
        ]
        self.put({"apiVersion": f"{api}/v1", "kind": kind, "metadata": meta, "rules": rules})
        self.put(
            {
                "apiVersion": f"{api}/v1",
                "kind": f"{kind}Binding",
                "metadata": meta,
                "roleRef": {"apiGroup": api, "kind": kind, "name": name},
                "subjects": [{"apiGroup": api, "kind": "Group", "name": "viewers"}],
            }
        )

    def kubeconfig_of_viewer(self) -> Path:
        document = yaml.load(self.kubeconfig.read_text(), Loader=_LOADER)
        for user in document["users"]:
            user["user"] = {"token": VIEWER}
        path = self._folder / "viewer"
        path.write_text(yaml.safe_dump(document))
        return path

    def kubeconfig_with_plugin(self, tokens: Path) -> Path:
        """The user is whoever the last word of a file of tokens is, as a plugin finds it; its calls are noted."""
        program = self._folder / "plugin.py"
        program.write_text(
            "import json, pathlib\n"
            f"file = pathlib.Path({str(tokens)!r})\n"
            "token = file.read_text().split()[-1]\n"
            "file.with_suffix('.calls').open('a').write(token + '\\n')\n"
            f"print(json.dumps({{'apiVersion': {_EXEC!r}, 'kind': 'ExecCredential', 'status': {{'token': token}}}}))\n"
        )
        plan = {"apiVersion": _EXEC, "command": sys.executable, "args": [str(program)], "interactiveMode": "Never"}
        document = yaml.load(self.kubeconfig.read_text(), Loader=_LOADER)
        for user in document["users"]:
            user["user"] = {"exec": plan}
        path = self._folder / "with-plugin"
        path.write_text(yaml.safe_dump(document))
        return path

    def admin_token(self) -> str:
        document = yaml.load(self.kubeconfig.read_text(), Loader=_LOADER)
        context = next(item["context"] for item in document["contexts"] if item["name"] == self.name)
        return str(next(item["user"]["token"] for item in document["users"] if item["name"] == context["user"]))

    @contextlib.contextmanager
    def session(
        self, *, viewer: bool = False, wait: bool = True, timing: WatchTiming = QUICK, kubeconfig: Path | None = None
    ) -> Iterator[CatalogSession]:
        """A session of the admin, or of the viewer; complete when it begins, unless nothing is waited for."""
        path = kubeconfig or (self.kubeconfig_of_viewer() if viewer else self.kubeconfig)
        session = open_session(SessionOptions(str(path), self.name), timing)
        session.start(lambda: None)
        try:
            if wait:
                assert session.wait_complete(20)
            yield session
        finally:
            session.close()

    def clean(self) -> None:
        """Takes away faults, rights, definitions (and their objects with them) and events that a test made."""
        self.clear()
        self.fault("restore-token", token=VIEWER)
        self.client.discovery.invalidate()
        for name in self._definitions():
            self.remove(DEFINITIONS, name)
        for kind in ("ClusterRoleBinding", "RoleBinding", "Role", "ClusterRole"):
            self._remove_all(GroupVersionKind("rbac.authorization.k8s.io", "v1", kind), "test-")
        self._remove_all(GroupVersionKind("", "v1", "Event"), "")
        eventually(lambda: not self._definitions(), "all definitions are gone")

    def _remove_all(self, gvk: GroupVersionKind, prefix: str) -> None:
        kind = self.client.resource(gvk)
        for item in self.client.list(kind).items:
            metadata = item["metadata"]
            if metadata["name"].startswith(prefix):
                with contextlib.suppress(NotFoundError):
                    kube_writes.delete(self.client, kind, metadata["name"], metadata.get("namespace", ""))


def feed(session: CatalogSession, name: str) -> Feed:
    return session.feeds.get(name, Feed(FeedState.SYNCING))


def reaches(session: CatalogSession, name: str, state: FeedState) -> None:
    """Waits until a feed says this."""
    eventually(lambda: feed(session, name).state is state, f"{name} {state}, is {feed(session, name)}")


def all_live(session: CatalogSession) -> None:
    eventually(
        lambda: {found.state for found in session.feeds.values()} == {FeedState.LIVE}, f"all live, is {session.feeds}"
    )


def _first_served(spec: Json) -> GroupVersionKind:
    version = next(version["name"] for version in spec["versions"] if version["served"])
    return GroupVersionKind(spec["group"], version, spec["names"]["kind"])


def _without_schema(definition: Json) -> Json:
    spec = definition["spec"]
    loose = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {
            "name": version["name"],
            "served": version["served"],
            "storage": version["storage"],
            "schema": {"openAPIV3Schema": loose},
        }
        for version in spec["versions"]
    ]
    return {**definition, "spec": {**spec, "versions": versions}}


def served(client: Client, name: str) -> ApiResource:
    """Return the resource of a plural, with its group if it has one ("kymas.operator.kyma-project.io")."""
    return next(found for found in client.discovery.resources() if name in (found.name, found.plural))


def named(name: str, **more: Any) -> Json:
    return {"name": name, "namespace": NAMESPACE, **more}


def template(name: str, version: str) -> Json:
    data = {"apiVersion": f"{GROUP}/v1alpha1", "kind": name.capitalize(), "metadata": {"name": "default"}}
    spec = {"moduleName": name, "version": version, "data": data, "descriptor": {"component": {"name": name}}}
    labels = {"operator.kyma-project.io/managed-by": "kyma"}
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "ModuleTemplate",
        "metadata": named(f"{name}-{version}", labels=labels),
        "spec": spec,
    }


def release_meta(name: str, version: str) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "ModuleReleaseMeta",
        "metadata": named(name),
        "spec": {"moduleName": name, "channels": [{"channel": "regular", "version": version}]},
    }


def resource(name: str, state: str, version: str = "v1alpha1") -> Json:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": name.capitalize(),
        "metadata": named("default"),
        "spec": {},
        "status": {"state": state},
    }


def kyma(*modules: str) -> Json:
    reports = [{"name": name, "state": "Ready", "version": "1.0.0", "channel": "regular"} for name in modules]
    return {
        "apiVersion": f"{GROUP}/v1beta2",
        "kind": "Kyma",
        "metadata": named("default"),
        "spec": {"channel": "regular", "modules": [{"name": name, "managed": True} for name in modules]},
        "status": {"state": "Ready", "modules": reports},
    }
