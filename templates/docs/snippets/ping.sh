#!/bin/sh
nightly-backup && curl -fsS -m 10 --retry 5 --retry-max-time 30 -o /dev/null PING_URL
