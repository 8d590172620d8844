"""The thread that decides what is watched survives whatever goes wrong in it."""

from __future__ import annotations

import threading

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.watch.watch_cache import ChangeBell
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import DefectError
from kymatui.sessions.feeds.feed_director import FeedDirector
from kymatui.sessions.feeds.feeds import Feeds
from tests.adapters.clusters import eventually, transport


def test_a_defect_becomes_the_failure_and_is_tried_again() -> None:
    rung, calls = threading.Event(), []
    bell = ChangeBell()
    bell.on_change = rung.set
    feeds = Feeds(Client(transport("http://127.0.0.1:9")), bell.ring)
    feeds.expect(["kymas"])

    def arrange() -> None:
        calls.append(director.failure)
        if len(calls) == 1:
            raise ValueError("broken")

    director = FeedDirector("director", arrange, lambda: None, feeds, bell)
    director.start()
    eventually(lambda: len(calls) == 2)
    assert isinstance(calls[1], DefectError)
    assert rung.is_set()
    assert feeds.states()["kymas"].state is FeedState.FAILED
    eventually(lambda: director.failure is None)
    director.close()
