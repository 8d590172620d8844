"""Resource quotas: usage of objects and refusal beyond the limit.

Usage is counted in the store on every check, so a quota applies from its creation. On a real server it applies after
the first count of the quota controller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction

from kymatui.sandbox.apimachinery.object_store import ObjectStore
from kymatui.sandbox.apimachinery.statuses import forbidden
from kymatui.sandbox.apiserver.resources.request_meta import metadata_of
from kymatui.sandbox.apiserver.resources.resource import Object
from kymatui.schemas.values.quantity import amount, canonical

QUOTAS = "resourcequotas"
Usage = dict[str, Fraction]
_PLAIN = frozenset(
    ("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers", QUOTAS, "secrets", "services")
)
"""Resources that quotas also count by their bare names."""
_COMPUTED = ("cpu", "memory", "ephemeral-storage")
_SIDES = ("requests", "limits")
_DONE = ("Succeeded", "Failed")
_ONE = Fraction(1)


def check_quotas(store: ObjectStore, resource: str, obj: Object, old: Object | None = None) -> None:
    """Raise StatusError 403 if a new object, or the growth of an existing one, exceeds a quota."""
    metadata = metadata_of(obj)
    name = metadata.get("name") or ""
    for stored in store.walk(QUOTAS, metadata.get("namespace") or ""):
        quota = stored.body()
        if not _concerns(quota, resource, obj):
            continue
        hard: dict[str, str] = (quota.get("spec") or {}).get("hard") or {}
        missing = _missing(hard, obj) if resource == "pods" and old is None else {}
        if missing:
            named = "; ".join(f"{what} for: {','.join(who)}" for what, who in sorted(missing.items()))
            raise forbidden(resource, name, f"failed quota: {stored.name}: must specify {named}")
        before = usage(resource, old) if old is not None else {}
        more = {what: value - before.get(what, 0) for what, value in usage(resource, obj).items()}
        asked = {what: value for what, value in more.items() if what in hard and value > 0}
        used = object_usage(store, quota, asked)
        over = sorted(what for what, value in asked.items() if used[what] + value > amount(hard[what]))
        if over:
            raise forbidden(resource, name, f"exceeded quota: {stored.name}, {_shown(over, asked, used, hard)}")


def _shown(over: list[str], asked: Usage, used: Usage, hard: dict[str, str]) -> str:
    def listed(values: Callable[[str], str]) -> str:
        return ",".join(f"{what}={values(what)}" for what in over)

    parts = (
        f"requested: {listed(lambda what: format_usage(what, asked[what]))}",
        f"used: {listed(lambda what: format_usage(what, used[what]))}",
        f"limited: {listed(lambda what: hard[what])}",
    )
    return ", ".join(parts)


def object_usage(store: ObjectStore, quota: Object, names: Iterable[str]) -> Usage:
    """Return the usage of `names` by the objects in the quota's namespace."""
    namespace = metadata_of(quota).get("namespace") or ""
    total = {name: Fraction(0) for name in names}
    for resource in {_counted(name) for name in total}:
        for stored in store.walk(resource, namespace):
            body = stored.body()
            if _concerns(quota, resource, body):
                for name, value in usage(resource, body).items():
                    if name in total:
                        total[name] += value
    return total


def format_usage(name: str, value: Fraction) -> str:
    """Return a quantity as a status shows it: memory in powers of two, the rest in decimal."""
    if value.denominator == 1:
        return _binary(int(value)) if "memory" in name or "storage" in name else canonical(str(value))
    return canonical(f"{int(value * 1000)}m")


def _binary(value: int) -> str:
    return canonical(f"{value // 1024}Ki") if value and value % 1024 == 0 else canonical(str(value))


def _counted(name: str) -> str:
    """Return the resource that a quota name counts."""
    if name.startswith("count/"):
        return name.removeprefix("count/")
    if name in _PLAIN:
        return name
    if name.startswith("services."):
        return "services"
    return "persistentvolumeclaims" if name == "requests.storage" or "storageclass" in name else "pods"


def usage(resource: str, obj: Object) -> Usage:
    """Return the usage of one object under every name that counts it."""
    taken: Usage = {f"count/{resource}": _ONE}
    if resource == "pods":
        if (obj.get("status") or {}).get("phase") in _DONE:
            return taken
        taken |= _computed(obj.get("spec") or {})
    elif resource == "services":
        taken |= _exposed(obj.get("spec") or {})
    elif resource == "persistentvolumeclaims":
        taken |= _stored(obj.get("spec") or {})
    if resource in _PLAIN:
        taken[resource] = _ONE
    return taken


def _computed(spec: Object) -> Usage:
    taken: Usage = {}
    for side in _SIDES:
        for name in _COMPUTED:
            working = sum((_of(container, side, name) for container in spec.get("containers") or ()), Fraction(0))
            starting = max((_of(container, side, name) for container in spec.get("initContainers") or ()), default=0)
            taken[f"{side}.{name}"] = max(working, Fraction(starting))
            if side == "requests":
                taken[name] = taken[f"{side}.{name}"]
    return taken


def _of(container: Object, side: str, name: str) -> Fraction:
    resources: Object = container.get("resources") or {}
    quantity = (resources.get(side) or {}).get(name)
    if quantity is None and side == "requests":
        quantity = (resources.get("limits") or {}).get(name)
    return amount(quantity) if quantity is not None else Fraction(0)


def _missing(hard: dict[str, str], pod: Object) -> dict[str, list[str]]:
    """Return the containers that lack a request or limit which a quota requires."""
    missing: dict[str, list[str]] = {}
    containers = [*((pod.get("spec") or {}).get("containers") or ())]
    for bounded in hard:
        side, _, name = bounded.rpartition(".") if "." in bounded else ("requests", "", bounded)
        if name not in _COMPUTED or side not in _SIDES:
            continue
        without = sorted(str(c.get("name") or "") for c in containers if not _declares(c, side, name))
        if without:
            missing[bounded] = without
    return missing


def _declares(container: Object, side: str, name: str) -> bool:
    resources: Object = container.get("resources") or {}
    return any(name in (resources.get(section) or {}) for section in {side, "limits"})


def _exposed(spec: Object) -> Usage:
    kind = spec.get("type")
    ports = Fraction(len(spec.get("ports") or ()))
    if kind == "LoadBalancer":
        with_ports = spec.get("allocateLoadBalancerNodePorts") is not False
        return {"services.loadbalancers": _ONE, "services.nodeports": ports if with_ports else Fraction(0)}
    return {"services.nodeports": ports} if kind == "NodePort" else {}


def _stored(spec: Object) -> Usage:
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    asked = amount(size) if size is not None else Fraction(0)
    taken = {"requests.storage": asked, "storage": asked}
    name = spec.get("storageClassName")
    if name:
        prefix = f"{name}.storageclass.storage.k8s.io"
        taken |= {f"{prefix}/requests.storage": asked, f"{prefix}/persistentvolumeclaims": _ONE}
    return taken


def _concerns(quota: Object, resource: str, obj: Object) -> bool:
    """Return whether the quota applies; scopes restrict it to pods that match all of them."""
    spec: Object = quota.get("spec") or {}
    terms = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    terms += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return not terms or (resource == "pods" and all(_in_scope(term, obj.get("spec") or {}) for term in terms))


def _in_scope(term: Object, spec: Object) -> bool:
    scope, operator = term.get("scopeName"), term.get("operator")
    if scope == "PriorityClass":
        name, values = spec.get("priorityClassName") or "", term.get("values") or ()
        matches = {"In": name in values, "NotIn": name not in values, "Exists": bool(name), "DoesNotExist": not name}
        return matches.get(str(operator), False)
    limited = any((c.get("resources") or {}).get(side) for c in spec.get("containers") or () for side in _SIDES)
    ends = spec.get("activeDeadlineSeconds") is not None
    known = {"BestEffort": not limited, "NotBestEffort": limited, "Terminating": ends, "NotTerminating": not ends}
    return known.get(str(scope), False)
