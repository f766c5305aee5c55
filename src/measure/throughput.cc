#include "measure/throughput.h"

#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "core/result.h"
#include "measure/output_pattern.h"
#include "platform/files/progress_file.h"

namespace sharewell::measure {
namespace {

using core::Seconds;
using Kind = ThroughputSource::Kind;

constexpr std::size_t kMostArrivals = 4096;
constexpr std::size_t kMostLine = 4096;
constexpr int kMostLines = 2000;  // looked at in a second: matching must not slow the job down

class NoThroughput : public Throughput {
 public:
  void Feed(std::string_view, Seconds) override {}
  void Poll(Seconds, Seconds) override {}
  bool Expected() const override { return false; }
  std::optional<double> Rate(Seconds, Seconds) const override { return std::nullopt; }
  std::optional<double> Smooth(Seconds, Seconds) const override { return std::nullopt; }
  std::optional<Seconds> First() const override { return std::nullopt; }
  int Arrivals(Seconds, Seconds) const override { return 0; }
  std::string Source() const override { return "none"; }
};

std::optional<double> SmoothRate(const StepClock& clock, Seconds from, Seconds to) {
  const auto a = clock.At(from), b = clock.At(to);
  if (!a || !b || to <= from) return std::nullopt;
  return (*b - *a) / (to - from).value;
}

class FileThroughput : public Throughput {
 public:
  FileThroughput(std::string path, bool promised)
      : path_(std::move(path)), file_(path_), promised_(promised) {
    file_.Look();  // opens it, which is not to be taken for the job's doing
    watch_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch_ >= 0) ::inotify_add_watch(watch_, path_.c_str(), IN_OPEN);
  }
  ~FileThroughput() override {
    if (watch_ >= 0) ::close(watch_);
    ::unlink(path_.c_str());
  }
  FileThroughput(const FileThroughput&) = delete;
  FileThroughput& operator=(const FileThroughput&) = delete;

  std::string File() const override { return path_; }
  void Feed(std::string_view, Seconds) override {}
  bool Expected() const override { return promised_ || opened_ || clock_.steps() > 0; }
  std::optional<double> Rate(Seconds from, Seconds to) const override {
    return clock_.Rate(from, to);
  }
  std::optional<double> Smooth(Seconds from, Seconds to) const override {
    return SmoothRate(clock_, from, to);
  }
  std::optional<Seconds> First() const override { return clock_.first(); }
  int Arrivals(Seconds from, Seconds to) const override { return clock_.Arrivals(from, to); }
  std::string Source() const override { return clock_.steps() > 0 ? "progress file" : "none"; }
  std::string Note() const override {
    if (promised_ && clock_.steps() == 0) return "it wrote no step to $SHAREWELL_PROGRESS";
    return file_.rewritten() ? "the progress file was rewritten while it was read, so steps may "
                               "have been missed: the job must append to it"
                             : "";
  }

  void Poll(Seconds now, Seconds wall) override {
    char events[1024];
    if (watch_ >= 0 && ::read(watch_, events, sizeof events) > 0) opened_ = true;
    const double before = file_.steps();
    file_.Look();
    // The file says when the last line came, to the kernel's tick; a look comes up to an interval
    // later. While more is waiting, that time is of lines not counted yet.
    const Seconds arrived = std::clamp(now - (wall - file_.written()), std::min(looked_, now), now);
    if (file_.steps() > before && file_.all_read()) clock_.Add(arrived, file_.steps());
    looked_ = now;
  }

 private:
  std::string path_;
  platform::ProgressFile file_;
  int watch_ = -1;
  Seconds looked_;
  StepClock clock_;
  bool promised_;
  bool opened_ = false;
};

class OutputThroughput : public Throughput {
 public:
  OutputThroughput(OutputPattern pattern, Kind kind) : pattern_(std::move(pattern)), kind_(kind) {}

  void Poll(Seconds, Seconds) override {}
  bool Expected() const override { return true; }
  std::string Source() const override { return clock_.steps() > 0 ? "output" : "none"; }
  std::string Note() const override {
    if (clock_.steps() == 0) return "no line of the output matched the expression";
    return skipped_ ? "the output had more than 2,000 lines a second, and not all were looked at"
                    : "";
  }
  std::optional<double> Rate(Seconds from, Seconds to) const override {
    return clock_.Rate(from, to);
  }
  std::optional<double> Smooth(Seconds from, Seconds to) const override {
    return SmoothRate(clock_, from, to);
  }
  std::optional<Seconds> First() const override { return clock_.first(); }
  int Arrivals(Seconds from, Seconds to) const override { return clock_.Arrivals(from, to); }

  void Feed(std::string_view piece, Seconds now) override {
    if (now - second_ >= Seconds(1)) {
      second_ = now;
      lines_ = 0;
    }
    while (!piece.empty()) {
      // Progress bars redraw a line with a carriage return.
      const std::size_t end = piece.find_first_of("\r\n");
      const std::string_view part = piece.substr(0, end);
      line_ += part.substr(0, kMostLine - std::min(kMostLine, line_.size()));
      if (end == piece.npos) return;
      Line(now);
      line_.clear();
      piece.remove_prefix(end + 1);
    }
  }

 private:
  void Line(Seconds now) {
    if (line_.empty()) return;
    if (++lines_ > kMostLines) {
      skipped_ = true;
      return;
    }
    const auto value = pattern_.Find(line_);
    if (!value || *value < 0) return;
    if (kind_ == Kind::kRate) {
      // A rate becomes steps, from the line before to this one.
      if (last_time_) total_ += *value * (now - *last_time_).value;
    } else if (!pattern_.has_group()) {
      total_ += 1;
    } else if (last_value_) {
      // A counter that falls has begun anew, with the next epoch.
      total_ += *value >= *last_value_ ? *value - *last_value_ : *value;
    }
    last_value_ = *value;
    last_time_ = now;
    clock_.Add(now, total_ + 1);  // the first one is an arrival too
  }

  OutputPattern pattern_;
  Kind kind_;
  std::string line_;
  StepClock clock_;
  std::optional<double> last_value_;
  std::optional<Seconds> last_time_;
  double total_ = 0;
  Seconds second_;
  int lines_ = 0;
  bool skipped_ = false;
};

core::Result<OutputPattern> PatternOf(const ThroughputSource& source) {
  auto pattern = OutputPattern::Make(source.expression);
  if (pattern && source.kind == Kind::kRate && !pattern->has_group()) {
    return core::UsageError(
        "the regular expression needs a group for the steps a second: ([0-9.]+) it/s");
  }
  return pattern;
}

}  // namespace

core::Result<void> CheckExpression(const ThroughputSource& source) {
  if (source.kind != Kind::kSteps && source.kind != Kind::kRate) return {};
  RETURN_IF_ERROR(PatternOf(source));
  return {};
}

void StepClock::Add(Seconds time, double steps) {
  if (!arrivals_.empty()) {
    Arrival& last = arrivals_.back();
    if (time < last.time || steps <= last.steps) return;
    if (time == last.time) {
      last.steps = steps;
      return;
    }
  }
  // The newest is always there; one that came too soon after its neighbour gives way to it.
  const std::size_t n = arrivals_.size();
  if (n >= 2 && arrivals_[n - 1].time - arrivals_[n - 2].time < gap_) {
    arrivals_.back() = {time, steps};
    return;
  }
  arrivals_.push_back({time, steps});
  if (arrivals_.size() < kMostArrivals) return;
  std::vector<Arrival> kept;
  for (std::size_t i = 0; i < arrivals_.size(); i += 2) kept.push_back(arrivals_[i]);
  gap_ = (kept.back().time - kept.front().time) / static_cast<double>(kept.size());
  arrivals_ = std::move(kept);
}

double StepClock::steps() const { return arrivals_.empty() ? 0 : arrivals_.back().steps; }

std::optional<Seconds> StepClock::first() const {
  return arrivals_.empty() ? std::nullopt : std::optional(arrivals_.front().time);
}

std::pair<std::size_t, std::size_t> StepClock::Within(Seconds from, Seconds to) const {
  const auto earlier = [](const Arrival& a, Seconds t) { return a.time < t; };
  const auto later = [](Seconds t, const Arrival& a) { return t < a.time; };
  const auto begin = arrivals_.begin(), end = arrivals_.end();
  return {static_cast<std::size_t>(std::lower_bound(begin, end, from, earlier) - begin),
          static_cast<std::size_t>(std::upper_bound(begin, end, to, later) - begin)};
}

int StepClock::Arrivals(Seconds from, Seconds to) const {
  const auto [first, end] = Within(from, to);
  return end > first ? static_cast<int>(end - first) : 0;
}

std::optional<double> StepClock::Rate(Seconds from, Seconds to) const {
  auto [first, end] = Within(from, to);
  // One alone is seen from the one before it.
  if (end == first + 1 && first > 0) --first;
  if (end < first + 2) return std::nullopt;
  const Arrival &a = arrivals_[first], &b = arrivals_[end - 1];
  return (b.steps - a.steps) / (b.time - a.time).value;
}

std::optional<double> StepClock::At(Seconds time) const {
  const auto next = std::lower_bound(arrivals_.begin(), arrivals_.end(), time,
                                     [](const Arrival& a, Seconds t) { return a.time < t; });
  if (next == arrivals_.end()) return std::nullopt;
  if (next->time == time) return next->steps;
  if (next == arrivals_.begin()) return std::nullopt;
  const auto before = std::prev(next);
  return before->steps +
         (next->steps - before->steps) * ((time - before->time) / (next->time - before->time));
}

core::Result<std::unique_ptr<Throughput>> Throughput::Make(const ThroughputSource& source) {
  if (source.kind == Kind::kNone) return std::make_unique<NoThroughput>();
  if (source.kind != Kind::kProgressFile) {
    auto pattern = PatternOf(source);
    RETURN_IF_ERROR(pattern);
    return std::make_unique<OutputThroughput>(std::move(*pattern), source.kind);
  }
  std::error_code error;
  auto folder = std::filesystem::temp_directory_path(error);
  std::string path = ((error ? "/tmp" : folder) / "sharewell-progress-XXXXXX").string();
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) {
    return core::FailedError(
        "cannot make the progress file {}: {}; set TMPDIR to a folder that "
        "can be written",
        path, std::strerror(errno));
  }
  ::close(file);
  return std::make_unique<FileThroughput>(std::move(path), source.promised);
}

}  // namespace sharewell::measure
