// Work that somebody else's input may make endless or enormous, done in a process of its own with
// bounds on memory, CPU time and wall time. It ends with the thread that asked for it.
//
// The process is a fork of this one, which has threads: what the others were doing at that moment
// stays half done in it for ever, locks included. So the work may use memory and the files that it
// was handed, and nothing that takes a lock which another thread of this process takes: no store,
// no service, no log. The pure modules have no such lock; what a study needs of the others is
// looked up before. (Starting the program anew would cost each small study the time to read the
// predictor, and every value that a study needs a form in which it travels.)
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "core/units.h"
#include "platform/process/work_stop.h"

namespace sharewell::platform {

struct WorkBounds {
  core::Bytes memory{double{1 << 30}};  // beyond what this process has now
  core::Seconds cpu{60}, wall{120};
};

struct WorkDone {
  enum class End {
    kAnswered,
    kMemory,   // it wanted more than it may have, or the machine had no more
    kCpu,      // likewise of CPU time
    kWall,     // it took too long
    kStopped,  // by WorkStop
    kFailed,   // it ended by itself without an answer, or could not begin
  };
  End end = End::kFailed;
  std::string answer;      // kAnswered
  std::string why;         // kFailed: in words
  core::Seconds cpu{0.0};  // that it used
};

using TellWork = std::function<void(std::string_view)>;

// Waits for it. `work` runs in the other process with every file closed but `files`, stdin, stdout
// and stderr, and cannot write to a file; what it passes to its argument is given to `told` here,
// on this thread. An exception other than of memory must not leave it.
WorkDone DoBounded(const WorkBounds& bounds, const WorkStop& stop,
                   const std::function<std::string(const TellWork& tell)>& work,
                   const TellWork& told = {}, std::span<const int> files = {});

}  // namespace sharewell::platform
