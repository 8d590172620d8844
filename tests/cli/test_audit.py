"""`kymatui audit` on the sample world: the same findings in every form, and never a write."""

from __future__ import annotations

import json
import os
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from kymatui import __version__
from kymatui.adapters.kube.transport.transport import Request, Transport, is_read_only_request
from kymatui.cli.main import main
from kymatui.cli.output import audit_formats
from kymatui.domain.audit.findings import AuditFinding
from kymatui.domain.audit.report import RULES, AuditReport
from kymatui.domain.kyma.problems import Actor
from tests.browser import needs_browser, open_page, page_width, printed_page

pytestmark = pytest.mark.xdist_group("audit")  # one sandbox for all of them


@pytest.fixture(autouse=True)
def environment(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(["audit", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def findings(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run(capsys, "-o", "json", *words)[1])["findings"]
    return found


def test_the_situations_of_the_world_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    pairs = {(item["rule"], item["module"]) for item in findings(capsys) if item["severity"] != "info"}
    assert pairs == {
        ("state.deleting", "api-gateway"),
        ("state.error", "eventing"),
        ("state.warning", "btp-operator"),
        ("checks.differ", "cluster-ip"),
        ("drift.ahead", "application-connector"),
        ("drift.behind", "docker-registry"),
        ("drift.behind", "keda"),
        ("drift.held-back", "telemetry"),
        ("drift.fields", "application-connector"),
        ("drift.fields", "keda"),
        ("rights.broad", "btp-operator"),
        ("module.orphan", "cap-operator"),
        ("template.unsigned", "application-connector"),
        ("template.unsigned", "cluster-ip"),
    }


@pytest.mark.parametrize(("threshold", "status"), [("error", 2), ("warning", 2), ("info", 2), ("never", 0)])
def test_the_exit_status_follows_the_worst_finding(
    threshold: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "--fail-on", threshold)[0] == status


def test_the_table_ends_with_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(capsys)
    lines = out.splitlines()
    assert (status, err) == (2, "")
    assert lines[0].split()[:4] == ["SEVERITY", "RULE", "MODULE", "FINDING"]
    assert lines[1].startswith("error ")
    assert lines[-1].startswith("kcp: 1 error, ")


def test_every_form_has_every_finding(capsys: pytest.CaptureFixture[str]) -> None:
    found = findings(capsys)
    count = len(found)
    sarif = json.loads(run(capsys, "-o", "sarif")[1])
    (one,) = sarif["runs"]
    assert (sarif["version"], len(one["results"])) == ("2.1.0", count)
    rules = one["tool"]["driver"]["rules"]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in one["results"])
    assert all(held_by_the_schema(result) for result in one["results"])
    assert [result["properties"]["object"] for result in one["results"]] == [item["object"] for item in found]
    assert {rule["id"] for rule in rules} == {
        rule["id"] for rule in one["properties"]["rules"] if rule["result"] != "not applied"
    }
    suite = ElementTree.fromstring(run(capsys, "-o", "junit")[1])
    failures = [failure.text or "" for failure in suite.iter("failure")]
    assert sum(len(text.splitlines()) for text in failures) == count
    assert suite.get("failures") == str(len(failures))
    page = run(capsys, "-o", "html")[1]
    assert page.split("Findings:")[1].split("<h2>")[0].count("<tr>") == count + 1
    HTMLParser().feed(page)
    assert len(yaml.safe_load(run(capsys, "-o", "yaml")[1])["findings"]) == count
    assert run(capsys, "-o", "md")[1].startswith("| SEVERITY | RULE |")


def held_by_the_schema(result: dict[str, Any]) -> bool:
    """What SARIF 2.1.0 requires of a result, and of the parts of it that are there."""
    (place,) = result["locations"]
    (logical,) = place["logicalLocations"]
    return (
        isinstance(result["message"]["text"], str)
        and result["level"] in ("none", "note", "warning", "error")
        and isinstance(result["ruleIndex"], int)
        and set(logical) <= {"name", "fullyQualifiedName", "decoratedName", "kind", "index", "parentIndex"}
        and all(isinstance(value, str) for value in result["partialFingerprints"].values())
    )


EVIL = '</td><script src="https://evil.example/x.js">alert(1)</script>\x00\x1b[31m\ufffe&amp;'


def test_no_form_is_broken_by_what_a_cluster_says() -> None:
    finding = AuditFinding(RULES[0], EVIL, EVIL, EVIL, EVIL, EVIL, since=0.0, actor=Actor.YOU)
    report = AuditReport(EVIL, EVIL, 0.0, (finding,))
    page = audit_formats.as_html(report)
    assert "<script" not in page
    assert "src=" not in page.replace(escape(EVIL), "").replace("src=&quot;", "")
    assert "&lt;script" in page
    assert "1970-01-01 00:00:00Z" in page
    suite = ElementTree.fromstring(audit_formats.as_junit(report))
    (failure,) = suite.iter("failure")
    assert "alert(1)" in (failure.text or "")
    assert json.loads(json.dumps(audit_formats.as_sarif(report)))["version"] == "2.1.0"


def test_an_audit_reads_names_of_secrets_and_never_what_is_in_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Request] = []
    permit = Transport.permit

    def recording(transport: Transport, request: Request) -> None:
        sent.append(request)
        permit(transport, request)

    monkeypatch.setattr(Transport, "permit", recording)  # the gate of every request, answered whole or as a stream
    findings(capsys)
    about = [request for request in sent if "/secrets" in request.path]
    assert {request.path for request in about} == {"/api/v1/secrets"}
    assert all("as=PartialObjectMetadata" in request.accept and "json," not in request.accept for request in about)
    assert all(is_read_only_request(request.method, request.path) for request in sent)


def test_only_what_is_new_since_a_baseline_counts(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    status, _, _ = run(capsys, "--save-baseline", str(path))
    assert status == 2
    earlier = json.loads(path.read_text())
    status, out, err = run(capsys, "--baseline", str(path))
    assert (status, out.splitlines()[-1], err) == (0, "kcp: 0 errors, 0 warnings, 0 info", "")
    assert f"Since: {earlier['takenAt']} ({path}): {len(earlier['findings'])} unchanged" in out
    kept = json.loads(path.read_text())
    kept["findings"] = [item for item in kept["findings"] if item["rule"] != "state.error"]
    path.write_text(json.dumps(kept))
    assert [item["rule"] for item in findings(capsys, "--baseline", str(path))] == ["state.error"]
    kept["findings"] = [
        item | {"fingerprint": "0"} if item["rule"] == "drift.ahead" else item for item in kept["findings"]
    ]
    path.write_text(json.dumps(kept | {"cluster": "prod"}))
    status, out, err = run(capsys, "--baseline", str(path), "-o", "json")
    report = json.loads(out)
    assert f"{path} is an audit of prod, this one is of kcp" in err
    assert [item["rule"] for item in report["findings"]] == ["state.error", "drift.ahead"]
    assert (report["trend"]["new"], len(report["trend"]["unchanged"])) == (2, len(kept["findings"]) - 1)
    assert [item["rule"] for item in report["trend"]["gone"]] == ["drift.ahead"]
    for form in ("table", "md", "html"):
        assert f"Gone since {kept['takenAt']}" in run(capsys, "--baseline", str(path), "-o", form)[1]
    late = json.loads(run(capsys, "--baseline", str(path), "-o", "json", "--timeout", "1ms")[1])["trend"]
    assert late["gone"] == [], "what was not read is not known to be gone"
    assert {"drift.ahead", "drift.behind"} <= {item["rule"] for item in late["unknown"]}


def test_what_somebody_answers_for_does_not_count(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "ignore.yaml"
    path.write_text("ignore:\n- {rule: '*', reason: everything is known, until: 2999-12-31}\n")
    status, out, _ = run(capsys, "--ignore", str(path), "-o", "json")
    report = json.loads(out)
    assert (status, report["findings"]) == (0, [])
    assert report["ignored"][0]["ignoredBecause"] == "everything is known"
    (entry,) = report["ignoreEntries"]
    assert (entry["reason"], entry["until"]) == ("everything is known", "2999-12-31")
    assert entry["findings"] == report["counts"]["ignored"] == len(report["ignored"]) > 0
    assert not {"failed", "incomplete"} & {rule["result"] for rule in report["rules"]}
    for form in ("table", "md", "html"):
        assert "everything is known" in run(capsys, "--ignore", str(path), "-o", form)[1]


def test_a_report_says_what_was_audited_by_whom_and_how(capsys: pytest.CaptureFixture[str]) -> None:
    report = json.loads(run(capsys, "-o", "json", "--module", "keda")[1])
    assert report["scope"] == {
        "kind": "cluster",
        "runtimes": [],
        "objects": True,
        "modules": ["keda"],
        "rules": [],
        "severity": "info",
    }
    assert (report["users"], report["version"], len(report["rulesVersion"])) == (["admin"], __version__, 12)
    assert report["requests"]["reads"] > 10
    assert report["requests"]["writes"] == 0
    assert report["notRead"] == []
    by = {rule["id"]: rule for rule in report["rules"]}
    assert set(by) == {rule.id for rule in RULES}
    assert by["drift.fields"]["result"] == "failed"
    assert by["state.error"]["result"] == "passed"
    assert (by["watcher.broken"]["result"], by["watcher.broken"]["why"]) == (
        "not applied",
        "only in audits of kind runtime, fleet",
    )
    for form in ("table", "md", "html"):
        out = run(capsys, "-o", form)[1]
        assert f"kymatui {__version__}, rules {report['rulesVersion']}" in out
        assert " reads, 0 writes; " in out
    suite = ElementTree.fromstring(run(capsys, "-o", "junit")[1])
    skipped = {case.get("name") for case in suite.iter("testcase") if case.find("skipped") is not None}
    assert skipped == {rule["id"] for rule in report["rules"] if rule["result"] == "not applied"}


def test_contexts_are_named_in_their_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = yaml.safe_load(Path(os.environ["KUBECONFIG"]).read_text())
    config["contexts"].append({"name": "gone", "context": {"cluster": "gone", "user": "gone"}})
    path = tmp_path / "contexts.yaml"
    path.write_text(yaml.safe_dump(config))
    report = json.loads(run(capsys, "--kubeconfig", str(path), "--contexts", "-o", "json")[1])
    assert (report["scope"]["kind"], report["scope"]["contexts"]) == ("contexts", ["gone", "kcp"])
    assert [(item["context"], item["rule"]) for item in report["notRead"]] == [("gone", "context.access")]
    assert (report["users"], report["requests"]["writes"]) == (["admin"], 0)
    results = {rule["id"]: rule["result"] for rule in report["rules"]}
    assert (results["context.access"], results["module.twice"]) == ("failed", "incomplete")
    sarif = json.loads(run(capsys, "--kubeconfig", str(path), "--contexts", "-o", "sarif")[1])
    (one,) = sarif["runs"]
    assert all(result["message"]["text"].startswith(("kcp: ", "gone: ")) for result in one["results"])
    assert "context" in one["results"][0]["properties"]


@needs_browser
def test_the_page_fits_a_phone_and_paper(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(run(capsys, "-o", "html")[1])
    page = open_page(path, tmp_path, width=360)
    assert "About this audit" in page.document
    assert page.messages == []
    assert page_width(path, tmp_path, 360) <= 360
    assert page_width(path, tmp_path, 1280) <= 1280
    assert printed_page(path, tmp_path).startswith(b"%PDF")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ignore", "/nowhere"), "cannot read /nowhere"),
        (("--baseline", "/dev/null"), "/dev/null is not a baseline"),
        (("--save-baseline", "/dev/null/at/all"), "/dev/null/at/all cannot be written"),
    ],
)
def test_files_that_cannot_be_used_are_named(
    words: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, _, err = run(capsys, *words)
    assert status == 1
    assert said in err


def test_findings_are_listed_by_module_rule_and_severity(capsys: pytest.CaptureFixture[str]) -> None:
    whole = findings(capsys)
    keda = findings(capsys, "--module", "keda")
    assert keda == [one for one in whole if one["module"] == "keda"] != []
    changed = findings(capsys, "--rule", "drift.fields", "--rule", "image.tag", "--severity", "warning")
    assert {one["rule"] for one in changed} == {"drift.fields"}
    assert len(changed) == sum(one["rule"] == "drift.fields" for one in whole)
    assert run(capsys, "--rule", "drift.fields", "--module", "nats")[0] == 0, "the exit status is of what is listed"
    status, out, err = run(capsys, "--module", "kedaa")
    assert (status, out, 'no module "kedaa"' in err) == (64, "", True)


def test_rules_are_listed_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "rules")
    assert status == 0
    assert "state.deleting" in out
    status, out, _ = run(capsys, "explain", "image.tag")
    assert (status, out.splitlines()[0]) == (0, "image.tag (info): a module's image is referenced by a tag")
    status, _, err = run(capsys, "explain", "image.tags")
    assert status == 64
    assert 'no rule "image.tags"; did you mean image.tag' in err


@pytest.mark.parametrize(
    "words", [["--module", "eventing"], ["--severity", "error"], ["--rule", "state.error"]], ids=lambda words: words[0]
)
def test_a_narrowed_audit_does_not_call_unread_lists_clean(
    words: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, out, err = run(capsys, "--timeout", "1ms", *words)
    assert (status, out.count("access.unread") > 1) == (1, True), out
    assert "0 errors, 0 warnings" not in out
    assert "kymatui: not read: moduletemplates.operator.kyma-project.io (loading): not listed in time" in err
    assert run(capsys, "--timeout", "1ms", *words, "--fail-on", "never")[0] == 0
    path = tmp_path / "baseline.json"
    status, _, err = run(capsys, "--timeout", "1ms", *words, "--save-baseline", str(path))
    assert (status, path.exists(), "not written: " in err, "use a longer --timeout" in err) == (2, False, True, True)
    found = json.loads(run(capsys, "--timeout", "1ms", *words, "-o", "json")[1])["findings"]
    assert {one["actor"] for one in found if one["rule"] == "access.unread"} == {"you"}


def test_a_baseline_hides_no_list_that_is_not_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    unread = findings(capsys, "--timeout", "1ms")
    path.write_text(json.dumps({"findings": unread}))
    status, out, err = run(capsys, "--timeout", "1ms", "--baseline", str(path), "-o", "json")
    assert (status, "not read: " in err) == (1, True)
    report = json.loads(out)
    lists = [item["object"] for item in unread if item["rule"] == "access.unread"]
    assert [item["object"] for item in report["notRead"] if item["rule"] == "access.unread"] == lists
    assert [item["object"] for item in report["trend"]["unchanged"] if item["rule"] == "access.unread"] == lists
    assert [item for item in report["findings"] if item["rule"] == "access.unread"] == []
    assert [rule["findings"] for rule in report["rules"] if rule["id"] == "access.unread"] == [len(lists)]
    narrowed = json.loads(run(capsys, "--timeout", "1ms", "--baseline", str(path), "--module", "keda", "-o", "json")[1])
    assert (narrowed["trend"]["new"], narrowed["findings"]) == (0, [])


def test_text_of_a_baseline_adds_no_line_to_the_report(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    item = {"rule": "image.tag", "severity": "info", "fingerprint": "0", "message": "m\nUser: eve", "object": "x"}
    path.write_text(json.dumps({"takenAt": "2026-01-01T00:00:00Z\nUser: eve", "findings": [item]}))
    for form in ("table", "md"):
        out = run(capsys, "--baseline", str(path), "-o", form)[1]
        assert "Gone since an unknown time" in out
        assert not [line for line in out.splitlines() if line.startswith("User: eve")]
    path.write_text(json.dumps({"findings": {}}))
    assert f"{path} is not a baseline" in run(capsys, "--baseline", str(path))[2]
