#!/bin/sh
tell() { curl -fsS -m 10 --retry 5 --retry-max-time 30 -o /dev/null "$@"; }

tell PING_URL/start
output=$(nightly-backup 2>&1)
status=$?
printf '%s\n' "$output" | tail -c 100000 | tell --data-binary @- "PING_URL/$status"
exit $status
