#!/usr/bin/env python3
"""Starts a Flatline for each engine with what the suite expects, tries it, and stops it again.

stage.py suite ARGUMENT ..        the suite; arguments go to pytest
stage.py description ARGUMENT ..  schemathesis: whatever the API answers, its description has to promise, and no 5xx

Reads FLATLINE_TEST_POSTGRES_URL (set by tests/run) and FLATLINE_TEST_BINARY, the program.
"""

import http.server
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
WORK = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "test-conformance"
BINARY = os.environ.get("FLATLINE_TEST_BINARY", str(ROOT / "target/debug/flatline"))
METRICS_KEY = "metrics-key-of-the-suite"

PLANS = """
[unlimited]
log_entries = 100

[limited]
checks = 2
log_entries = 5
min_interval_seconds = 0
api_per_minute = "none"
api_per_day = "none"
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Sink(http.server.BaseHTTPRequestHandler):
    """Appends what it gets to a file, one line each."""

    log = None

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace")
        with open(self.log, "a") as file:
            print(time.time(), self.command, self.path, body.replace("\n", " "), file=file)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


# What a description can be held to: what comes back. What has to be refused is the suite's to say.
CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,ignored_auth,use_after_free"
)


def suite(_base, _key, arguments):
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]


def description(base, key, arguments):
    tool = pathlib.Path(sys.executable).with_name("st")
    options = ["--checks", CHECKS, "--header", f"X-Api-Key: {key}"]
    # Tools between people and servers take none, and the reference's clients send none.
    options += ["--generation-allow-x00", "false", "--warnings", "off", "--no-color"]
    return [tool, "run", f"{base}/api/v3/openapi.json", *options, *arguments]


def call(base, key, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{base}/api/v3/{path}", data, {"X-Api-Key": key}, method=method)
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)


def webhook(sink, path, down_body, up_body):
    def side(which, body):
        return {"method": "POST", "url": f"{sink}/{path}/{which}", "headers": {}, "body": body}

    return {"down": side("down", down_body), "up": side("up", up_body)}


def make_channels(base, key, sink):
    down, up = "$CODE|$NAME|$STATUS|$NOW|$TAGS|$BODY|$EXITSTATUS", "$JSON"
    own = call(base, key, "GET", "channels/")["channels"][0]["id"]
    call(base, key, "PUT", f"channels/{own}", {"name": "Email Alice"})
    for name, path in (("Hook", "hook"), ("Dup", "dup1"), ("Dup", "dup2")):
        config = webhook(sink, path, down, up)
        call(base, key, "PUT", f"channels/{uuid.uuid4()}", {"kind": "webhook", "name": name, "config": config})


def account(env, email, plan):
    command = [BINARY, "account", "create", "--email", email, "--plan", plan, "--json"]
    return json.loads(subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE).stdout)


def wait_until_ready(base, server):
    for _ in range(300):
        if server.poll() is not None:
            sys.exit("the server ended at its start")
        try:
            urllib.request.urlopen(f"{base}/healthz", timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit("the server did not start")


def run(trial, engine, database_url, arguments):
    folder = WORK / engine
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "plans.toml").write_text(PLANS)
    port, smtp_port = free_port(), free_port()
    base = f"http://127.0.0.1:{port}"
    Sink.log = str(folder / "hooks.log")
    open(Sink.log, "w").close()
    sink = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    threading.Thread(target=sink.serve_forever, daemon=True).start()
    env = os.environ | {
        "FLATLINE_DATABASE_URL": database_url or f"sqlite://{folder}/flatline.db",
        "FLATLINE_DATA_DIR": str(folder),
        "FLATLINE_LISTEN": f"127.0.0.1:{port}",
        "FLATLINE_PLANS_FILE": str(folder / "plans.toml"),
        "FLATLINE_PING_BODY_LIMIT": "10000",
        "FLATLINE_TRUSTED_PROXIES": "127.0.0.0/8",
        "FLATLINE_PRIVATE_TARGETS": "127.0.0.0/8",
        "FLATLINE_METRICS_KEY": METRICS_KEY,
        "FLATLINE_SMTP_LISTEN": f"127.0.0.1:{smtp_port}",
        "FLATLINE_EMAIL_DOMAIN": "ping.test",
        "FLATLINE_LOG": "warn",
    }
    main = account(env, "alice@example.org", "unlimited")
    other = account(env, "bob@example.org", "unlimited")
    limited = account(env, "carol@example.org", "limited")
    with open(folder / "server.log", "w") as log:
        server = subprocess.Popen([BINARY, "serve"], env=env, stderr=log)
    try:
        wait_until_ready(base, server)
        make_channels(base, main["api_key"], f"http://127.0.0.1:{sink.server_port}")
        keys = {
            "BASE_URL": base,
            "API_KEY": main["api_key"],
            "API_KEY_RO": main["api_key_readonly"],
            "PING_KEY": main["ping_key"],
            "PROJECT": main["project"],
            "API_KEY_OTHER": other["api_key"],
            "API_KEY_LIMITED": limited["api_key"],
            "PING_KEY_LIMITED": limited["ping_key"],
            "METRICS_KEY": METRICS_KEY,
            "SMTP": f"127.0.0.1:{smtp_port}",
            "EMAIL_DOMAIN": "ping.test",
            "HOOK_LOG": Sink.log,
            "SCHEMATHESIS_HOOKS": "hooks",
        }
        print(f"{trial.__name__} on {engine}", flush=True)
        command = trial(base, main["api_key"], arguments)
        return subprocess.run(command, cwd=HERE, env=os.environ | keys).returncode
    finally:
        server.terminate()
        server.wait(30)
        sink.shutdown()


def postgres_database():
    """A database of its own on the server of the tests."""
    url = os.environ["FLATLINE_TEST_POSTGRES_URL"]
    name = f"conformance_{uuid.uuid4().hex[:8]}"
    subprocess.run(["psql", "-q", url, "-c", f"CREATE DATABASE {name}"], check=True)
    head, _, query = url.partition("?")
    return head.rsplit("/", 1)[0] + "/" + name + ("?" + query if query else "")


def main():
    trial = {"suite": suite, "description": description}[sys.argv[1]]
    arguments = sys.argv[2:]
    codes = [run(trial, "sqlite", None, arguments)]
    codes.append(run(trial, "postgres", postgres_database(), arguments))
    sys.exit(max(codes))


main()
