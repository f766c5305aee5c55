// `sharewell top -w`: what is known, what the person at the keys wants to see of it, and the screen
// that follows. Pure: keys, answers and the time come in, lines of text come out, and what must be
// asked of the server is returned for the caller to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/job/job_record.h"
#include "core/units.h"
#include "report/jobs/job_rows.h"
#include "report/jobs/job_tables.h"
#include "report/watch/screen.h"

namespace sharewell::report {

// The machine that the jobs run on. Unknown where the server cannot tell.
struct HostNow {
  std::optional<core::Ratio> busy;
  std::optional<core::Bytes> memory, memory_used;
};

// What the server said at one moment.
struct WatchFacts {
  NodeNow node;
  std::vector<GpuNow> gpus;
  std::vector<core::JobRecord> running;
  std::vector<core::JobRecord> queue;  // the next to start first
  std::map<std::string, std::int64_t> counts;
  HostNow host;
  // How busy GPUs were before, by uuid, as the server has kept it.
  std::map<std::string, std::vector<std::pair<core::UnixMillis, core::Ratio>>> past = {};
};

// How busy a GPU was, by time: the mean of what was read in each part of kBusySlot.
class BusyHistory {
 public:
  static constexpr core::UnixMillis kBusySlot = 15'000;

  void Add(core::UnixMillis time, core::Ratio busy);
  // The last `slots`, up to that of `now`; absent: nothing was read then.
  std::vector<std::optional<core::Ratio>> Last(std::size_t slots, core::UnixMillis now) const;

 private:
  struct Mean {
    double sum = 0;
    int readings = 0;
  };
  std::map<core::UnixMillis, Mean> slots_;
};

enum class WatchSort { kIndex, kBusy, kMemory, kTogether };
enum class WatchPage { kGpus, kHelp, kWhy, kLog };
enum class WatchQuestion { kNone, kUser, kCancel };

// A row of the list: a GPU, a job on it, a job that waits, or words between them.
struct WatchRow {
  enum class Kind { kGpu, kJob, kWaiting, kWords };
  Kind kind = Kind::kWords;
  const GpuNow* gpu = nullptr;
  const core::JobRecord* job = nullptr;  // of an array the first of those that are one row
  std::string words;
  JobRow jobs = {};  // all of the row

  std::string Id() const;  // the same row after the next answer; empty: not to be chosen
};

struct WatchState {
  std::optional<WatchFacts> facts;  // absent: nothing was answered yet
  std::string lost;                 // why the server does not answer now; empty: it does
  core::UnixMillis now = 0, answered = 0;
  std::map<std::string, BusyHistory> busy;  // of each GPU's uuid

  WatchSort sort = WatchSort::kIndex;
  bool reversed = false;
  bool flat = false;    // each job of an array is a row
  std::string user;     // only jobs of users whose names hold this; empty: of all
  std::string chosen;   // WatchRow::Id
  std::size_t at = 0;   // the row that has it, or had it
  std::size_t top = 0;  // the first row on the screen

  WatchPage page = WatchPage::kGpus;
  std::int64_t job = 0;           // that the page or the question is about
  bool errors = false;            // the log is stderr's
  bool follows = true;            // the log's end is kept in view
  std::vector<std::string> text;  // of the page
  std::size_t text_top = 0;

  WatchQuestion question = WatchQuestion::kNone;
  std::string typed;
  std::string said;    // what became of the last action
  bool ascii = false;  // the terminal shows no more
};

struct WatchKey {
  enum class Kind { kText, kUp, kDown, kPageUp, kPageDown, kHome, kEnd, kEnter, kEscape, kErase };
  Kind kind = Kind::kText;
  std::string text;  // one character
};

// What the caller has to do after a key.
struct WatchAction {
  enum class Kind { kNone, kQuit, kWhy, kLog, kCancel };
  Kind kind = Kind::kNone;
  std::int64_t job = 0;
};

// The rows as they stand, in order. They point into `state`.
std::vector<WatchRow> WatchRows(const WatchState& state);

// A new answer, at `now`: history grows, what was chosen stays chosen.
void TakeFacts(WatchState& state, WatchFacts facts, core::UnixMillis now);
// The text of the page that is open, for `job`, broken to `width`; ignored where another one is
// open by now.
void TakeText(WatchState& state, WatchPage page, std::int64_t job, std::string_view text,
              std::size_t width);

WatchAction PressKey(WatchState& state, const WatchKey& key, ScreenSize size);

// Scrolls so that what is chosen is on the screen. To be called before it is drawn.
void KeepInView(WatchState& state, ScreenSize size);

// As many lines as the screen has, none wider than it. REQUIRES: KeepInView for this size.
Screen DrawWatch(const WatchState& state, ScreenSize size);

// The sum of the speeds on a GPU; absent: not of all known, or fewer than two.
std::optional<double> SpeedTogether(const GpuNow& gpu, const std::vector<core::JobRecord>& running);
// Lines of the list that fit.
std::size_t WatchBody(ScreenSize size);

}  // namespace sharewell::report
