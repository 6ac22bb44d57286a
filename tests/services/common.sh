# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: whom a server runs as, where it listens, whether it still lives.
#
# A server lives in a folder of its own: its settings, data, log, `port` and `pid`. The port stays the same when it
# is stopped and started again. Everything is on loopback; only processes that a pid file names are ever ended.

set -euo pipefail

newest_postgres=$(find /usr/lib/postgresql -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -n 1)
export PATH="${newest_postgres:+$newest_postgres:}$PATH:/usr/sbin:/sbin"

# PostgreSQL refuses to run as root, so root lends both servers the user that Debian's package made. The capability
# lets that user reach a checkout inside a closed home such as /root; the chown makes the folder its own.
if ((EUID == 0)); then
  service=(setpriv --reuid=postgres --regid=postgres --clear-groups
    --inh-caps=+dac_override --ambient-caps=+dac_override --)
  service_uid=$(id -u postgres) service_gid=$(id -g postgres)
else
  service=(env)
  service_uid=$EUID service_gid=$(id -g)
fi

own() {
  ((EUID != 0)) || chown -R "$service_uid:$service_gid" "$1"
}

die() {
  echo "$0: $*" >&2
  exit 1
}

listens() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# The folder's port; the first time a free one is chosen, below the range that the kernel hands out by itself.
port_of() {
  local folder=$1 port
  if [[ ! -s $folder/port ]]; then
    for _ in {1..100}; do
      port=$((20000 + RANDOM % 12000))
      listens "$port" || break
    done
    echo "$port" >"$folder/port"
  fi
  cat "$folder/port"
}

# True while the process of the pid file lives and is this folder's: after a crash the number may be somebody else's.
is_running() {
  local pid
  pid=$(cat "$1/pid" 2>/dev/null) && grep -qsF "$1/" "/proc/$pid/cmdline"
}

await() {
  for _ in {1..150}; do
    if "$@"; then return; fi
    sleep 0.1
  done
  return 1
}

# Runs a server in the background and returns when it accepts connections.
launch() {
  local folder=$1
  shift
  setsid "${service[@]}" "$@" </dev/null >>"$folder/log" 2>&1 &
  echo $! >"$folder/pid"
  if ! await listens "$(port_of "$folder")" || ! is_running "$folder"; then
    tail -n 20 "$folder/log" >&2
    die "the server in $folder did not start"
  fi
}

# Ends the folder's server with a signal and returns when it is gone; one that is not running is fine.
finish() {
  local folder=$1 signal=$2
  is_running "$folder" || return 0
  kill -s "$signal" "$(cat "$folder/pid")"
  await eval "! is_running '$folder'" || kill -s KILL "$(cat "$folder/pid")"
}
