"""CronJobs: when they fall due, what they start, and what they clear away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kymatui.sandbox.controllers.workloads.cronjob_controller import Schedule
from tests.sandbox.living import Living


def moment(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "zone", "after", "due"),
    [
        ("* * * * *", "", "2024-01-01T00:00:30", "2024-01-01T00:01:00"),
        ("*/15 * * * *", "", "2024-01-01T00:46:00", "2024-01-01T01:00:00"),
        ("5/20 * * * *", "", "2024-01-01T00:06:00", "2024-01-01T00:25:00"),
        ("0 3 * * *", "", "2024-01-01T03:00:00", "2024-01-02T03:00:00"),
        ("0 0 29 2 *", "", "2024-03-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 0 * * mon-fri", "", "2024-01-05T12:00:00", "2024-01-08T00:00:00"),
        ("0 0 13 * fri", "", "2024-01-01T00:00:00", "2024-01-05T00:00:00"),
        ("@weekly", "", "2024-01-01T00:00:00", "2024-01-07T00:00:00"),
        ("0 12 * * *", "Europe/Berlin", "2024-01-01T00:00:00", "2024-01-01T11:00:00"),
        ("@every 1h30m", "", "2024-01-01T00:00:00", "2024-01-01T01:30:00"),
    ],
)
def test_when_a_schedule_falls_due(schedule: str, zone: str, after: str, due: str) -> None:
    assert Schedule(schedule, zone).after(moment(after)) == moment(due)


def test_a_day_that_never_comes() -> None:
    assert Schedule("0 0 30 2 *").after(moment("2024-01-01T00:00:00")) is None


def cron_job(**spec: Any) -> dict[str, Any]:
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example/once:1"}]}
    template = {"spec": {"template": {"spec": pod}}}
    return {"metadata": {"name": "c"}, "spec": {"schedule": "* * * * *", "jobTemplate": template, **spec}}


def jobs(living: Living) -> list[str]:
    return sorted(stored.name for stored in living.server.store.select("jobs.batch"))


def test_a_job_a_minute_and_no_more_than_are_kept() -> None:
    living = Living()
    living.create("cronjobs.batch", cron_job(successfulJobsHistoryLimit=2))
    living.advance(70)
    first = jobs(living)
    assert len(first) == 1
    job = living.get("jobs.batch", first[0])
    assert job["metadata"]["ownerReferences"][0]["kind"] == "CronJob"
    status = living.status("cronjobs.batch", "c")
    assert {"lastScheduleTime", "lastSuccessfulTime"} <= status.keys()
    living.advance(240)
    assert len(jobs(living)) == 2
    assert first[0] not in jobs(living)


def test_nothing_starts_while_it_is_suspended() -> None:
    living = Living()
    living.create("cronjobs.batch", cron_job(suspend=True))
    living.advance(130)
    assert jobs(living) == []


def test_one_that_still_runs_keeps_the_next_back() -> None:
    living = Living()
    spec = cron_job(concurrencyPolicy="Forbid")
    spec["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example/broken:1"
    living.create("cronjobs.batch", spec)
    living.advance(190)
    assert len(jobs(living)) == 1
    assert len(living.status("cronjobs.batch", "c")["active"]) == 1
