// Any bytes as slurm.conf and, behind a line "--", as gres.conf. Read, or refused with a reason;
// what was read stands where it says, and a change that is offered can be read again and changes
// nothing a second time.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/slurm/site/site_change.h"
#include "engine/slurm/site/site_install.h"
#include "engine/slurm/site/trial_conf.h"

namespace engine = sharewell::engine;

namespace {

sharewell::core::Result<engine::ConfText> ReadText(const std::string& path,
                                                   const std::string& text) {
  return engine::ReadConf(path, [&](const std::string& asked) {
    return asked == path ? std::optional<std::string>(text) : std::nullopt;
  });
}

void MustStandThere(const engine::ConfText& conf) {
  for (const auto& line : conf.lines) {
    const std::string& text = conf.files.at(line.file);
    if (line.words.empty() || line.line < 1 || line.begin > line.end) __builtin_trap();
    std::size_t at = line.begin;
    for (const auto& word : line.words) {
      if (word.begin < at || word.value_begin < word.begin || word.end < word.value_begin ||
          word.end > line.end || line.end > text.size()) {
        __builtin_trap();
      }
      at = word.end;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto cut = text.find("\n--\n");
  const auto slurm = ReadText("s", text.substr(0, cut == std::string::npos ? cut : cut + 1));
  const auto gres = ReadText("g", cut == std::string::npos ? "" : text.substr(cut + 4));
  if (!slurm || !gres) {
    if ((slurm ? gres : slurm).error().message.empty()) __builtin_trap();
    return 0;
  }
  MustStandThere(*slurm);
  MustStandThere(*gres);
  const auto model = [](const std::string& type) { return type == "v" ? "V100" : std::string(); };
  const auto change = engine::ChangeSite(*slurm, *gres, {}, model);
  if (!change) {
    if (change.error().message.empty()) __builtin_trap();
    return 0;
  }
  const auto slurm_now = engine::ChangedConf(*slurm, *change);
  const auto gres_now = engine::ChangedConf(*gres, *change);
  if (!slurm_now || !gres_now) __builtin_trap();
  const auto again = engine::ChangeSite(*slurm_now, *gres_now, {}, model);
  if (!again || !again->edits.empty()) __builtin_trap();
  if (const auto nodes = engine::NodesOfConf(*slurm_now))
    (void)engine::TrialConf(*slurm_now, *nodes, {});
  return 0;
}
