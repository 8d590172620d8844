"""`kymatui module`, `checks` and `drift`: what the screen explains, as text and as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import yaml
from msgspec.structs import replace

import kymatui.sessions.cluster.catalog_session as catalog_session
from kymatui.cli.main import main
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from tests.domain import builders as b
from tests.ui.worlds import world


class Session:
    """A session whose lists are complete at once, or never."""

    def __init__(self, snapshot: Snapshot, *, complete: bool = True) -> None:
        self._snapshot = snapshot
        self._complete = complete
        self.closed = False
        self.name = snapshot.cluster
        self.cluster = None  # asked only for --namespace

    @property
    def feeds(self) -> Mapping[str, Feed]:
        return self._snapshot.feeds

    def start(self, on_change: Callable[[], None]) -> None:
        del on_change

    def wait_complete(self, timeout: float) -> bool:
        assert timeout > 0
        return self._complete

    def require_kyma(self) -> None:
        pass

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Session:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    found = Session(world())
    monkeypatch.setattr(catalog_session, "open_session", lambda options: found)
    monkeypatch.setattr("time.time", lambda: b.NOW)
    return found


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(words)
    return status, *capsys.readouterr()


def test_module_tells_everything_in_order(capsys: pytest.CaptureFixture[str], session: Session) -> None:
    status, out, err = run(capsys, "module", "btp-operator")
    assert (status, err) == (0, "")
    facts = dict(line.split("   ", 1) for line in out.splitlines() if "   " in line)
    assert facts["installed"].strip() == "1.2.0"
    assert facts["desired"].strip() == "1.3.1"
    assert facts["who acts"].strip() == "you"
    assert "Secret sap-btp-manager not found" in facts["Kyma reports"]
    assert session.closed


def test_module_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "module", "btp-operator", "-o", "json")[1])
    assert (found["name"], found["state"], found["actor"]) == ("btp-operator", "Warning", "you")
    assert found["reports"]["resource"] == "Warning"
    assert {offer["version"] for offer in found["offers"]} == {"1.2.0", "1.3.1"}
    assert yaml.safe_load(run(capsys, "module", "btp-operator", "-o", "yaml")[1]) == found


@pytest.mark.parametrize(
    ("name", "hint"), [("btp-operatr", "did you mean btp-operator?"), ("zzz", "`kymatui catalog`")]
)
def test_an_unknown_module_is_an_error_with_a_suggestion(
    capsys: pytest.CaptureFixture[str], name: str, hint: str
) -> None:
    status, out, err = run(capsys, "module", name)
    assert (status, out) == (64, "")
    assert hint in err


def test_checks_are_listed_rule_by_rule(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "checks", "cloud-logging")
    assert status == 0
    lines = out.splitlines()
    why = "customStateCheck: all evaluated rules for Warning match"
    assert lines[0] == f"CloudLogging kyma-system/default: Warning, decided by {why}"
    assert lines[1].split() == ["#", "PATH", "EXPECTED", "ACTUAL", "RESULT", "MAPS", "TO"]
    assert lines[5].split() == ["4", "status.health", "yellow", "yellow", "match", "Warning"]


def test_checks_explain_the_groups(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "checks", "cloud-logging", "--explain")[1]
    assert "Ready: false\n" in out
    assert "Warning: true\n" in out


@pytest.mark.parametrize("mode", ["klm", "strict"])
def test_checks_as_data_name_their_mode(capsys: pytest.CaptureFixture[str], mode: str) -> None:
    found = json.loads(run(capsys, "checks", "cloud-logging", "--mode", mode, "-o", "json")[1])
    assert found["mode"] == mode
    assert [rule["result"] for rule in found["resources"][0]["rules"]] == ["no match", "match", "no match", "match"]


def test_drift_lists_what_drifts_and_says_so_by_its_status(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "drift")
    assert status == 2
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["btp-operator", "docker-registry", "eventing"]


def test_without_drift_the_status_is_0(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    still = Session(replace(world(), workloads=(), kymas=(b.kyma(),)))
    monkeypatch.setattr(catalog_session, "open_session", lambda options: still)
    assert run(capsys, "drift")[:2] == (0, "no module drifts\n")


def test_lists_that_are_missing_are_confessed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = {**world().feeds, "kymas.operator.kyma-project.io": Feed(FeedState.SYNCING)}
    slow = Session(replace(world(), feeds=feeds), complete=False)
    monkeypatch.setattr(catalog_session, "open_session", lambda options: slow)
    _, out, err = run(capsys, "drift", "--timeout", "1")
    assert "btp-operator" in out
    assert err == "kymatui: not listed within 1 s: kymas.operator.kyma-project.io\n"


@pytest.mark.parametrize("words", [("drift", "--timeout", "0"), ("checks",), ("checks", "x", "--mode", "odd")])
def test_words_that_make_no_sense_are_refused(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert run(capsys, *words)[0] == 64
