#include "engine/kubernetes/api/kube_lease.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>

#include "core/numbers/random.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "engine/kubernetes/control/kube_status.h"
#include "json/value.h"
#include "json/writer.h"

namespace sharewell::engine {
namespace {

using core::Result;
using core::Seconds;

// Whatever stands in the object: nobody waits longer for a holder that is dead.
constexpr std::int64_t kMostSeconds = 60;
constexpr const char* kNumbers = "sharewell.io/job-numbers";

// "2026-11-17T02:44:00.250000Z", as the object wants it.
std::string MicroTime(Seconds wall) {
  const double whole = std::floor(std::clamp(wall.value, 0.0, 4e9));
  const int micros = static_cast<int>(std::clamp((wall.value - whole) * 1e6, 0.0, 999'999.0));
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(static_cast<std::time_t>(whole)),
                     micros);
}

}  // namespace

KubeLease::KubeLease(KubeDriver& driver, KubeLeaseOptions options, std::function<Seconds()> clock,
                     std::function<Seconds()> wall)
    : driver_(driver),
      options_(std::move(options)),
      clock_(std::move(clock)),
      wall_(std::move(wall)),
      path_("/apis/coordination.k8s.io/v1/namespaces/" + KubeEscaped(options_.name_space) +
            "/leases") {
  SHAREWELL_CHECK(!options_.identity.empty() && options_.leads < options_.lasts);
}

Result<void> KubeLease::Step() {
  const Seconds now = clock_();
  if (now < next_) return {};
  // Spread a little, so that two followers do not ask in step for ever.
  std::uint64_t hash = 0;
  for (const char c : options_.identity) hash = core::HashOf({hash, static_cast<unsigned char>(c)});
  next_ = now + (0.9 + 0.1 * core::Uniform(hash)) * options_.between;
  // A leader renews what it wrote itself; all others look first. What was sent and not answered
  // may have happened.
  if (!known_ || seen_.holder != options_.identity) RETURN_IF_ERROR(Read());
  if (seen_.version.empty()) return Create();
  if (!IsFree(clock_())) return {};
  return Write(options_.identity);
}

bool KubeLease::IsFree(Seconds now) const {
  if (seen_.holder.empty() || seen_.holder == options_.identity) return true;
  const Seconds said(static_cast<double>(std::clamp<std::int64_t>(seen_.seconds, 0, kMostSeconds)));
  return now >= changed_ + std::max(said, options_.lasts);
}

Result<void> KubeLease::Release() {
  const bool led = IsLeader(clock_()) && known_;
  leads_until_.reset();
  if (!led) return {};
  return Write("");
}

Result<void> KubeLease::Reserve(std::int64_t last) {
  wanted_numbers_ = std::max(wanted_numbers_, last);
  if (seen_.numbers >= last || !IsLeader(clock_()) || !known_) return {};
  return Write(options_.identity);
}

Result<void> KubeLease::Read() {
  known_ = false;
  const auto answer =
      driver_.Ask({"GET", path_ + '/' + KubeEscaped(options_.name), "", ""}, options_.limit);
  RETURN_IF_ERROR(answer);
  if (answer->status == 404) {
    seen_ = {};
    known_ = true;
    return {};
  }
  if (answer->status != 200) {
    return tl::unexpected(KubeRefused("the lease of the leader: cannot be read", *answer));
  }
  return Note(answer->body);
}

Result<void> KubeLease::Create() {
  const Seconds sent = clock_();
  known_ = false;
  const auto answer =
      driver_.Ask({"POST", path_, Body(options_.identity, true), ""}, options_.limit);
  RETURN_IF_ERROR(answer);
  if (answer->status == 409) return {};  // another was quicker
  if (answer->status != 201 && answer->status != 200) {
    return tl::unexpected(KubeRefused("the lease of the leader: cannot be made", *answer));
  }
  RETURN_IF_ERROR(Note(answer->body));
  leads_until_ = sent + options_.leads;
  return {};
}

Result<void> KubeLease::Write(const std::string& holder) {
  const Seconds sent = clock_();
  known_ = false;
  const auto answer =
      driver_.Ask({"PATCH", path_ + '/' + KubeEscaped(options_.name),
                   Body(holder, holder != seen_.holder), "application/merge-patch+json"},
                  options_.limit);
  RETURN_IF_ERROR(answer);
  if (answer->status == 409 || answer->status == 404) {
    // Somebody else wrote, or took it away. Whoever believed to lead does so no longer.
    leads_until_.reset();
    return {};
  }
  if (answer->status != 200) {
    return tl::unexpected(KubeRefused("the lease of the leader: cannot be renewed", *answer));
  }
  RETURN_IF_ERROR(Note(answer->body));
  if (holder == options_.identity) leads_until_ = sent + options_.leads;
  return {};
}

Result<void> KubeLease::Note(const std::string& body) {
  const auto parsed = json::Document::Parse(body);
  const json::Value metadata = json::RootOf(parsed)["metadata"];
  Record now;
  now.version = metadata["resourceVersion"].Text().value_or("");
  if (now.version.empty()) {
    return core::FailedError("the lease of the leader cannot be read: {}", core::Quoted(body));
  }
  // What cannot be read is as good as nothing: claims and conditions of pods tell numbers too.
  if (const auto numbers = metadata["annotations"][kNumbers].Text()) {
    now.numbers = static_cast<std::int64_t>(
        core::ParseWhole(kNumbers, *numbers, 0, std::uint64_t{1} << 53).value_or(0));
  }
  const json::Value spec = parsed->root()["spec"];
  now.holder = spec["holderIdentity"].Text().value_or("");
  now.seconds = spec["leaseDurationSeconds"].Whole().value_or(0);
  now.transitions = spec["leaseTransitions"].Whole().value_or(0);
  // By the clock after the answer: the change may have come while it was on its way.
  if (now.version != seen_.version) changed_ = clock_();
  if (now.holder != options_.identity) leads_until_.reset();
  seen_ = std::move(now);
  known_ = true;
  return {};
}

std::string KubeLease::Body(const std::string& holder, bool taken) const {
  const std::string moment = MicroTime(wall_());
  return json::ObjectLine([&](json::Writer& out) {
    out.Field("apiVersion", "coordination.k8s.io/v1");
    out.Field("kind", "Lease");
    out.Object("metadata", [&] {
      out.Field("name", options_.name);
      if (!seen_.version.empty()) out.Field("resourceVersion", seen_.version);
      if (const auto numbers = std::max(wanted_numbers_, seen_.numbers); numbers > 0) {
        out.Object("annotations", [&] { out.Field(kNumbers, fmt::format("{}", numbers)); });
      }
    });
    out.Object("spec", [&] {
      out.Field("holderIdentity", holder);
      out.Field("leaseDurationSeconds", std::llround(std::ceil(options_.lasts.value)));
      out.Field("renewTime", moment);
      if (taken) out.Field("acquireTime", moment);
      out.Field("leaseTransitions", seen_.transitions + (taken && !seen_.version.empty() ? 1 : 0));
    });
  });
}

}  // namespace sharewell::engine
