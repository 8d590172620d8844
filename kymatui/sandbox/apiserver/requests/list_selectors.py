"""Selection of objects for lists and watches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from kymatui.sandbox.apimachinery.object_store import Stored
from kymatui.sandbox.apimachinery.statuses import bad_request
from kymatui.sandbox.apiserver.requests.field_selector_parser import (
    FieldTerm,
    check_field,
    field_value,
    parse_field_selector,
)
from kymatui.sandbox.apiserver.requests.label_selector_parser import SelectorError, parse_label_selector
from kymatui.sandbox.apiserver.resources.resource import ServedResource

SelectorTest = Callable[[Stored], bool]


class ObjectSelector(Struct, frozen=True):
    """A test for objects; `everything` means that `matches` is always true."""

    everything: bool
    matches: SelectorTest


def parse_selectors(resource: ServedResource, labels: str, fields: str) -> ObjectSelector:
    """Return the selection of labels and fields. Raise StatusError 400."""
    tests: list[SelectorTest] = []
    try:
        if labels.strip():
            tests.append(_label_test(labels))
        if fields:
            tests += _field_tests(resource, parse_field_selector(fields))
    except SelectorError as error:
        raise bad_request(str(error)) from None
    if not tests:
        return ObjectSelector(True, lambda stored: True)
    if len(tests) == 1:
        return ObjectSelector(False, tests[0])
    return ObjectSelector(False, lambda stored: all(test(stored) for test in tests))


def _label_test(text: str) -> SelectorTest:
    selected = parse_label_selector(text)
    return lambda stored: selected(stored.labels)


def _field_tests(resource: ServedResource, terms: Sequence[FieldTerm]) -> list[SelectorTest]:
    tests: list[SelectorTest] = []
    others: list[FieldTerm] = []
    for term in terms:
        check_field(resource.full_name, term.field, resource.selectable_fields, custom=resource.custom)
        if term.field == "metadata.name":
            tests.append(_name_test(term))
        elif term.field == "metadata.namespace":
            tests.append(_namespace_test(term))
        else:
            others.append(term)
    if others:
        tests.append(_body_test(resource.full_name, others))
    return tests


def _name_test(term: FieldTerm) -> SelectorTest:
    return lambda stored: (stored.name == term.value) is term.equal


def _namespace_test(term: FieldTerm) -> SelectorTest:
    return lambda stored: (stored.namespace == term.value) is term.equal


def _body_test(resource: str, terms: Sequence[FieldTerm]) -> SelectorTest:
    def matches(stored: Stored) -> bool:
        body = stored.body()
        return all((field_value(resource, body, term.field) == term.value) is term.equal for term in terms)

    return matches
