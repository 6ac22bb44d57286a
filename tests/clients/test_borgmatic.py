"""borgmatic with its hook, around real backups by borg: one that works, one that fails."""

import shutil
import subprocess

import pytest

CONFIG = """
source_directories: [{source}]
repositories: [{{path: {repository}}}]
encryption_passphrase: correct horse
source_directories_must_exist: true
borg_base_directory: {home}
healthchecks:
    ping_url: {url}
    send_logs: true
    create_slug: {create}
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "source").mkdir()
    (tmp_path / "source/report.txt").write_text("figures")
    return tmp_path


def run(place, url, *arguments, create=False):
    config = place / "config.yaml"
    config.write_text(
        CONFIG.format(
            source=place / "source", repository=place / "repository", home=place, url=url, create=str(create).lower()
        )
    )
    command = [shutil.which("borgmatic"), "--config", str(config), "--verbosity", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def make_repository(place, url):
    made = run(place, url, "repo-create", "--encryption", "repokey")
    assert made.returncode == 0, made.stderr


def test_a_backup_tells_its_start_its_end_and_its_log(flatline, place):
    uuid = flatline.check(name="borg")
    url = f"{flatline.ping_base}/{uuid}"
    make_repository(place, url)
    before = len(flatline.log(uuid))
    made = run(place, url, "create", "--stats")
    assert made.returncode == 0, made.stderr
    assert flatline.log(uuid)[before:] == ["start", "log", "success"]
    assert flatline.status(uuid) == "up"
    assert "Creating archive" in flatline.last_body(uuid)
    assert {ping["ua"] for ping in flatline.pings(uuid)} == {"borgmatic"}


def test_a_backup_that_fails_is_down_with_the_reason(flatline, place):
    uuid = flatline.check(name="borg that fails")
    url = f"{flatline.ping_base}/{uuid}"
    make_repository(place, url)
    shutil.rmtree(place / "repository")
    failed = run(place, url, "create")
    assert failed.returncode != 0
    assert flatline.log(uuid)[-3:] == ["start", "log", "fail"]
    assert flatline.status(uuid) == "down"
    assert str(place / "repository") in flatline.last_body(uuid)


def test_the_hook_makes_its_check_by_the_first_ping(flatline, place):
    url = f"{flatline.ping_base}/{flatline.ping_key}/made-by-borgmatic"
    made = run(place, url, "repo-create", "--encryption", "repokey", create=True)
    assert made.returncode == 0, made.stderr
    run(place, url, "create", create=True)
    found = flatline.get("checks/?slug=made-by-borgmatic")["checks"]
    assert [(check["name"], check["status"]) for check in found] == [("made-by-borgmatic", "up")]
