# In a clean Debian 12 with a clone in /root/sharewell, as the README has it: `make run`, then its one-minute demonstration.
cd /root/sharewell
log=/root/make-run.log
start=$SECONDS
: >"$log"
make run >"$log" 2>&1 &
made=$!
trap 'kill $made 2>/dev/null || true' EXIT
until grep -q 'sharewell: serving' "$log"; do
  if ! kill -0 $made 2>/dev/null; then
    tail -n 40 "$log"
    echo "clean: make run ended" >&2
    exit 1
  fi
  sleep 2
done
export PATH=$PATH:/root/sharewell/build/release
until sharewell jobs >/dev/null 2>&1; do sleep 1; done
sharewell submit --name hello -- true
until sharewell jobs --all | grep -q 'finished'; do sleep 1; done
echo "clean: make run serves after $((SECONDS - start)) s"
# Ctrl-C.
pid=$(pgrep -n -x sharewell)
kill -INT "$pid"
wait $made || true
rm -rf /var/lib/sharewell /run/sharewell
start=$SECONDS
python3 tests/package/minute.py /root/sharewell
pid=$(pgrep -n -x sharewell)
kill -INT "$pid"
echo "clean: the minute of the README took $((SECONDS - start)) s"
