"""PyPI `healthchecks-io`: every call of its client but `get_check_flips`, which reads another shape than the API, also
the original's, answers with; PyPI `healthchecks-decorator`: a function that is watched."""

import asyncio
import urllib.parse

import healthchecks_io
import pytest
from healthchecks_decorator import healthcheck


@pytest.fixture
def client(flatline):
    urls = {"api_url": f"{flatline.base}/api/", "ping_url": f"{flatline.ping_base}/"}
    with healthchecks_io.Client(flatline.key, flatline.ping_key, **urls) as client:
        yield client


def test_checks_are_made_changed_found_paused_and_deleted(flatline, client):
    made = client.create_check(healthchecks_io.CheckCreate(name="From Python", tags="py one", channels="*"))
    assert (made.name, made.status, made.n_pings) == ("From Python", "new", 0)
    assert made.channels != ""
    again = client.create_check(healthchecks_io.CheckCreate(name="From Python", tags="py two", unique=["name"]))
    assert (again.uuid, again.tags) == (made.uuid, "py two")
    update = healthchecks_io.CheckUpdate(desc="nightly", schedule="15 2 * * *", tz="Europe/Riga")
    assert client.update_check(made.uuid, update).desc == "nightly"
    stored = flatline.get(f"checks/{made.uuid}")
    assert (stored["schedule"], stored["tz"], stored["tags"]) == ("15 2 * * *", "Europe/Riga", "py two")
    assert [check.uuid for check in client.get_checks(tags=["py", "two"])] == [made.uuid]
    assert client.get_check(made.uuid).name == "From Python"
    assert client.pause_check(made.uuid).status == "paused"
    assert client.delete_check(made.uuid).uuid == made.uuid
    with pytest.raises(healthchecks_io.CheckNotFoundError):
        client.get_check(made.uuid)


def test_pings_by_uuid_and_slug_are_logged_with_their_bodies(flatline, client):
    uuid = flatline.check(name="pinged", slug="pinged")
    assert client.start_ping(uuid=uuid) == (True, "OK")
    assert client.success_ping(slug="pinged", data="42 files") == (True, "OK")
    assert client.fail_ping(uuid=uuid, data="disk full") == (True, "OK")
    assert client.exit_code_ping(3, uuid=uuid, data="three") == (True, "OK")
    assert client.exit_code_ping(0, slug="pinged") == (True, "OK")
    assert flatline.log(uuid) == ["start", "success", "fail", "fail", "success"]
    assert [flatline.body(uuid, n) for n in (2, 3, 4)] == ["42 files", "disk full", "three"]
    assert [ping.type for ping in client.get_check_pings(uuid)] == ["success", "fail", "fail", "success", "start"]
    assert flatline.status(uuid) == "up"


def test_refusals_are_the_exceptions_that_its_users_catch(flatline, client):
    with pytest.raises(healthchecks_io.CheckNotFoundError):
        client.success_ping(uuid="00000000-0000-4000-8000-000000000000")
    for _ in range(2):
        flatline.check(name="double", slug="double")
    with pytest.raises(healthchecks_io.NonUniqueSlugError):
        client.success_ping(slug="double")
    with healthchecks_io.Client("x" * 32, api_url=f"{flatline.base}/api/") as stranger:
        with pytest.raises(healthchecks_io.HCAPIAuthError):
            stranger.get_checks()
    with healthchecks_io.Client(flatline.key_readonly, api_url=f"{flatline.base}/api/") as reader:
        assert all(check.unique_key and not check.uuid for check in reader.get_checks())


def test_channels_and_badges_are_listed(flatline, client):
    flatline.check(name="badged", tags="badged")
    assert [channel.kind for channel in client.get_integrations()] == ["email"]
    assert client.get_badges()["badged"].svg.startswith(f"{flatline.base}/badge/")


def test_a_block_of_code_tells_its_start_and_its_end(flatline, client):
    uuid = flatline.check(name="trapped")
    with healthchecks_io.CheckTrap(client, uuid=uuid) as trap:
        trap.add_log("half way")
    assert (flatline.log(uuid), flatline.last_body(uuid)) == (["start", "success"], "half way")
    with pytest.raises(ZeroDivisionError):
        with healthchecks_io.CheckTrap(client, uuid=uuid):
            1 / 0
    assert flatline.status(uuid) == "down"
    assert "division by zero" in flatline.last_body(uuid)


def test_the_asynchronous_client_does_the_same(flatline):
    uuid = flatline.check(name="async")

    async def run():
        urls = {"api_url": f"{flatline.base}/api/", "ping_url": f"{flatline.ping_base}/"}
        async with healthchecks_io.AsyncClient(flatline.key, flatline.ping_key, **urls) as client:
            async with healthchecks_io.CheckTrap(client, uuid=uuid):
                pass
            return await client.get_check(uuid)

    assert asyncio.run(run()).status == "up"
    assert flatline.log(uuid) == ["start", "success"]


def test_a_decorated_function_tells_its_start_and_how_it_ended(flatline):
    uuid = flatline.check(name="decorated")

    @healthcheck(url=f"{flatline.ping_base}/{uuid}", send_start=True, send_diagnostics=True)
    def job(result):
        if result is None:
            raise ValueError("no result")
        return {"rows": result}

    assert job(7) == {"rows": 7}
    assert flatline.log(uuid) == ["start", "success"]
    assert urllib.parse.parse_qs(flatline.last_body(uuid)) == {"rows": ["7"]}
    with pytest.raises(ValueError):
        job(None)
    assert (flatline.log(uuid)[2:], flatline.status(uuid)) == (["start", "fail"], "down")
