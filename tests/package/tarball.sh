# In a root where nothing but Debian's minimum is installed.
. /try/common.sh
mkdir /opt/try
tar -C /opt/try -xzf /try/sharewell-*-linux-*.tar.gz
home=$(echo /opt/try/sharewell-*)
sharewell=$home/bin/sharewell
say "$("$sharewell" --version), $(find "$home/lib/sharewell" -name '*.so*' | wc -l) libraries brought along"
missing=$(ldd "$home"/bin/* "$home"/libexec/sharewell/* 2>/dev/null | grep 'not found' || true)
[ -z "$missing" ] || die "$missing"
"$home/bin/sharewell-lab" reproduce coda --seeds 1 | grep -q "slimming the cores" || die "sharewell-lab does not run"

# An ordinary user needs no root: the server is that user's own.
mkdir /tmp/nobody
chown 65534:65534 /tmp/nobody
cat >/tmp/nobody/try.sh <<'SH'
. /try/common.sh
cd /tmp/nobody
export SHAREWELL_SERVER=/tmp/nobody/s
start_server --store /tmp/nobody/store.db --socket "$SHAREWELL_SERVER"
[ "$("$sharewell" submit --wait -- sh -c 'echo hello from a job' 2>&1 | grep -c .)" -gt 0 ]
[ "$("$sharewell" logs 1)" = "hello from a job" ] || die "the log: $("$sharewell" logs 1 2>&1)"
"$sharewell" jobs --all | grep -q finished || die "$("$sharewell" jobs --all)"
stop_server
SH
# Not as the owner of /tmp/server.log and the like: all is nobody's.
chmod 1777 /tmp
sharewell=$sharewell HOME=/tmp/nobody setpriv --reuid 65534 --regid 65534 --clear-groups bash -eu -c "sharewell=$sharewell; . /tmp/nobody/try.sh"
say "the tarball: a server, a job and its log, as an ordinary user"
