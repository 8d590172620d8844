"""References are looked up once each, and an answer is never mistaken for another one."""

from __future__ import annotations

import pytest

from kymatui.actions.describe import MOST_LOOKED_UP, describe_object
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.objects.references import ReferenceState
from kymatui.domain.snapshot.snapshots import Object
from kymatui.errors import ForbiddenError, KymatuiError, NotFoundError, UnreachableError
from tests.domain.test_descriptions import POD_SPEC, raw

POD = ObjectRef(GroupVersionKind("", "v1", "Pod"), "ns", "one")


class Server:
    def __init__(self, pod: Object, **answers: Object | KymatuiError) -> None:
        self._pod = pod
        self._answers = answers
        self.reads: list[ObjectRef] = []

    def read(self, ref: ObjectRef) -> Object:
        self.reads.append(ref)
        answer: Object | KymatuiError = (
            self._pod if ref == POD else self._answers.get(ref.name, {"kind": ref.kind.kind})
        )
        if isinstance(answer, KymatuiError):
            raise answer
        return answer


def test_each_object_is_read_once_and_its_keys_are_checked() -> None:
    server = Server(
        raw("Pod", "v1", POD_SPEC),
        token=NotFoundError("not found"),
        pull=ForbiddenError("no"),
        conf=UnreachableError("silent"),
        mode={"data": {"y": "1"}},
    )
    found = {one.reference.where: one.resolution for one in describe_object(server.read, POD).references}
    assert found["container manager: env TOKEN"] is ReferenceState.MISSING
    assert found["image pull Secret"] is ReferenceState.FORBIDDEN
    assert found["volume conf"] is ReferenceState.UNKNOWN
    assert found["container manager: env MODE"] is ReferenceState.NO_KEY
    assert found["volume certs"] is ReferenceState.FOUND, "keys of a Secret are not read"
    assert len(server.reads) == len(set(server.reads))


def test_an_object_that_cannot_be_read_is_an_error() -> None:
    server = Server(raw("Pod", "v1"))
    with pytest.raises(KymatuiError):
        describe_object(Server(NotFoundError("gone")).read, POD)  # type: ignore[arg-type]
    assert describe_object(server.read, POD).references == ()


def test_a_hostile_number_of_references_is_not_looked_up() -> None:
    names = [{"name": f"v{number}", "secret": {"secretName": f"s{number}"}} for number in range(MOST_LOOKED_UP + 30)]
    server = Server(raw("Pod", "v1", {"volumes": names}))
    found = describe_object(server.read, POD)
    assert (len(server.reads), found.left_out) == (MOST_LOOKED_UP + 1, 30)
