"""The snippets of the documentation pages, as they are read there: each is run where its tool is, else parsed."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import uuid as uuids

import pytest
import tree_sitter_go
import tree_sitter_powershell
import yaml
from tree_sitter import Language, Parser

from conftest import BINARY

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SNIPPETS = ROOT / "templates/docs/snippets"
JOB = '#!/bin/sh\necho "42 files"\nexit ${JOB_STATUS:-0}\n'


@pytest.fixture
def job(tmp_path):
    """A folder with the job that the snippets run."""
    program = tmp_path / "nightly-backup"
    program.write_text(JOB)
    program.chmod(0o755)
    return tmp_path


def text(name, flatline, uuid=""):
    filled = (SNIPPETS / name).read_text()
    for word, value in (
        ("PING_URL", f"{flatline.ping_base}/{uuid}"),
        ("PING_BASE", flatline.ping_base),
        ("SITE_URL", flatline.base),
    ):
        filled = filled.replace(word, value)
    return filled


def run(job, command, status=0, **more):
    env = os.environ | {"PATH": f"{job}:{os.environ['PATH']}", "JOB_STATUS": str(status)} | more.pop("env", {})
    return subprocess.run(command, cwd=job, env=env, capture_output=True, text=True, timeout=120, **more)


def write(job, name, content):
    (job / name).write_text(content)
    return str(job / name)


def test_a_ping_behind_the_job_is_sent_only_if_it_went_well(flatline, job):
    uuid = flatline.check(name="ping.sh")
    script = write(job, "ping.sh", text("ping.sh", flatline, uuid))
    assert run(job, ["sh", script], status=3).returncode == 3
    assert flatline.log(uuid) == []
    assert run(job, ["sh", script]).returncode == 0
    assert flatline.log(uuid) == ["success"]


def test_runs_that_overlap_carry_an_id(flatline, job):
    uuid = flatline.check(name="overlap.sh")
    run(job, ["sh", write(job, "overlap.sh", text("overlap.sh", flatline, uuid))], status=7)
    assert flatline.log(uuid) == ["start", "fail"]
    assert len({ping["rid"] for ping in flatline.pings(uuid)} - {None}) == 1


TOOLS = {
    "run.sh": ["sh"],
    "ping.py": ["python3"],
    "ping.mjs": ["node"],
    "ping.php": ["php"],
    "ping.go": ["go", "run"],
    "ping.ps1": ["pwsh", "-File"],
}


@pytest.mark.parametrize("name", TOOLS)
def test_start_output_and_outcome_are_told(flatline, job, name):
    tool = TOOLS[name]
    if not shutil.which(tool[0]):
        pytest.skip(f"{tool[0]} is not installed")
    uuid = flatline.check(name=name)
    script = write(job, name, text(name, flatline, uuid))
    env = {"GOFLAGS": "-mod=mod", "GOCACHE": str(job / "cache"), "GO111MODULE": "off"}
    good = run(job, [*tool, script], env=env)
    assert (flatline.log(uuid), flatline.status(uuid)) == (["start", "success"], "up"), good.stderr
    assert "42 files" in flatline.last_body(uuid)
    run(job, [*tool, script], status=3, env=env)
    assert (flatline.log(uuid)[2:], flatline.status(uuid)) == (["start", "fail"], "down")
    assert "42 files" in flatline.last_body(uuid)


GRAMMARS = {"ping.go": tree_sitter_go, "ping.ps1": tree_sitter_powershell}


@pytest.mark.parametrize("name", GRAMMARS)
def test_what_may_not_run_here_can_be_parsed(flatline, name):
    parser = Parser(Language(GRAMMARS[name].language()))
    script = text(name, flatline, uuids.uuid4()).encode()
    assert not parser.parse(script).root_node.has_error
    assert parser.parse(script + b"{ (").root_node.has_error


def test_each_line_of_the_crontab_has_a_schedule_and_a_command_that_runs(flatline, job):
    uuid = flatline.check(name="crontab")
    lines = [line for line in text("crontab", flatline, uuid).splitlines() if not line.startswith("#")]
    for line in lines:
        *fields, command = line.split(maxsplit=5)
        answer = flatline.call("POST", f"checks/{uuid}", {"schedule": " ".join(fields)})
        assert json.loads(answer)["schedule"] == " ".join(fields)
        assert run(job, ["sh", "-c", command]).returncode == 0
    assert flatline.log(uuid) == ["success"] * len(lines)
    run(job, ["sh", "-c", lines[1].split(maxsplit=5)[5]], status=4)
    assert flatline.status(uuid) == "down"


def test_the_units_are_sound_and_their_commands_ping(flatline, job):
    uuid = flatline.check(name="systemd")
    for name in ("nightly-backup.service", "nightly-backup.timer"):
        unit = text(name, flatline, uuid).replace("/usr/local/bin/nightly-backup", str(job / "nightly-backup"))
        write(job, name, unit)
    if shutil.which("systemd-analyze"):
        verified = run(job, ["systemd-analyze", "verify", "--man=no", str(job / "nightly-backup.timer")])
        assert str(job) not in verified.stderr and "nightly-backup" not in verified.stderr, verified.stderr
    lines = (job / "nightly-backup.service").read_text().splitlines()
    for status in (0, 5):
        for line in lines:
            if line.startswith("Exec"):
                command = line.partition("=")[2].removeprefix("-").replace("${EXIT_STATUS}", str(status))
                run(job, shlex.split(command), status=status)
    assert flatline.log(uuid) == ["start", "success", "start", "fail"]


def test_the_cron_job_of_kubernetes_pings_from_its_container(flatline, job):
    uuid = flatline.check(name="kubernetes")
    spec = yaml.safe_load(text("cronjob.yaml", flatline, uuid))
    assert (spec["kind"], spec["apiVersion"]) == ("CronJob", "batch/v1")
    flatline.call("POST", f"checks/{uuid}", {"schedule": spec["spec"]["schedule"], "tz": spec["spec"]["timeZone"]})
    pod = spec["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert run(job, pod["containers"][0]["command"], status=6).returncode == 6
    assert flatline.log(uuid) == ["start", "fail"]


def test_the_steps_of_the_workflow_ping(flatline, job):
    uuid = flatline.check(name="workflow")
    # YAML 1.1, which the parser speaks, reads the key `on` as a truth value.
    workflow = yaml.safe_load(text("workflow.yml", flatline, uuid).replace("\non:", "\n'on':"))
    assert workflow["on"]["schedule"] == [{"cron": "15 2 * * *"}]
    env = {"PING": f"{flatline.ping_base}/{uuid}"}
    for status in (0, 2):
        for step in workflow["jobs"]["backup"]["steps"]:
            if step.get("if") != ("failure()" if status == 0 else "success()"):
                run(job, ["sh", "-c", step["run"]], status=status, env=env)
    assert flatline.log(uuid) == ["start", "success", "start", "fail"]


def test_a_check_is_made_once_by_its_slug(flatline, job):
    script = write(job, "create.sh", text("create.sh", flatline))
    for _ in range(2):
        made = run(job, ["sh", script], env={"API_KEY": flatline.key})
        assert json.loads(made.stdout)["slug"] == "nightly-backup", made.stderr
    assert len(flatline.get("checks/?slug=nightly-backup")["checks"]) == 1


def test_the_channel_is_taken(flatline):
    uuid = uuids.uuid4()
    flatline.call("PUT", f"channels/{uuid}", json.loads(text("webhook.json", flatline)))
    assert flatline.get(f"channels/{uuid}")["name"] == "Chat"
    flatline.call("DELETE", f"channels/{uuid}")


def test_the_commands_of_the_move_bring_everything(flatline, job):
    shutil.copy(ROOT / "tests/it/data/import/healthchecks-4.4.sqlite", job / "hc.sqlite")
    write(job, "secret-key", "oracle-secret-key\n")
    env = {"FLATLINE_DATABASE_URL": f"sqlite://{job}/flatline.db", "FLATLINE_DATA_DIR": str(job)}
    env["PATH"] = f"{pathlib.Path(BINARY).parent}:{os.environ['PATH']}"
    assert run(job, [BINARY, "account", "create", "--email", "you@example.org"], env=env).returncode == 0
    moved = run(job, ["sh", write(job, "import.sh", text("import.sh", flatline))], env=env)
    assert moved.returncode == 0, moved.stderr
    assert "Nothing was changed; add --yes to do this.\n" in moved.stdout
    assert "brought 40 checks to 'Main' of you@example.org\n" in moved.stdout


def test_every_call_by_curl_ends_in_time():
    for path in SNIPPETS.iterdir():
        for call in re.findall(r"curl [^\n]*", path.read_text()):
            assert "-m 10 --retry 5 --retry-max-time 30" in call, path
