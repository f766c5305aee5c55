// How fast a job goes, by its own account: a file that it writes one line a step to, or what it
// prints.
//
// Steps are counted with the moment they arrived at (StepClock), and a rate is taken from arrival
// to arrival, so that neither slow steps nor a writer that buffers bends it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/units.h"

namespace sharewell::measure {

struct ThroughputSource {
  enum class Kind {
    kNone,
    kProgressFile,  // $SHAREWELL_PROGRESS, set by us: one line a step
    kSteps,  // `expression` on its output: group 1 is the step counter; no group: a match is a step
    kRate,   // `expression` on its output: group 1 is steps a second
  };
  Kind kind = Kind::kProgressFile;
  std::string expression = {};  // ECMAScript, no back-references
  // kProgressFile: the job is known to write it, so that it warms up until its first step. Else a
  // job that has not opened the file yet may be one that tells no steps at all.
  bool promised = false;
};

// A usage error with the position, where it is no expression, or has no group and needs one.
core::Result<void> CheckExpression(const ThroughputSource& source);

// Steps so far, and when they were so many. Bounded: old arrivals are thinned out.
class StepClock {
 public:
  // Times that fall and counts that do not rise are left out.
  void Add(core::Seconds time, double steps);
  double steps() const;
  // Between the first and the last arrival within the span; where only one is in it, since the one
  // before it. Absent where that cannot be said.
  std::optional<double> Rate(core::Seconds from, core::Seconds to) const;
  // Steps at that moment, between arrivals as if they came evenly; absent before the first and
  // after the last one.
  std::optional<double> At(core::Seconds time) const;
  std::optional<core::Seconds> first() const;
  int Arrivals(core::Seconds from, core::Seconds to) const;

 private:
  struct Arrival {
    core::Seconds time;
    double steps = 0;
  };
  // Indices of the first arrival in the span, and of the one after the last.
  std::pair<std::size_t, std::size_t> Within(core::Seconds from, core::Seconds to) const;

  std::vector<Arrival> arrivals_;
  core::Seconds gap_;  // kept ones are no closer
};

// One job's throughput. Poll and Feed are called by one thread.
class Throughput {
 public:
  // Makes the progress file where the source needs one.
  static core::Result<std::unique_ptr<Throughput>> Make(const ThroughputSource& source);
  virtual ~Throughput() = default;

  // The file that $SHAREWELL_PROGRESS names; empty: none. Removed with this object.
  virtual std::string File() const { return {}; }
  // A piece of the job's output.
  virtual void Feed(std::string_view piece, core::Seconds now) = 0;
  // Looks at the file. `wall` is the same moment by the wall clock (files carry its time).
  virtual void Poll(core::Seconds now, core::Seconds wall) = 0;
  // Steps are to be expected: the job has opened the file, or what it prints is looked at.
  virtual bool Expected() const = 0;
  // Steps a second in the span; absent: not known.
  virtual std::optional<double> Rate(core::Seconds from, core::Seconds to) const = 0;
  // The same as if steps came evenly between arrivals, so that short spans can be compared; absent
  // where the span is not wholly between arrivals (yet).
  virtual std::optional<double> Smooth(core::Seconds from, core::Seconds to) const = 0;
  // When the first steps came; absent: none have.
  virtual std::optional<core::Seconds> First() const = 0;
  // How many times steps came in the span: a rate from two of them is no mean.
  virtual int Arrivals(core::Seconds from, core::Seconds to) const = 0;
  // "progress file", "output", "none"; "none" as long as nothing came.
  virtual std::string Source() const = 0;
  // What went wrong; empty: nothing.
  virtual std::string Note() const { return {}; }
};

}  // namespace sharewell::measure
