"""Rows in the place of objects: what changed since the last look, and lists that come in parts."""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import msgspec

from kymatui.adapters.kube.watch.projections import FleetKyma
from kymatui.adapters.kube.watch.watch_cache import Key, RowStore
from kymatui.domain.fleet.runtimes import read_runtime
from kymatui.domain.kyma.kymas import Kyma, read_kyma

A, B, C = ("ns", "a"), ("ns", "b"), ("ns", "c")


def store() -> RowStore:
    return RowStore(lambda: None, lambda item: item["metadata"]["name"].upper())


def test_only_what_reading_makes_of_an_object_is_kept() -> None:
    assert store().keep({"metadata": {"name": "a"}}) == "A"


def test_each_look_is_told_what_changed_since_the_one_before() -> None:
    rows = store()
    rows.replace({A: "A1", B: "B1"})  # type: ignore[dict-item]
    assert rows.changes() == {A: "A1", B: "B1"}
    assert rows.changes() == {}
    rows.put(A, "A2")  # type: ignore[arg-type]
    rows.put(A, "A3")  # type: ignore[arg-type]
    rows.drop(B)
    assert rows.changes() == {A: "A3", B: None}


def test_parts_of_the_first_list_are_there_before_it_is_whole() -> None:
    rows = store()
    rows.arrive({A: "A1"})  # type: ignore[dict-item]
    assert rows.changes() == {A: "A1"}
    rows.replace({A: "A1", B: "B1"})  # type: ignore[dict-item]
    assert rows.changes() == {B: "B1"}


def test_a_list_that_comes_anew_takes_away_nothing_before_it_is_whole() -> None:
    rows = store()
    rows.replace({A: "A1", B: "B1"})  # type: ignore[dict-item]
    rows.changes()
    rows.arrive({C: "C1"})  # type: ignore[dict-item]
    assert rows.changes() == {}
    rows.replace({A: "A1", C: "C1"})  # type: ignore[dict-item]
    assert rows.changes() == {B: None, C: "C1"}


def everything_of_a_kyma() -> Kyma:
    """A Kyma in which each field that a row of the fleet reads has a value of its own."""
    tracked = {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": "ModuleTemplate",
        "metadata": {"name": "keda-1.2.0", "namespace": "kcp-system", "generation": 4},
    }
    entry = {
        "name": "keda",
        "channel": "fast",
        "version": "1.2.0",
        "message": "text",
        "state": "Ready",
        "maintenance": True,
        "template": tracked,
    }
    raw = {
        "apiVersion": "operator.kyma-project.io/v1beta2",
        "kind": "Kyma",
        "metadata": {"name": "a", "namespace": "kcp-system", "uid": "1", "resourceVersion": "7", "labels": {"a": "b"}},
        "spec": {"channel": "regular", "skipMaintenanceWindows": True, "modules": [{"name": "keda", "managed": False}]},
        "status": {
            "state": "Ready",
            "activeChannel": "fast",
            "lastOperation": {"operation": "done", "lastUpdateTime": "2026-01-01T00:00:00Z"},
            "modules": [entry],
            "conditions": [{"type": "Modules", "status": "True", "reason": "Ready", "message": "x"}],
        },
    }
    found = read_kyma(raw)
    assert isinstance(found, Kyma)
    return found


def test_a_row_of_the_fleet_is_the_same_from_what_is_kept_of_a_kyma() -> None:
    whole = everything_of_a_kyma()
    kept = read_kyma(msgspec.json.decode(msgspec.json.encode(whole.raw), type=FleetKyma))
    assert isinstance(kept, Kyma)
    assert read_runtime(kept, {}) == read_runtime(whole, {})
    assert kept.skip_maintenance_windows is whole.skip_maintenance_windows is True
    assert kept.modules == whole.modules
    assert kept.conditions == whole.conditions


def test_a_reader_misses_no_change_that_is_made_while_it_reads() -> None:
    """A row that is reported as changed before it is stored would be read as deleted, and never again."""
    rows, read, done = RowStore(lambda: None, lambda item: item), dict[Key, Any](), threading.Event()

    def follow() -> None:
        while not done.is_set():
            take()

    def take() -> None:
        for key, row in rows.changes().items():
            if row is None:
                read.pop(key, None)
            else:
                read[key] = row

    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    reader = threading.Thread(target=follow)
    reader.start()
    try:
        drawn = random.Random(1)
        for turn in range(6000):
            key = ("", f"{drawn.randrange(5)}")
            match drawn.randrange(3):
                case 0:
                    rows.put(key, {"turn": turn})
                case 1:
                    rows.drop(key)
                case _:
                    rows.replace({key: {"turn": turn}})
            # the reader has come to rest: nothing later may mend what it missed
            if turn % 20 == 0:
                wanted, end = {one: rows._objects.get(one) for one in sorted(rows.keys())}, time.monotonic() + 10
                while read != wanted and time.monotonic() < end:
                    time.sleep(0.001)
                assert read == wanted, turn
    finally:
        done.set()
        reader.join()
        sys.setswitchinterval(switch)
