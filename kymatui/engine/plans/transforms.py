"""Transforms of every object in a bundle before planning: labels, annotations, images, pull secrets.

A transform is a function from an object to an object. It returns a new object if it changes something, because
sources keep what they read. Callers can add their own:

    bundle = apply_transforms(bundle, [with_labels({"team": "a"}), with_images(["mirror.example/manager:1.2.3"]), mine])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.image_references import Image, parse_image
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Object
from kymatui.errors import ConfigurationError

if TYPE_CHECKING:
    from kymatui.engine.bundles.bundle import Bundle

Transform = Callable[[Object], Object]
Container = dict[str, Any]

PULL_SECRET_VARIABLE: Final = "SKR_IMG_PULL_SECRET"  # noqa: S105 (a name, not a password)
_TEMPLATED: Final = frozenset(["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "ReplicationController"])
_CONTAINERS: Final = ("containers", "initContainers")


def apply_transforms(bundle: Bundle, transforms: Iterable[Transform]) -> Bundle:
    """Return the bundle with the transforms applied in sequence; the default CR stays the same."""
    steps = tuple(transforms)

    def run(body: Object) -> Object:
        for step in steps:
            body = step(body)
        return body

    return replace(
        bundle,
        objects=tuple(map(run, bundle.objects)),
        crds=tuple(map(run, bundle.crds)),
        hooks=tuple(replace(hook, body=run(hook.body)) for hook in bundle.hooks),
    )


def with_labels(labels: Mapping[str, str]) -> Transform:
    """Return a transform that sets labels of the object itself, not of its pod templates."""
    return lambda body: _with_metadata(body, "labels", labels)


def with_annotations(annotations: Mapping[str, str]) -> Transform:
    """Return a transform that sets annotations of the object itself."""
    return lambda body: _with_metadata(body, "annotations", annotations)


def _with_metadata(body: Object, field: str, texts: Mapping[str, str]) -> Object:
    metadata = body.get("metadata") or {}
    return {**body, "metadata": {**metadata, field: {**(metadata.get(field) or {}), **texts}}}


def with_images(images: Sequence[str]) -> Transform:
    """Return a transform that replaces images with the same name and tag, like `localizedImages`.

    It covers containers, init containers and their environment values. Raises ConfigurationError for an invalid
    image reference.
    """
    known: dict[tuple[str, str], str] = {}
    for text in images:
        image = parse_image(text)
        if image is None:
            raise ConfigurationError(f"{text!r} is not an image", hint="write registry/repository:tag")
        known.setdefault((image.name, image.tag), _full(image))

    def found(text: Any) -> str | None:
        image = parse_image(text) if isinstance(text, str) else None
        return known.get((image.name, image.tag)) if image else None

    return lambda body: _with_containers(body, lambda container: _localized(container, found)) if known else body


def _full(image: Image) -> str:
    tag = f":{image.tag}" if image.tag else ""
    return f"{image.registry}/{image.repository}{tag}" + (f"@{image.digest}" if image.digest else "")


def _localized(container: Container, lookup: Callable[[Any], str | None]) -> Container:
    image = lookup(container.get("image"))
    if image is not None:
        container = {**container, "image": image}
    variables = container.get("env")
    if isinstance(variables, list):
        container = {**container, "env": [_localized_variable(variable, lookup) for variable in variables]}
    return container


def _localized_variable(variable: Any, lookup: Callable[[Any], str | None]) -> Any:
    image = lookup(variable.get("value")) if isinstance(variable, dict) else None
    return variable if image is None else {**variable, "value": image}


def with_pull_secret(name: str, manager: ObjectRef | None = None, *, variable: str = "") -> Transform:
    """Return a transform that adds a pull secret to every workload.

    `variable` passes its name to the manager's containers; without a `manager`, to those of every workload. Raises
    ConfigurationError if the variable already exists.
    """

    def run(body: Object) -> Object:
        body = _with_pod(body, lambda spec: _pulling(spec, name))
        if not variable or (manager is not None and read_ref(body) != manager):
            return body
        return _with_containers(
            body, lambda container: _with_variable(container, variable, name, body), fields=("containers",)
        )

    return run


def _pulling(spec: Container, name: str) -> Container:
    secrets = [secret for secret in spec.get("imagePullSecrets") or [] if secret != {"name": name}]
    return {**spec, "imagePullSecrets": [*secrets, {"name": name}]}


def _with_variable(container: Container, variable: str, value: str, body: Object) -> Container:
    variables = container.get("env") or []
    if any(isinstance(entry, dict) and entry.get("name") == variable for entry in variables):
        raise ConfigurationError(f"{read_ref(body)}: container {container.get('name')} has the variable {variable}")
    return {**container, "env": [*variables, {"name": variable, "value": value}]}


def _with_containers(
    body: Object, change: Callable[[Container], Container], fields: Sequence[str] = _CONTAINERS
) -> Object:
    def run(spec: Container) -> Container:
        changed = dict(spec)
        for field in fields:
            if isinstance(spec.get(field), list):
                changed[field] = [
                    change(container) if isinstance(container, dict) else container for container in spec[field]
                ]
        return changed

    return _with_pod(body, run)


def _with_pod(body: Object, change: Callable[[Container], Container]) -> Object:
    """Return the object with its pod spec changed; objects without pods stay the same."""
    kind = body.get("kind")
    path: tuple[str, ...]
    if kind == "Pod":
        path = ("spec",)
    elif kind == "CronJob":
        path = ("spec", "jobTemplate", "spec", "template", "spec")
    elif kind in _TEMPLATED:
        path = ("spec", "template", "spec")
    else:
        return body
    return _changed(body, path, change)


def _changed(body: Object, path: tuple[str, ...], change: Callable[[Container], Container]) -> Object:
    if not path:
        return change(body)
    inner = body.get(path[0])
    return {**body, path[0]: _changed(inner, path[1:], change)} if isinstance(inner, dict) else body
