#include "server/backend.h"

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "platform/clock/wall_clock.h"

namespace sharewell::server {

using core::Result;

Result<std::unique_ptr<Backend>> NewBackend(const ServerOptions& options,
                                            const catalogue::GpuCatalogue& catalogue) {
  if (options.slurm) return NewSlurmBackend(options, catalogue);
  if (options.kubernetes) return NewKubeBackend(options, catalogue);
  return NewLocalBackend(options, catalogue);
}

Result<core::Seconds> OriginOf(store::JobStore& jobs) {
  auto kept = jobs.Kept("epoch");
  RETURN_IF_ERROR(kept);
  core::UnixMillis epoch = 0;
  const std::string text = kept->value_or("");
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  // A wall clock that was set back must not make time negative.
  if (error != std::errc() || end != text.data() + text.size() || epoch > platform::UnixNow()) {
    epoch = platform::UnixNow();
    store::JobChanges changes;
    changes.kept.emplace_back("epoch", std::to_string(epoch));
    changes.may_use_reserve = true;
    RETURN_IF_ERROR(jobs.Write(changes));
  }
  return core::Seconds(static_cast<double>(platform::UnixNow() - epoch) / 1e3);
}

}  // namespace sharewell::server
