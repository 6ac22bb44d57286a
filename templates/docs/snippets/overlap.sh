#!/bin/sh
tell() { curl -fsS -m 10 --retry 5 --retry-max-time 30 -o /dev/null "$@"; }

run=$(cat /proc/sys/kernel/random/uuid)
tell "PING_URL/start?rid=$run"
nightly-backup
tell "PING_URL/$??rid=$run"
