// Any bytes as the log of a pod, in two answers: no line is told twice or out of place, so that
// what was read bit by bit is what is read at once.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/kubernetes/api/kube_logs.h"
#include "engine/kubernetes/api/scripted_kube.h"
#include "must_hold.h"

namespace engine = sharewell::engine;
using sharewell::fuzz::MustHold;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.find('\x01');
  const std::string first(text.substr(0, cut));
  const std::string then(cut == std::string_view::npos ? "" : text.substr(cut + 1));
  engine::ScriptedKube kube;
  kube.on_ask = [&](const engine::KubeRequest&) -> sharewell::core::Result<engine::KubeAnswer> {
    return engine::KubeAnswer{200, kube.asked.size() == 1 ? first : then, {}};
  };
  sharewell::core::Seconds now{0};
  engine::KubeLogs logs(kube, [&] { return now; });
  const auto pods = []() -> sharewell::core::Result<std::vector<engine::KubeLogPod>> {
    return std::vector<engine::KubeLogPod>{{"u", "team", "a", "main", false}};
  };
  std::string told;
  for (int i = 0; i < 2; ++i) {
    now += sharewell::core::Seconds(10);
    const auto part = logs.Read(1, false, static_cast<std::int64_t>(told.size()), size + 1, pods);
    MustHold(part.has_value());
    told += part->bytes;
    MustHold(part->next == static_cast<std::int64_t>(told.size()));
  }
  const auto whole = logs.Read(1, false, 0, 2 * size + 2, pods);
  MustHold(whole && whole->bytes == told);
  return 0;
}
