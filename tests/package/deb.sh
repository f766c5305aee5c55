# The Debian package's life: installed, used, upgraded over an old store, removed, purged.
. /try/common.sh
sharewell=sharewell
package=$(echo /try/*.deb)

# Its dependencies first, so that what the package itself brings and leaves can be told from theirs. --no-download: no network.
mapfile -t depends < <(dpkg-deb -f "$package" Depends | tr ',' '\n' | sed -E 's/ *\(.*//; s/ *\|.*//; s/^ *//')
apt-get -q -y --no-install-recommends --no-download install "${depends[@]}" python3-venv systemd groff-base >/tmp/depends.log 2>&1 || die "$(tail -n 5 /tmp/depends.log)"
# Users of the test are there before, and made as the package makes its own, so that this leaves the same traces.
useradd --create-home ann
adduser --system --group --quiet --no-create-home other
deluser --quiet --system other 2>/dev/null  # it misses cron, which nobody needs

listed() { find / -xdev \( -path /proc -o -path /dev -o -path /run -o -path /tmp -o -path /try -o -path /var/log -o -path /var/cache -o -path /var/lib/apt \
  -o -path /var/lib/dpkg -o -path /home \) -prune -o -print | sort; }
accounts() { cut -d: -f1 /etc/passwd /etc/group /etc/shadow /etc/gshadow | sort; }
listed >/tmp/before
accounts >/tmp/accounts

dpkg -i "$package" >/tmp/install.log 2>&1 || die "$(cat /tmp/install.log)"
say "installed $(dpkg-query -W sharewell), $(dpkg -L sharewell | wc -l) paths, without a network"
[ -z "$(dpkg --verify sharewell)" ] || die "$(dpkg --verify sharewell)"
[ "$(getent passwd sharewell | cut -d: -f7)" = /usr/sbin/nologin ] || die "the user: $(getent passwd sharewell)"
for file in /usr/share/man/man1/sharewell.1.gz /usr/share/man/man1/sharewell-submit.1.gz /usr/share/man/man1/sharewell-lab-train.1.gz /usr/bin/sharewell-lab /usr/lib/systemd/system/sharewell.service \
  /usr/share/doc/sharewell/README.md /usr/share/doc/sharewell/docs/serving.md /usr/share/doc/sharewell/docs/guides/share-one-gpu-machine.md \
  /usr/lib/systemd/system/sharewell-monitor.service /usr/lib/tmpfiles.d/sharewell.conf /etc/sharewell/sharewell.toml /etc/default/sharewell; do
  [ -s "$file" ] || die "$file is not there"
done
bash -n /usr/share/bash-completion/completions/sharewell
bash -n /usr/share/bash-completion/completions/sharewell-lab
zcat /usr/share/man/man1/sharewell-submit.1.gz | grep -q '^\.SH OPTIONS' || die "the man page of submit has no options"
for page in /usr/share/man/man1/sharewell*.1.gz; do
  warned=$(zcat "$page" | groff -man -Tutf8 -ww -z 2>&1) || die "$page: $warned"
  [ -z "$warned" ] || die "$page: $warned"
done
# DelegateSubgroup is of a newer systemd than Debian 12's, which the unit's comment says; of all else nothing may be unknown.
for unit in sharewell.service sharewell-monitor.service; do
  warned=$(systemd-analyze verify --man=no --recursive-errors=no "/usr/lib/systemd/system/$unit" 2>&1 | grep -v DelegateSubgroup || true)
  [ -z "$warned" ] || die "$unit: $warned"
done

say "a store of the schema at c4639fd"
install -d -m 755 /var/lib/sharewell
mkdir /run/sharewell  # systemd does it from the unit
install -m 600 /try/old.db /var/lib/sharewell/store.db
start_server
sharewell jobs --all >/tmp/jobs
grep -q 'before .* finished' /tmp/jobs || die "the old job: $(cat /tmp/jobs)"
grep -q 'held' /tmp/jobs || die "the job that waited: $(cat /tmp/jobs)"
sharewell release 2 >/dev/null
finished() { sharewell job 2 --json | grep -q '"phase": "finished"'; }
until_works finished
[ "$(sharewell profiles --json --store /var/lib/sharewell/store.db | grep -c old-profile)" -gt 0 ] || die "the old profile is gone"

say "a job of an ordinary user, through root's server"
runuser -u ann -- bash -euc 'cd; sharewell submit --wait -- id -un >/dev/null 2>&1; sharewell logs 3' >/tmp/said
[ "$(cat /tmp/said)" = ann ] || die "it said $(cat /tmp/said)"

say "the Python client's wheel"
python3 -m venv /tmp/venv
/tmp/venv/bin/pip -q install --no-index --disable-pip-version-check /try/*.whl
/tmp/venv/bin/python -c 'import sharewell; print("client", sharewell.__version__)'

say "the node agent as its own user"
install -d -o sharewell -g sharewell /var/lib/sharewell-monitor
runuser -u sharewell -- sharewell monitor --for 2s --interval 0.5s --listen none --store /var/lib/sharewell-monitor/store.db >/tmp/monitor.log 2>&1 ||
  die "$(cat /tmp/monitor.log)"

# Installed over itself: a changed setting stays.
echo '# mine' >>/etc/sharewell/sharewell.toml
dpkg -i "$package" >/tmp/install.log 2>&1 || die "$(cat /tmp/install.log)"
grep -q '^# mine' /etc/sharewell/sharewell.toml || die "an upgrade overwrote sharewell.toml"
stop_server

apt-get -q -y remove sharewell >/tmp/remove.log 2>&1 || die "$(cat /tmp/remove.log)"
[ -s /var/lib/sharewell/store.db ] || die "removing took the store away"
[ ! -e /usr/bin/sharewell ] || die "the program is still there"
apt-get -q -y purge sharewell >/tmp/remove.log 2>&1 || die "$(cat /tmp/remove.log)"
listed >/tmp/after
accounts >/tmp/accounts.after
diff /tmp/before /tmp/after || die "the package left something behind, or took something away"
diff /tmp/accounts /tmp/accounts.after || die "the package left an account behind"
[ ! -e /run/sharewell ] || die "/run/sharewell is still there"
say "removed and purged: nothing is left"
