"""lifecycle-manager's own configuration, given by a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from kymatui.domain.kyma.maintenance_windows import WindowPolicy
from kymatui.errors import ConfigurationError
from kymatui.sessions.cluster.catalog_session import open_session
from kymatui.sessions.cluster.controller_rules import read_configured_rules
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.adapters.clusters import eventually, serving, write_kubeconfig
from tests.sessions.worlds import kyma_cluster

POLICY = '{"rules": [], "default": {"days": ["Sat"], "begin": "21:00:00+00:00", "end": "00:00:00+00:00"}}'


def test_nothing_given_is_nothing_known() -> None:
    assert read_configured_rules("", ()) is None


def test_a_policy_and_names(tmp_path: Path) -> None:
    file = tmp_path / "policy.json"
    file.write_text(POLICY)
    found = read_configured_rules(str(file), ["one", "two"])
    assert found is not None
    assert isinstance(found.windows, WindowPolicy)
    assert found.restricted == {"one", "two"}


def test_the_real_policies(shared: Path) -> None:
    for name in ("policy.json", "testdata-policy.json"):
        found = read_configured_rules(str(shared / "kyma" / "maintenance-windows" / name), ())
        assert found is not None
        assert found.windows is not None
        assert found.windows.rules


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "No such file"),
        ("{", "is not a maintenance window policy"),
        ('{"rules": 5}', "is not a maintenance window policy"),
    ],
)
def test_a_file_that_is_none_is_said(tmp_path: Path, content: str | None, said: str) -> None:
    file = tmp_path / "policy.json"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigurationError, match=said):
        read_configured_rules(str(file), ())


def test_a_session_hands_them_on(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    with serving(cluster.respond) as address:
        options = SessionOptions(str(write_kubeconfig(tmp_path, address)), restricted_modules=("moduleaa",))
        session = open_session(options)
        session.start(lambda: None)
        try:
            eventually(lambda: bool(session.snapshot().templates))
            rules = session.snapshot().rules
            assert rules is not None
            assert rules.restricted == {"moduleaa"}
        finally:
            session.close()
            cluster.close()
