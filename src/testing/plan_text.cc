#include "testing/plan_text.h"

#include <fmt/format.h>

namespace sharewell::fixtures {
namespace {

std::string TextOf(const core::Reason& r) {
  return fmt::format("because {} {} {} {}", static_cast<int>(r.kind),
                     r.job.valid() ? fmt::format("j{}", r.job.value) : "-", r.a, r.b);
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
