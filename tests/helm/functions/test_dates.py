"""Times: layouts, zones, spans. The clock is the caller's."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kymatui.helm.gotime.calendar import civil_from_days, days_from_civil
from kymatui.helm.gotime.durations import format_duration, parse_duration
from kymatui.helm.language.environment import Environment
from tests.helm.functions.expressions import evaluate, failure, render

MOMENT = 'toDate "2006-01-02T15:04:05.999Z07:00" "2024-02-29T13:04:05.25Z"'


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("2006-01-02", "2024-02-29"),
        ("Mon Jan _2 15:04:05 2006", "Thu Feb 29 13:04:05 2024"),
        ("Monday, January 2, 06 at 3:04pm", "Thursday, February 29, 24 at 1:04pm"),
        ("20060102150405", "20240229130405"),
        ("002 __2", "060  60"),
        ("05.000 05.999999 5,00", "05.250 05.25 5,25"),
        ("Z07:00 -0700 -07 MST", "Z +0000 +00 UTC"),
        ("_2006 Janu", "_2024 Janu"),
        ("03 PM 1 4", "01 PM 2 4"),
        ("no layout at all", "no layout at all"),
    ],
)
def test_a_layout_is_an_example(layout: str, text: str) -> None:
    assert render('{{ dateInZone "' + layout + '" (' + MOMENT + ') "UTC" }}') == text


@pytest.mark.parametrize(
    ("zone", "text"),
    [
        ("UTC", "13:04 +0000 UTC"),
        ("America/New_York", "08:04 -0500 EST"),
        ("Asia/Kolkata", "18:34 +0530 IST"),
        ("No/Such_Zone", "13:04 +0000 UTC"),
        ("../../etc/passwd", "13:04 +0000 UTC"),
        ("", "13:04 +0000 UTC"),
    ],
)
def test_a_zone_that_is_not_known_is_utc(zone: str, text: str) -> None:
    assert render('{{ dateInZone "15:04 -0700 MST" (' + MOMENT + ') "' + zone + '" }}') == text


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("now", "2024-02-29 12:30:15.25 +0000 UTC"),
        ('date "2006-01-02 15:04" now', "2024-02-29 12:30"),
        ('date "2006" 0', "1970"),
        ('date "2006" (int64 86400000)', "1972"),
        ('date "2006" "no time"', "2024"),  # now
        ("htmlDate now", "2024-02-29"),
        ('htmlDateInZone now "Pacific/Auckland"', "2024-03-01"),
        ('now | dateModify "-1.5h" | date "15:04"', "11:00"),
        ('now | dateModify "nonsense" | date "15:04"', "12:30"),
        ("now | unixEpoch", "1709209815"),
        ('ago (toDate "2006-01-02" "2024-02-29")', "12h30m15s"),
        ('duration "95"', "1m35s"),
        ("duration 95", "0s"),  # an int is neither a text nor an int64
        ("duration (int64 95)", "1m35s"),
        ('durationRound "2h10m5s"', "2h"),
        ('durationRound "9000h"', "1y"),
        ('durationRound "2400h10m5s"', "3mo"),
        ('durationRound "800ms"', "0s"),
        ('toDate "2006-01-02" "x"', "0001-01-01 00:00:00 +0000 UTC"),
        ("now.Year", "2024"),
        ("now.Month", "February"),
        ('printf "%d" now.Month', "2"),
        ("now.Weekday", "Thursday"),
        ("now.Weekday.String", "Thursday"),
        ("now.UTC.Location", "UTC"),
        ("(now.In now.UTC.Location).Hour", "12"),
        ('(dateModify "1h" now).IsDST', "false"),
        ('printf "%s" now.UTC.MarshalText', "2024-02-29T12:30:15.25Z"),
        ('printf "%#v" now.UTC', "time.Date(2024, time.February, 29, 12, 30, 15, 250000000, time.UTC)"),
        ('now.UTC.Format "3PM"', "12PM"),
        ('(now.AddDate 1 0 1).Format "2006-01-02"', "2025-03-02"),
        ('(now.Sub (toDate "2006-01-02" "2024-02-28")).Hours', "36.50423611111111"),
        ("toJson now", '"2024-02-29T12:30:15.25Z"'),
        ("typeOf now", "time.Time"),
    ],
)
def test_times(expression: str, result: str) -> None:
    assert evaluate(expression) == result


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("now.Clock", "function Clock has 3 return values; should be 1 or 2"),
        ("now.ISOWeek", "invalid function signature for ISOWeek: second return value should be error; is int"),
        ("now.In nil", "time: missing Location in call to Time.In"),
    ],
)
def test_what_templates_cannot_have_of_a_time(expression: str, complaint: str) -> None:
    assert complaint in failure(expression)


@pytest.mark.parametrize(
    ("layout", "text", "complaint"),
    [
        ("2006-01-02", "24-2-9", 'parsing time "24-2-9" as "2006-01-02": cannot parse "24-2-9" as "2006"'),
        ("2006-01-02", "2024-13-01", 'parsing time "2024-13-01": month out of range'),
        ("2006-01-02", "2023-02-29", 'parsing time "2023-02-29": day out of range'),
        ("15:04", "25:00", 'parsing time "25:00": hour out of range'),
        ("2006", "2024x", 'parsing time "2024x": extra text: "x"'),
        ("Jan", "Fab", 'parsing time "Fab" as "Jan": cannot parse "Fab" as "Jan"'),
        ("2006-002", "2023-366", 'parsing time "2023-366": day-of-year out of range'),
    ],
)
def test_a_text_that_does_not_fit_its_layout(layout: str, text: str, complaint: str) -> None:
    assert failure(f'mustToDate "{layout}" "{text}"') == complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", 'time: invalid duration ""'),
        ("5", 'time: missing unit in duration "5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ("1e3h", 'time: unknown unit "e" in duration "1e3h"'),
        ("9999999h", 'time: invalid duration "9999999h"'),
        (".h", 'time: invalid duration ".h"'),
    ],
)
def test_a_text_that_is_no_span(text: str, complaint: str) -> None:
    assert failure(f'mustDateModify "{text}" now') == complaint


def test_local_time_is_that_of_the_callers_clock() -> None:
    berlin = Environment(now=lambda: datetime(2024, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")))
    assert evaluate('date "15:04 MST" now', environment=berlin) == "12:00 CEST"
    assert evaluate('date "15:04 MST" 0', environment=berlin) == "01:00 CET"
    assert evaluate('toDate "2006-01-02" "2024-01-01"', environment=berlin) == "2024-01-01 00:00:00 +0100 CET"


@given(st.integers(-5_000_000, 5_000_000))
def test_days_come_back(days: int) -> None:
    assert days_from_civil(*civil_from_days(days)) == days


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_spans_come_back(nanoseconds: int) -> None:
    assert parse_duration(format_duration(nanoseconds)) == nanoseconds
