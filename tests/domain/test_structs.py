"""Methods of data classes that treat some fields otherwise than the library does."""

from __future__ import annotations

from msgspec import Struct

from kymatui.structs import compare_by, hash_by, repr_without


class Login(Struct, frozen=True):
    host: str
    password: str = ""
    labels: dict[str, str] = {}

    __repr__ = repr_without("password")
    __hash__ = hash_by("host", "password")


class Target(Struct, frozen=True):
    name: str
    version: str
    reader: object = None

    __eq__, __hash__ = compare_by("name", "version")


def test_a_hidden_field_is_in_no_text_of_an_instance() -> None:
    assert repr(Login("a", "s3cret")) == f"{Login('a', 's3cret')}" == "Login(host='a', labels={})"


def test_fields_that_have_no_hash_still_compare() -> None:
    login = Login("a", "x", {"k": "v"})
    assert hash(login) == hash(Login("a", "x"))
    assert login != Login("a", "x")
    assert login == Login("a", "x", {"k": "v"})


def test_fields_that_are_no_part_of_the_value_do_not_compare() -> None:
    assert Target("a", "1", object()) == Target("a", "1", object())
    assert len({Target("a", "1", object()), Target("a", "1", object()), Target("a", "2")}) == 2
    assert Target("a", "1") != Login("a", "1")
