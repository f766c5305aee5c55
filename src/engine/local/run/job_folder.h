// A job's folder below the server's state folder, which the server and the job's supervisor share;
// and its logs. docs/formats/jobs.md says what lies where.
//
//   <state>/jobs/17.1/     job 17, attempt 1, until its end has been stored
//   <state>/logs/store-ID/1000/17/   what its attempts wrote, one after the other, until it is old
//   (old_logs.h)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/job/job_metrics.h"
#include "core/result.h"
#include "core/units.h"
#include "engine/local/run/pause_file.h"

namespace sharewell::engine {

// ---- Logs. Any thread.
enum class LogStream : std::uint8_t { kOut, kErr };

// <state>/logs/store-ID/1000/17: of job 17 of user 1000 in the store of that id. Numbers start
// again in another store, whose jobs have another folder.
std::string LogFolder(const std::string& state, const std::string& store, std::uint32_t uid,
                      std::int64_t job);
// Makes it, with what it lies in; one that is there is taken. False: errno says why.
bool MakeLogFolder(const std::string& folder);
// Its parts, oldest first (two at most), each with the offset of its first byte.
std::vector<std::pair<std::int64_t, std::string>> LogFiles(const std::string& folder,
                                                           LogStream stream);

struct LogPiece {
  std::string bytes;
  std::int64_t begin = 0;  // offset of the first byte: later than asked where that is gone
  std::int64_t next = 0;   // offset to go on at
  std::int64_t end = 0;    // of what has been written so far
};
// At most `most` bytes from `offset` of all the job ever wrote; below 0: so many from the end.
// Nothing written, or nothing there yet: empty.
LogPiece ReadLog(const std::string& folder, LogStream stream, std::int64_t offset,
                 std::size_t most);
bool HasLogs(const std::string& folder);   // false: it never ran, or they are gone
void MarkLogs(const std::string& folder);  // a run of it has just ended
// All of them or none, whatever is killed when: what is left of it goes with RemoveOldLogs.
void RemoveLogs(const std::string& folder);

// ---- The job's folder. One server at a time.
std::string JobFolder(const std::string& state, std::int64_t job, int attempt);
// Job and attempt of a folder's name ("17.1"); absent: it is none.
std::optional<std::pair<std::int64_t, int>> JobOfFolder(std::string_view name);

// "key=value" records in the order they were put; keys may come several times.
class JobSpec {
 public:
  void Put(std::string_view key, std::string_view value);           // REQUIRES: no NUL in them
  void Put(std::string_view key, double value);                     // all its digits
  void Set(std::string_view key, std::string_view value);           // in the first's place
  std::optional<std::string_view> Get(std::string_view key) const;  // the first
  std::optional<double> Number(std::string_view key) const;         // absent: no number either
  std::vector<std::string_view> All(std::string_view key) const;

  // The file's bytes and back; a part of a spec is none.
  std::string Bytes() const;
  static std::optional<JobSpec> Parse(std::string_view bytes);

 private:
  std::vector<std::pair<std::string, std::string>> records_;
};

// Writes it into the folder, which must be there, so that a reader sees all or nothing.
core::Result<void> WriteSpec(const std::string& folder, const JobSpec& spec);
core::Result<JobSpec> ReadSpec(const std::string& folder);

// Its time limit as it is now, likewise; 0: as the spec says.
core::Result<void> WriteLimit(const std::string& folder, core::Seconds limit);
core::Seconds ReadLimit(const std::string& folder);

// How a supervised command ended.
struct JobExit {
  int code = 0;  // as a shell has it
  int signal = 0;
  bool timed_out = false;
  bool stopped = false;  // it was asked to end
  bool killed = false;   // SIGKILL was needed for it, or for what it left behind
  std::string failed;    // where the start failed (job_files.h); empty: it was started
  std::string terminal;  // what became of its terminal (job_files.h); empty: nothing to tell
  int error = 0;         // errno of that
  core::Seconds ran, cpu_time;
  std::int64_t ended_ms = 0;  // Unix
  core::Bytes most_memory;    // of its largest process
  core::Bytes lost_output;    // could not be kept: the disk was full
};
std::optional<JobExit> ReadExit(const std::string& folder);
// The same of the file's text; absent: it is no whole one.
std::optional<JobExit> ParseExit(std::string_view text);
// Steps that the job has told of; absent: not known.
std::optional<double> ReadSteps(const std::string& folder);
std::optional<double> ParseSteps(std::string_view text);
// The last of each number that the job has told of itself. Absent: not known.
std::optional<std::vector<core::ToldMetric>> ReadMetrics(const std::string& folder);
std::optional<std::vector<core::ToldMetric>> ParseMetrics(std::string_view text);
// What the job's watcher told, from that byte on (platform/files/watch_lines.h).
std::string ReadTold(const std::string& folder, std::size_t from);
// Whether it is paused, and since when.
PauseState ReadPause(const std::string& folder);
// The command's pid, once it has really begun.
std::optional<int> ReadStarted(const std::string& folder);

enum class JobLife : std::uint8_t {
  kAlive,  // its supervisor runs
  kEnded,  // it is gone, `exit` is there
  kNever,  // it is gone and the command was not begun; from now on it never will be
  kLost,   // it is gone, the command was begun, and nothing says how it ended
};
// Never wrong, whatever was killed when: the supervisor holds a lock.
JobLife LifeOf(const std::string& folder);
// The pid of the supervisor that runs or ran there; absent: none has begun.
std::optional<int> SupervisorOf(const std::string& folder);
// Of a living supervisor; -1: none is alive, or the kernel cannot. The caller closes it.
int OpenSupervisor(const std::string& folder);

// Kills what carries the folder's mark in its environment: of a job whose supervisor was killed.
// Zombies aside, nothing of it is left when it returns true.
bool KillMarked(const std::string& folder);

}  // namespace sharewell::engine
