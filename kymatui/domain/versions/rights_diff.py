"""What a role gains and loses: rights are compared, not the rules that grant them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Any, Final

from kymatui.domain.kubernetes.json_reader import objects_at, texts_at
from kymatui.domain.kubernetes.privileges import find_privileges
from kymatui.domain.versions.version_diff import ChangeKind, ValueChange, field_changes

MOST_RIGHTS: Final = 20_000
"""Rights of a role that are compared one by one; the rules of larger roles are compared as fields."""
_ANY: Final = "*"

Right = tuple[str, str, str, str]
"""API group ("URL" for a path), resource or path, verb, and the name of an object ("" for all)."""
_URL: Final = "URL"


def role_changes(key: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> Iterator[ValueChange]:
    """Yield what a Role or ClusterRole gains (added) and loses (removed), by resource, then dangerous permissions.

    A right that a wildcard of the other version covers is no difference.
    """
    kind, _, name = key.partition("/")
    old, new = objects_at(before or {}, "rules"), objects_at(after or {}, "rules")
    was, now = _rights(old), _rights(new)
    if was is None or now is None:
        yield from field_changes(before, after, key)
        return
    if before is None or after is None:
        yield from field_changes(before, after, key)  # the whole role
    else:
        yield from field_changes(_without_rules(before), _without_rules(after), key)
    for change, gained, covering in ((ChangeKind.ADDED, now, was), (ChangeKind.REMOVED, was, now)):
        for resource, verbs in _grown(gained, covering).items():
            yield _one_sided(change, f"{key} {resource}", ", ".join(verbs))
    had, has = (
        dict.fromkeys(privilege.message for privilege in find_privileges(kind, name, rules)) for rules in (old, new)
    )
    for change, ours, others in ((ChangeKind.ADDED, has, had), (ChangeKind.REMOVED, had, has)):
        yield from (_one_sided(change, f"{key} privilege", words) for words in ours if words not in others)


def gained_rights(kind: str, name: str, before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a role grants that it did not grant before: `secrets: get, list`, then dangerous permissions.

    Of a role with too many rights to compare, only whether its rules differ is known: "rules".
    """
    old, new = objects_at(before or {}, "rules"), objects_at(after or {}, "rules")
    was, now = _rights(old), _rights(new)
    if was is None or now is None:
        yield from ("rules",) if old != new else ()
        return
    yield from (f"{resource}: {', '.join(verbs)}" for resource, verbs in _grown(now, was).items())
    had = {privilege.message for privilege in find_privileges(kind, name, old)}
    yield from dict.fromkeys(
        privilege.message for privilege in find_privileges(kind, name, new) if privilege.message not in had
    )


def _grown(gained: Iterable[Right], covering: Mapping[Right, None]) -> dict[str, list[str]]:
    """Return the verbs by resource of rights that no other right covers."""
    return _by_resource(right for right in gained if not _is_covered(right, covering))


def _one_sided(kind: ChangeKind, path: str, value: str) -> ValueChange:
    return ValueChange(kind, path, None, value) if kind is ChangeKind.ADDED else ValueChange(kind, path, value, None)


def _without_rules(role: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in role.items() if key != "rules"}


def _rights(rules: Iterable[Mapping[str, Any]]) -> dict[Right, None] | None:
    """Return the rights of rules in their order; None if there are too many."""
    rights: dict[Right, None] = {}
    for rule in rules:
        verbs, names = texts_at(rule, "verbs"), texts_at(rule, "resourceNames") or [""]
        groups, resources, paths = (texts_at(rule, field) for field in ("apiGroups", "resources", "nonResourceURLs"))
        if len(rights) + (len(groups) * len(resources) * len(names) + len(paths)) * len(verbs) > MOST_RIGHTS:
            return None
        rights.update(dict.fromkeys(product(groups, resources, verbs, names)))
        rights.update(dict.fromkeys(product([_URL], paths, verbs, [""])))
    return rights


def _is_covered(right: Right, others: Mapping[Right, None]) -> bool:
    """Return whether rights include one, as the API server's authorizer matches wildcards."""
    group, resource, verb, name = right
    if group == _URL:
        return any(
            other[0] == _URL and other[2] in (verb, _ANY) and _matches_path(other[1], resource) for other in others
        )
    _, slash, part = resource.partition("/")
    resources = (resource, _ANY, f"{_ANY}/{part}") if slash else (resource, _ANY)
    return any(needed_right in others for needed_right in product((group, _ANY), resources, (verb, _ANY), {name, ""}))


def _matches_path(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith(_ANY) and path.startswith(pattern[:-1]))


def _by_resource(rights: Iterable[Right]) -> dict[str, list[str]]:
    """Return the verbs by resource as kubectl writes it: `deployments.apps`, with the name of an object."""
    verbs: dict[str, list[str]] = {}
    for group, resource, verb, name in rights:
        plain = resource if group in ("", _URL) else f"{resource}.{group}"
        verbs.setdefault(f"{plain} named {name}" if name else plain, []).append(verb)
    return verbs
