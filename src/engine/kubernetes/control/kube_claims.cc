#include "engine/kubernetes/control/kube_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "core/snapshot.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"

namespace sharewell::engine {

using core::FailedError;
using core::Quoted;
using core::Result;

namespace {

constexpr std::size_t kMostNodeClaims = 1000;
constexpr std::size_t kMostNodeGpus = 64;
constexpr std::string_view kNotForPods = "-";

std::vector<std::string_view> Parts(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <class Number>
bool ReadWhole(std::string_view text, Number least, Number most, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out >= least && out <= most;
}

// Names as the API server and NVML write them: nothing that is a mark of ours.
bool IsKubeName(std::string_view text) {
  return !text.empty() && text.size() <= 128 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  });
}

bool ReadClaimWord(std::string_view word, KubeClaim& claim) {
  if (word == "shares") return claim.shares = true;
  if (word == "limited") return claim.limited = true;
  if (word == "guest") return claim.guest = true;
  const std::size_t colon = word.find(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view key = word.substr(0, colon), value = word.substr(colon + 1);
  if (key == "sm") return ReadWhole(value, 1, 100, claim.sm_percent);
  if (key == "mem") {
    std::int64_t mib = 0;
    if (!ReadWhole<std::int64_t>(value, 0, std::int64_t{1} << 40, mib)) return false;
    claim.memory_mib = mib;
    return true;
  }
  if (key == "cores") {
    const auto cores = core::FiniteNumber(value);
    if (!cores || *cores < 0 || *cores > 1e6) return false;
    claim.cores = *cores;
    return true;
  }
  return false;
}

bool ReadClaim(std::string_view text, KubeClaims& claims) {
  const auto words = Parts(text, ' ');
  if (words.size() < 3 || !IsKubeName(words[0])) return false;
  KubeClaim claim;
  const std::size_t dot = words[1].find('.');
  if (dot == std::string_view::npos) return false;
  if (!ReadWhole<std::int64_t>(words[1].substr(0, dot), 1, std::int64_t{1} << 53, claim.job) ||
      !ReadWhole(words[1].substr(dot + 1), 0, 1'000'000'000, claim.attempt)) {
    return false;
  }
  if (words[2] != "none") {
    for (const std::string_view gpu : Parts(words[2], '+')) {
      if (!IsKubeName(gpu) || claim.gpus.size() >= kMostNodeGpus) return false;
      claim.gpus.emplace_back(gpu);
    }
    if (claim.gpus.empty()) return false;
  }
  for (std::size_t i = 3; i < words.size(); ++i) {
    if (!ReadClaimWord(words[i], claim)) return false;
  }
  return claims.size() < kMostNodeClaims &&
         claims.emplace(std::string(words[0]), std::move(claim)).second;
}

}  // namespace

Result<KubeClaims> ParseKubeClaims(std::string_view text) {
  KubeClaims claims;
  for (const std::string_view one : Parts(text, ';')) {
    if (ReadClaim(one, claims)) continue;
    return FailedError(
        "its annotation sharewell.io/claims cannot be read at {}; when no pod of Sharewell runs "
        "there any more, remove it (`kubectl annotate node NAME sharewell.io/claims-`)",
        Quoted(one));
  }
  return claims;
}

std::string FormatKubeClaims(const KubeClaims& claims) {
  std::string text;
  for (const auto& [uid, claim] : claims) {
    if (!text.empty()) text += ';';
    text +=
        fmt::format("{} {}.{} {}", uid, claim.job, claim.attempt,
                    claim.gpus.empty() ? "none" : fmt::format("{}", fmt::join(claim.gpus, "+")));
    if (claim.sm_percent < 100) text += fmt::format(" sm:{}", claim.sm_percent);
    if (claim.memory_mib) text += fmt::format(" mem:{}", *claim.memory_mib);
    if (claim.cores > 0) text += fmt::format(" cores:{}", claim.cores);
    if (claim.shares) text += " shares";
    if (claim.limited) text += " limited";
    if (claim.guest) text += " guest";
  }
  return text;
}

std::string WhyNotClaimed(const KubeClaims& others, const KubeClaim& mine, core::Bytes gpu_memory) {
  for (const std::string& gpu : mine.gpus) {
    int residents = 0;
    double taken = 0;
    for (const auto& [uid, other] : others) {
      if (std::find(other.gpus.begin(), other.gpus.end(), gpu) == other.gpus.end()) continue;
      ++residents;
      taken += static_cast<double>(other.memory_mib.value_or(0));
      if (!mine.shares || !other.shares) {
        return fmt::format("GPU {} is claimed by job {}{}", gpu, other.job,
                           mine.shares ? ", which does not share it" : "");
      }
    }
    if (residents >= core::kMaxJobsOnGpu) {
      return fmt::format("GPU {} is claimed by {} jobs already", gpu, residents);
    }
    const double all = (taken + static_cast<double>(mine.memory_mib.value_or(0))) * (1 << 20);
    if (gpu_memory.value > 0 && residents > 0 && all > gpu_memory.value) {
      return fmt::format("jobs on GPU {} have claimed {:.0f} MiB of its {:.0f} MiB", gpu, taken,
                         gpu_memory.value / (1 << 20));
    }
  }
  return {};
}

Result<KubeGpus> ParseKubeGpus(std::string_view text) {
  auto words = Parts(text, ' ');
  KubeGpus gpus;
  std::optional<std::string_view> near;
  if (!words.empty() && words.back().starts_with(kNear)) {
    near = words.back().substr(kNear.size());
    words.pop_back();
  }
  std::set<std::string_view> seen;
  bool right = words.size() >= 2 && words.size() <= kMostNodeGpus + 1;
  for (std::size_t i = 0; right && i < words.size(); ++i) {
    if (i > 0 && words[i] == kNotForPods) continue;
    right = words[i] != kNotForPods && IsKubeName(words[i]) && seen.insert(words[i]).second;
    if (i == 0) {
      gpus.model = words[i];
      continue;
    }
    gpus.uuids.emplace_back(words[i]);
    gpus.numbers.push_back(static_cast<int>(i) - 1);
    right = right && words[i].starts_with("GPU-");
  }
  if (right && !gpus.uuids.empty()) {
    gpus.places = static_cast<int>(words.size()) - 1;
    if (!near) return gpus;
    const auto all = core::GpuIslands::Parse(*near, gpus.places);
    if (!all) {
      return FailedError("its annotation sharewell.io/gpus ends with {}: {}",
                         Quoted(fmt::format("{}{}", kNear, *near)), all.error().message);
    }
    if (all->known()) gpus.islands = all->Of(gpus.numbers);
    return gpus;
  }
  return FailedError(
      "its annotation sharewell.io/gpus is {}; it has to be a GPU model without spaces (RTX-4090) "
      "and the uuids of its GPUs, as in 'H200 GPU-8f2a... GPU-77aa...' (`nvidia-smi -L` shows "
      "them)",
      Quoted(text));
}

}  // namespace sharewell::engine
