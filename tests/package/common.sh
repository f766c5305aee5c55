# What the scripts that run in a clean root share.
say() { printf -- '-- %s\n' "$*"; }
die() { printf 'package: %s\n' "$*" >&2; exit 1; }

# until_works COMMAND...: tries it for a minute.
until_works() {
  local end=$((SECONDS + 60))
  until "$@" >/dev/null 2>/tmp/until.err; do
    [ $SECONDS -lt $end ] || die "never worked: $*: $(cat /tmp/until.err) $(tail -n 5 /tmp/server.log 2>/dev/null)"
    sleep 0.2
  done
}

# A server on two simulated GPUs; $server is its process.
start_server() {
  "$sharewell" serve --gpus 2xH200 --listen none "$@" </dev/null >/tmp/server.log 2>&1 &
  server=$!
  until_works "$sharewell" jobs
}

stop_server() {
  kill "$server"
  wait "$server" || die "the server ended with $?: $(cat /tmp/server.log)"
}
