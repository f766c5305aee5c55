#include "testing/plan_text.h"

#include <fmt/format.h>

namespace sharewell::fixtures {
namespace {

namespace reason = core::reason;

// The figures of a kind, exactly: words round them.
struct Figures {
  template <class Kind>
  std::string operator()(const Kind&) const {
    return "";
  }
  std::string operator()(const reason::FirstFit& r) const { return Of(r.utilisation); }
  std::string operator()(const reason::GoodNeighbour& r) const {
    return Of(r.own_speed, r.slowest_neighbour);
  }
  std::string operator()(const reason::BetterModel& r) const { return Of(r.gain); }
  std::string operator()(const reason::LeavesBetterModel& r) const { return Of(r.gain); }
  std::string operator()(const reason::AfterProfile& r) const { return Of(r.utilisation); }
  std::string operator()(const reason::Tail& r) const { return Of(r.remaining.value); }
  std::string operator()(const reason::GivesWay& r) const { return Of(r.share); }
  std::string operator()(const reason::Evicted& r) const { return Of(r.slowdown, r.bound); }
  std::string operator()(const reason::NoMemory& r) const {
    return Of(r.wanted.value, r.most_free.value);
  }
  std::string operator()(const reason::NoCores& r) const { return Of(r.wanted, r.most_free); }
  std::string operator()(const reason::NoHostMemory& r) const {
    return Of(r.wanted.value, r.most_free.value);
  }

 private:
  static std::string Of(double a) { return fmt::format(" ({})", a); }
  static std::string Of(double a, double b) { return fmt::format(" ({}, {})", a, b); }
};

std::string TextOf(const core::Reason& r) {
  const core::JobId other = core::OtherJob(r);
  return fmt::format("because {}{}",
                     core::InWords(r, other.valid() ? fmt::format("j{}", other.value) : "-"),
                     std::visit(Figures(), r));
}

std::string TextOf(std::optional<core::Seconds> time) {
  return time ? fmt::format("{}", time->value) : "-";
}

template <class Ids>
std::string Listed(const char* what, const Ids& ids) {
  std::string text;
  for (core::JobId id : ids) text += fmt::format("{} j{}\n", what, id.value);
  return text;
}

}  // namespace

std::string TextOf(const core::Allocation& where) {
  std::string text;
  for (core::GpuId gpu : where.gpus) text += fmt::format("g{} ", gpu.value);
  if (where.gpus.empty() && where.node.valid()) text += fmt::format("n{} ", where.node.value);
  text += fmt::format("cores {}", where.cores);
  return where.sm_share < 1 ? text + fmt::format(" share {}", where.sm_share) : text;
}

std::string ActionsOf(const core::Plan& plan) {
  std::string text;
  for (const auto& x : plan.stops)
    text += fmt::format("stop j{} {}\n", x.job.value, TextOf(x.reason));
  for (const auto& x : plan.moves) {
    text += fmt::format("move j{} {} {} {}\n", x.job.value, TextOf(x.to), x.free ? "free" : "",
                        TextOf(x.reason));
  }
  for (const auto& x : plan.resizes)
    text += fmt::format("resize j{} {} {}\n", x.job.value, x.cores, TextOf(x.reason));
  for (const auto& x : plan.throttles)
    text += fmt::format("throttle j{} {} {}\n", x.job.value, x.share, TextOf(x.reason));
  for (const auto& x : plan.starts) {
    text += fmt::format("start j{} {} profile {} {}\n", x.job.value, TextOf(x.to),
                        TextOf(x.profile), TextOf(x.reason));
  }
  text += Listed("infeasible", plan.infeasible);
  if (plan.wake_at) text += fmt::format("wake at {}\n", plan.wake_at->value);
  return text;
}

std::string WaitsOf(const core::Plan& plan) {
  std::string text;
  for (const auto& x : plan.waits)
    text += fmt::format("wait j{} {}\n", x.job.value, TextOf(x.reason));
  return text;
}

std::string TextOf(const engine::Observation& o) {
  std::string text = fmt::format("at {}\n", o.now.value);
  for (const auto& job : o.submitted) text += fmt::format("submitted j{}\n", job.id.value);
  text += Listed("finished", o.finished) + Listed("failed", o.failed) +
          Listed("out of memory", o.out_of_memory) + Listed("profiled", o.profiled);
  for (const auto& p : o.progress)
    text += fmt::format("progress j{} {} {}\n", p.job.value, p.attained.value, p.rate);
  return text;
}

}  // namespace sharewell::fixtures
