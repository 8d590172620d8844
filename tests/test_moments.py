"""Points in time are read the same on every Python."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kymatui.moments import parse_moment


@pytest.mark.parametrize(
    "text", ["2020-01-01T24:00:00Z", "2020-01-01 24:00:00+00:00", "2020-01-01T24:00Z", "2020-02-30T00:00:00Z", ""]
)
def test_what_go_takes_for_no_time_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"hour|day|Invalid"):
        parse_moment(text)


def test_a_time_in_rfc_3339_is_read() -> None:
    assert parse_moment("2020-01-01T23:59:59Z") == datetime(2020, 1, 1, 23, 59, 59, tzinfo=UTC)
