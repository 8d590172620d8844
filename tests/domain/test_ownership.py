"""Whose an object is, and what its annotation keeps: by tables."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.ownership import (
    RESOURCE_POLICY,
    ObjectOwnership,
    OwnedObject,
    describe_objects,
    ownership_of,
    resource_policy,
)

USER, DEFAULT_CR = ObjectOwnership.USER, ObjectOwnership.DEFAULT_CR


def with_policy(value: object) -> dict[str, Any]:
    return {"metadata": {"name": "a", "annotations": {RESOURCE_POLICY: value}}}


@pytest.mark.parametrize("value", ["keep", " keep ", "Keep", "KEEP", "\tkeep\n", "\u00a0keep"])
def test_keep_is_spelled_as_helm_takes_it(value: str) -> None:
    assert resource_policy(with_policy(value)) == "kept by its annotation helm.sh/resource-policy"


@pytest.mark.parametrize("value", ["retain", "delete", "", "keep it", 1])
def test_another_policy_is_not_keep_and_helm_deletes_no_object_with_it(value: object) -> None:
    assert resource_policy(with_policy(value)).startswith("its annotation helm.sh/resource-policy is ")


@pytest.mark.parametrize("body", [{}, {"metadata": {}}, {"metadata": {"annotations": None}}, {"metadata": None}])
def test_without_the_annotation_nothing_keeps_an_object(body: dict[str, Any]) -> None:
    assert resource_policy(body) == ""


@pytest.mark.parametrize(
    ("facts", "ownership"),
    [
        ("", ObjectOwnership.USER),
        ("installed", ObjectOwnership.MODULE),
        ("default", ObjectOwnership.DEFAULT_CR),
        ("installed default", ObjectOwnership.DEFAULT_CR),
        ("installed keeps", ObjectOwnership.KEPT),
        ("default keeps", ObjectOwnership.KEPT),
        ("keeps", ObjectOwnership.KEPT_BY_USER),
        ("keeps any_software", ObjectOwnership.KEPT_BY_USER),
        ("any_software", ObjectOwnership.SHARED),
        ("installed any_software", ObjectOwnership.MODULE),
    ],
)
def test_whose_an_object_is(facts: str, ownership: ObjectOwnership) -> None:
    names = ("installed", "default", "keeps", "any_software")
    assert ownership_of(**{name: name in facts.split() for name in names}) is ownership


def test_only_the_modules_and_users_objects_can_be_deleted() -> None:
    assert {one for one in ObjectOwnership if not one.stays} == {ObjectOwnership.MODULE, DEFAULT_CR, USER}


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([("Function", USER, "")] * 3 + [("Serverless", DEFAULT_CR, "")], "3 Functions of users and the default CR"),
        ([("Serverless", DEFAULT_CR, "")], "the default CR"),
        ([("Serverless", DEFAULT_CR, "")] * 2, "2 default CRs"),
        ([("APIRule", USER, "")], "1 APIRule of users"),
        ([("APIRule", USER, ""), ("Policy", USER, "")] * 2, "2 APIRules, 2 Policies of users"),
        ([("Ingress", USER, "")] * 2, "2 Ingresses of users"),
        (
            [("APIRule", USER, ""), ("APIRule", USER, "Helm release shop/web"), ("Kyma", DEFAULT_CR, "")],
            "1 APIRule of users, 1 APIRule of the Helm release shop/web and the default CR",
        ),
        ([], ""),
    ],
)
def test_consent_names_kinds_and_owners(objects: list[tuple[str, ObjectOwnership, str]], words: str) -> None:
    some = [OwnedObject(f"{kind} a/b", kind, ownership, owner) for kind, ownership, owner in objects]
    assert describe_objects(some) == words
