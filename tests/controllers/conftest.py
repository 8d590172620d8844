"""A Manifest and its controller, in a namespace of the test's own."""

from __future__ import annotations

import pytest

from tests.controllers.desks import Desk
from tests.engine.conftest import engine_sandbox, place
from tests.engine.places import Place

__all__ = ("engine_sandbox", "place")


@pytest.fixture
def desk(place: Place) -> Desk:
    place.raw.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place.namespace}}, manager="test")
    return Desk(place)
