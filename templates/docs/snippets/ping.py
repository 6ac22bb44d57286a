import subprocess
import urllib.request

PING = "PING_URL"


def tell(signal="", body=b""):
    try:
        urllib.request.urlopen(PING + signal, data=body, timeout=10)
    except OSError as error:
        print(f"ping failed: {error}")  # the job is more important than its ping


tell("/start")
job = subprocess.run(["nightly-backup"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
tell(f"/{job.returncode % 256}", job.stdout[-100_000:])
