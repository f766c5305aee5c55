// Any bytes as a list, and as the lines of a watch: told as changes, or refused with a reason and
// listed anew. Nothing is told as gone that was not put.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/kubernetes/api/reflector.h"
#include "engine/kubernetes/api/scripted_kube.h"

namespace engine = sharewell::engine;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.find('\x01');
  const std::string list(text.substr(0, cut));
  const std::string lines(cut == std::string_view::npos ? "" : text.substr(cut + 1));
  engine::ScriptedKube kube;
  kube.on_ask =
      [&](const engine::KubeRequest& request) -> sharewell::core::Result<engine::KubeAnswer> {
    // A list that always has a next page must end all the same.
    if (kube.asked.size() > 3) return engine::KubeAnswer{500, "", {}};
    return engine::KubeAnswer{request.path.empty() ? 0 : 200, list, {}};
  };
  engine::Reflector reflector(kube, {.name = "things", .path = "/things"});
  std::map<std::string, std::string> known;
  std::vector<engine::KubeChange> changes;
  sharewell::core::Seconds now{0};
  for (int i = 0; i < 4; ++i) {
    const auto looked = reflector.Look(now, changes);
    if (!looked && looked.error().message.empty()) __builtin_trap();
    if (!kube.feeds.empty() && !kube.LastFeed().closed) {
      kube.LastFeed().Say(lines);
      if (i == 2) kube.LastFeed().End();
    }
    now = reflector.NextLook();
  }
  for (const auto& change : changes) {
    if (change.key.empty() || change.uid.empty()) __builtin_trap();
    const bool put = change.kind == engine::KubeChange::Kind::kPut;
    const auto it = known.find(change.key);
    if (put && (change.json.empty() || (it != known.end() && it->second != change.uid)))
      __builtin_trap();
    if (!put && (it == known.end() || it->second != change.uid)) __builtin_trap();
    if (put) {
      known[change.key] = change.uid;
    } else {
      known.erase(it);
    }
  }
  return 0;
}
