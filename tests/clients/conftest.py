"""A Flatline with one account, and what the tests ask of it."""

import json
import os
import pathlib
import socket
import subprocess
import time
import urllib.error
import urllib.request

import pytest

TARGET = pathlib.Path(os.environ["FLATLINE_TEST_TARGET"])
BINARY = os.environ.get("FLATLINE_TEST_BINARY", str(TARGET / "debug/flatline"))
IS_LONG = bool(os.environ.get("FLATLINE_TEST_LONG"))

long_only = pytest.mark.skipif(not IS_LONG, reason="has to be compiled: tests/run --long")


class Flatline:
    """A running server, looked at through its API."""

    def __init__(self, base, account):
        self.base = base
        self.ping_base = f"{base}/ping"
        self.key = account["api_key"]
        self.key_readonly = account["api_key_readonly"]
        self.ping_key = account["ping_key"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"X-Api-Key": self.key}
        request = urllib.request.Request(f"{self.base}/api/v3/{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.read()

    def get(self, path):
        return json.loads(self.call("GET", path))

    def check(self, **fields):
        """Makes a check and returns its uuid."""
        return json.loads(self.call("POST", "checks/", fields))["uuid"]

    def status(self, uuid):
        return self.get(f"checks/{uuid}")["status"]

    def log(self, uuid):
        """The kinds of a check's pings, oldest first."""
        return [ping["type"] for ping in reversed(self.pings(uuid))]

    def pings(self, uuid):
        return self.get(f"checks/{uuid}/pings/")["pings"]

    def body(self, uuid, n):
        return self.call("GET", f"checks/{uuid}/pings/{n}/body").decode()

    def last_body(self, uuid):
        return self.body(uuid, self.get(f"checks/{uuid}")["n_pings"])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until_ready(base, server):
    for _ in range(300):
        assert server.poll() is None, "the server ended at its start"
        try:
            urllib.request.urlopen(f"{base}/healthz", timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the server did not start")


@pytest.fixture(scope="session")
def flatline(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flatline")
    base = f"http://127.0.0.1:{free_port()}"
    env = os.environ | {
        "FLATLINE_DATABASE_URL": f"sqlite://{folder}/flatline.db",
        "FLATLINE_DATA_DIR": str(folder),
        "FLATLINE_LISTEN": base.removeprefix("http://"),
        "FLATLINE_LOG": "warn",
    }
    command = [BINARY, "account", "create", "--email", "alice@example.org", "--json"]
    account = json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout)
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen([BINARY, "serve"], env=env, stderr=log)
    try:
        wait_until_ready(base, server)
        yield Flatline(base, account)
    finally:
        server.terminate()
        server.wait(30)
