-- A store of commit c4639fd's schema (3): the statements of its src/store/migrations.cc, and a job that had finished, one that was held
-- and a profile, written by a later program and cut to the fields that its writers had. tools/package_test upgrades it.
PRAGMA application_id = 1399355237;
CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL);
CREATE TABLE series(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL, metric TEXT NOT NULL,
  instance TEXT NOT NULL, job TEXT NOT NULL, unit TEXT NOT NULL, kind INTEGER NOT NULL,
  UNIQUE(node, metric, instance, job));
CREATE TABLE extent(series INTEGER PRIMARY KEY, first_time INTEGER NOT NULL,
  last_time INTEGER NOT NULL, samples INTEGER NOT NULL);
CREATE TABLE journal(id INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL,
  minute INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX journal_by_node ON journal(node, minute);
CREATE TABLE chunk(slot INTEGER PRIMARY KEY, samples INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE minute_rollup(slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE hour_rollup(slot INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE dirty(slot INTEGER PRIMARY KEY);
CREATE TABLE profile(id INTEGER PRIMARY KEY AUTOINCREMENT, created INTEGER NOT NULL,
  name TEXT NOT NULL, workload TEXT NOT NULL, gpu TEXT NOT NULL, source TEXT NOT NULL,
  record TEXT NOT NULL);
CREATE TABLE job(number INTEGER PRIMARY KEY, phase TEXT NOT NULL, owner TEXT NOT NULL,
  workload INTEGER NOT NULL, submitted INTEGER NOT NULL, ended INTEGER NOT NULL,
  record TEXT NOT NULL);
CREATE INDEX job_by_phase ON job(phase, number);
CREATE INDEX job_by_owner ON job(owner, number);
CREATE INDEX job_by_workload ON job(workload, number);
CREATE INDEX job_by_end ON job(ended);
CREATE TABLE job_event(id INTEGER PRIMARY KEY, time INTEGER NOT NULL, kind TEXT NOT NULL,
  job INTEGER NOT NULL, words TEXT NOT NULL);
CREATE TABLE shared_run(id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL,
  gpu TEXT NOT NULL, a BLOB NOT NULL, b BLOB NOT NULL, speed_a TEXT NOT NULL,
  speed_b TEXT NOT NULL, fits INTEGER NOT NULL);
CREATE TABLE kept(name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL);
INSERT INTO meta(name, value) VALUES('schema', '3'), ('written_by', 'sharewell 0.1.0');
INSERT INTO job(number, phase, owner, workload, submitted, ended, record) VALUES(1, 'finished', 'root', -2397124577292552121, 1794870466105, 1794870466190,
  '{"number":1,"name":"before","user":"root","uid":0,"gid":0,"admin":true,"phase":"finished","command":["true"],"folder":"/","environment":{"HOME":"/root","PATH":"/usr/sbin:/usr/bin:/sbin:/bin"},"exclusive":false,"priority":0,"held":false,"requeue":true,"gpus_asked":1,"needs":{"source":"assumed","from":"nothing is known about it, so it is assumed to fill its GPU"},"submitted_ms":1794870466105,"started_ms":1794870466178,"resumed_ms":1794870466178,"ended_ms":1794870466190,"attempt":1,"ooms":0,"parted":0,"cancelled":false,"gpus":[{"index":0,"uuid":"simulated-0","model":"H200"}],"cores":16,"reason":"an idle GPU, nobody to share with","note":"","exit_code":0,"run_time_seconds":0.035,"alone_time_seconds":0.063185524995788}');
INSERT INTO job_event(id, time, kind, job, words) VALUES(1, 1794870466105, 'job.submitted', 1, 'job 1 was submitted');
INSERT INTO job(number, phase, owner, workload, submitted, ended, record) VALUES(2, 'held', 'root', -2397124577292552121, 1794870466280, 0,
  '{"number":2,"name":"waited","user":"root","uid":0,"gid":0,"admin":true,"phase":"held","command":["true"],"folder":"/","environment":{"HOME":"/root","PATH":"/usr/sbin:/usr/bin:/sbin:/bin"},"exclusive":false,"priority":0,"held":true,"requeue":true,"gpus_asked":1,"needs":{"source":"assumed","from":"job 1; what it needs of a GPU was not measured, so it is assumed to fill one","gpu":"H200","duration_seconds":0.063185524995788},"submitted_ms":1794870466280,"attempt":0,"ooms":0,"parted":0,"cancelled":false,"cores":0,"reason":"held: `sharewell release` lets it go","note":"","run_time_seconds":0,"alone_time_seconds":0}');
INSERT INTO job_event(id, time, kind, job, words) VALUES(2, 1794870466280, 'job.submitted', 2, 'job 2 was submitted');
INSERT INTO profile(created, name, workload, gpu, source, record) VALUES(1794870466647, 'old-profile', 'old-profile', '', 'profile',
  '{"name":"old-profile","created_ms":1794870466647,"source":"profile","workload":"old-profile","batch":0,"precision":"","workers":0,"gpu":"","cpu_cores":0.0,"host_memory_bytes":145408.0,"cpu_curve":[],"command":["sleep","5"],"environment":[["node","box"],["os","Debian GNU/Linux 12 (bookworm)"]],"figures":[{"metric":"cpu_busy_ratio","instance":"","unit":"ratio","mean":0.999296270232599,"least":0.9950738916281936,"most":1.0,"median":1.0,"p95":1.0,"deviation":0.0018618939547361496,"readings":7},{"metric":"job_cores","instance":"","unit":"1","mean":0.0,"least":0.0,"most":0.0,"median":0.0,"p95":0.0,"deviation":0.0,"readings":6}],"kernels":[],"throughput_source":"none","warmup_s":0.0,"window_s":5.007211766998807,"repeats":1,"settled":false,"exit_code":0,"bound_by":"unknown: 0.00 of 2 cores busy, disk vda busy 2 %","notes":["ended after 5.0 s, before a steady state: these are figures of its whole life, not settled"]}');
INSERT INTO shared_run(time, gpu, a, b, speed_a, speed_b, fits) VALUES(1794870466000, 'H200', 'a', 'b', '0.9', '0.8', 1);
