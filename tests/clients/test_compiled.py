"""Clients that have to be compiled: the Rust crate `healthchecks`, and runitor, which is written in Go."""

import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import TARGET, long_only

HERE = pathlib.Path(__file__).resolve().parent
RUNITOR = "bdd.fi/x/runitor/cmd/runitor@v1.3.0"


@long_only
def test_the_rust_crate_manages_and_pings(flatline):
    # It asks for lists without the trailing slash, by POST too, and follows the 301.
    uuid = flatline.check(name="from Rust")
    target = TARGET / "test-clients"
    command = ["cargo", "run", "--quiet", "--locked", "--manifest-path", str(HERE / "rust/Cargo.toml")]
    arguments = ["--", f"{flatline.base}/api/v3", flatline.key, flatline.ping_base, uuid]
    env = os.environ | {"CARGO_TARGET_DIR": str(target)}
    ran = subprocess.run([*command, *arguments], env=env, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split("\n") == [
        "checks: from Rust listed",
        "channels: email",
        "upsert: Created, then Updated, one check",
        "updated: nightly",
        "paused: paused",
        "deleted: from the crate",
        "pings: fail, fail, success, start",
        "",
    ]
    assert flatline.log(uuid) == ["start", "success", "fail", "fail"]
    assert (flatline.status(uuid), flatline.last_body(uuid)) == ("down", "disk full")


@pytest.fixture(scope="session")
def runitor():
    folder = TARGET / "test-tools/runitor"
    if not (folder / "runitor").exists():
        if not shutil.which("go"):
            pytest.skip("no Go here")
        env = os.environ | {"GOBIN": str(folder), "GOFLAGS": "-modcacherw"}
        built = subprocess.run(["go", "install", RUNITOR], env=env, capture_output=True, text=True)
        if built.returncode:
            pytest.skip(f"runitor cannot be had: {built.stderr.strip().splitlines()[-1]}")
    return str(folder / "runitor")


@long_only
def test_runitor_tells_start_output_and_exit_status(flatline, runitor):
    uuid = flatline.check(name="runitor")
    command = [runitor, "-api-url", flatline.ping_base, "-uuid", uuid, "--", "sh", "-c"]
    assert subprocess.run([*command, "echo all is well"], timeout=60).returncode == 0
    assert (flatline.log(uuid), flatline.status(uuid)) == (["start", "success"], "up")
    assert "all is well" in flatline.last_body(uuid)
    assert subprocess.run([*command, "echo it broke; exit 3"], timeout=60).returncode == 3
    assert (flatline.log(uuid)[2:], flatline.status(uuid)) == (["start", "fail"], "down")
    assert "it broke" in flatline.last_body(uuid)
