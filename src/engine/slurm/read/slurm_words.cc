#include "engine/slurm/read/slurm_words.h"

#include <array>
#include <charconv>
#include <chrono>

#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;

constexpr std::int64_t kMostOfOneGres = 1'000'000'000;
constexpr std::size_t kMostGresParts = 4096;

struct PhaseWord {
  std::string_view word;
  SlurmPhase phase;
};
// A job that is requeued still ends on its nodes. SPECIAL_EXIT and REQUEUE_HOLD wait for an admin.
constexpr std::array kPhaseWords = {
    PhaseWord{"PENDING", SlurmPhase::kPending},
    PhaseWord{"REQUEUE_FED", SlurmPhase::kPending},
    PhaseWord{"REQUEUE_HOLD", SlurmPhase::kPending},
    PhaseWord{"SPECIAL_EXIT", SlurmPhase::kPending},
    PhaseWord{"RESV_DEL_HOLD", SlurmPhase::kPending},
    PhaseWord{"CONFIGURING", SlurmPhase::kConfiguring},
    PhaseWord{"POWER_UP_NODE", SlurmPhase::kConfiguring},
    PhaseWord{"RUNNING", SlurmPhase::kRunning},
    PhaseWord{"RESIZING", SlurmPhase::kRunning},
    PhaseWord{"SIGNALING", SlurmPhase::kRunning},
    PhaseWord{"SUSPENDED", SlurmPhase::kSuspended},
    PhaseWord{"STOPPED", SlurmPhase::kSuspended},
    PhaseWord{"COMPLETING", SlurmPhase::kCompleting},
    PhaseWord{"STAGE_OUT", SlurmPhase::kCompleting},
    PhaseWord{"REQUEUED", SlurmPhase::kCompleting},
    PhaseWord{"COMPLETED", SlurmPhase::kCompleted},
    PhaseWord{"CANCELLED", SlurmPhase::kCancelled},
    PhaseWord{"REVOKED", SlurmPhase::kCancelled},
    PhaseWord{"FAILED", SlurmPhase::kFailed},
    PhaseWord{"TIMEOUT", SlurmPhase::kTimedOut},
    PhaseWord{"DEADLINE", SlurmPhase::kTimedOut},
    PhaseWord{"NODE_FAIL", SlurmPhase::kNodeFailed},
    PhaseWord{"BOOT_FAIL", SlurmPhase::kNodeFailed},
    PhaseWord{"LAUNCH_FAILED", SlurmPhase::kNodeFailed},
    PhaseWord{"PREEMPTED", SlurmPhase::kPreempted},
    PhaseWord{"OUT_OF_MEMORY", SlurmPhase::kOutOfMemory},
};

SlurmPhase PhaseOfWord(std::string_view word) {
  word = word.substr(0, word.find(' '));
  for (const PhaseWord& known : kPhaseWords) {
    if (known.word == word) return known.phase;
  }
  return SlurmPhase::kOther;
}

// Two digits at `at`; -1: they are none.
int TwoDigits(std::string_view text, std::size_t at) {
  if (at + 2 > text.size()) return -1;
  const auto digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
  if (!digit(at) || !digit(at + 1)) return -1;
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

}  // namespace

SlurmPhase PhaseOf(std::span<const std::string_view> words) {
  SlurmPhase phase = SlurmPhase::kOther;
  for (const std::string_view word : words) {
    const SlurmPhase one = PhaseOfWord(word);
    if (one == SlurmPhase::kCompleting || one == SlurmPhase::kConfiguring) return one;
    if (phase == SlurmPhase::kOther) phase = one;
  }
  return phase;
}

std::string ReasonOf(std::span<const std::string_view> states, std::string_view reason) {
  for (const std::string_view state : states) {
    if (state == "SPECIAL_EXIT" || state == "RESV_DEL_HOLD" || state == "REQUEUE_HOLD") {
      return std::string(state);
    }
  }
  return reason == "None" ? std::string() : std::string(reason);
}

std::optional<std::int64_t> SlurmWhole(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 0 || value > most) return std::nullopt;
  return text.front() == '-' ? std::nullopt : std::optional(value);
}

std::vector<std::string_view> SplitAtCommas(std::string_view text) {
  std::vector<std::string_view> out;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if ((text[i] == ')' || text[i] == ']') && depth > 0) --depth;
      if (text[i] != ',' || depth > 0) continue;
    }
    if (i > begin) out.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return out;
}

Result<std::vector<SlurmGres>> ParseGres(std::string_view text) {
  std::vector<SlurmGres> out;
  if (text.empty() || text == "(null)" || text == "N/A") return out;
  for (std::string_view part : SplitAtCommas(text)) {
    const std::string_view whole = part;
    part = part.substr(0, part.find('('));
    const bool prefixed = part.starts_with("gres:") || part.starts_with("gres/");
    if (prefixed) part.remove_prefix(5);
    if (!prefixed && part.find('=') != std::string_view::npos) continue;  // cpu=2
    SlurmGres gres;
    std::size_t end = part.find_first_of(":=");
    gres.name = part.substr(0, end);
    if (end != std::string_view::npos) {
      std::string_view rest = part.substr(end + 1);
      const std::size_t last = rest.find_last_of(":=");
      const std::string_view tail = last == std::string_view::npos ? rest : rest.substr(last + 1);
      if (!tail.empty() && tail.front() >= '0' && tail.front() <= '9') {
        const auto count = SlurmWhole(tail, kMostOfOneGres);
        if (!count) {
          return FailedError("Slurm's GRES {} cannot be read: {} is no count", Quoted(whole),
                             Quoted(tail));
        }
        gres.count = *count;
        rest = last == std::string_view::npos ? std::string_view() : rest.substr(0, last);
      }
      gres.type = rest;
    }
    if (gres.name.empty()) return FailedError("Slurm's GRES {} has no name", Quoted(whole));
    out.push_back(std::move(gres));
    if (out.size() > kMostGresParts) {
      return FailedError("Slurm's GRES {} has more than {} parts", Quoted(text), kMostGresParts);
    }
  }
  return out;
}

Result<void> TakeRequest(std::string_view text, std::string_view each, SlurmJob& job) {
  if (text.empty() || text == "(null)") return {};
  for (const std::string_view part : SplitAtCommas(text)) {
    auto parsed = ParseGres(part);
    RETURN_IF_ERROR(parsed);
    for (const SlurmGres& gres : *parsed) {
      if (each.empty() && gres.name == "shard" && !gres.type.empty()) {
        // What was cleared stays as a request for none (22.05).
        if (gres.count == 0) continue;
        if (gres.count > 100) {
          return FailedError("Slurm says {}, but a GPU has 100 shards", Quoted(part));
        }
        bool found = false;
        for (SlurmSlot& slot : job.slots) {
          if (slot.slot != gres.type) continue;
          slot.shards += static_cast<int>(gres.count);
          found = true;
        }
        if (!found) job.slots.push_back({gres.type, static_cast<int>(gres.count)});
      } else {
        if (!job.gres.empty()) job.gres += ',';
        job.gres.append(each).append(part);
      }
    }
  }
  return {};
}

Result<void> TakeHeld(const std::string& node, std::string_view text, SlurmJob& job) {
  const auto parsed = ParseGres(text);
  RETURN_IF_ERROR(parsed);
  std::vector<std::string>& slots = job.held_slots[node];
  for (const SlurmGres& gres : *parsed) {
    const bool is_gpu = gres.name == "gpu" || gres.name == "shard";
    if (is_gpu && gres.count > 0 && !gres.type.empty()) slots.push_back(gres.type);
  }
  return {};
}

Result<std::optional<core::UnixMillis>> ParseSlurmTime(std::string_view text) {
  std::optional<core::UnixMillis> out;
  if (text.empty() || text == "Unknown" || text == "None" || text == "N/A" || text == "(null)" ||
      text == "NONE" || text == "Invalid") {
    return out;
  }
  const int century = TwoDigits(text, 0), years = TwoDigits(text, 2), month = TwoDigits(text, 5),
            day = TwoDigits(text, 8), hour = TwoDigits(text, 11), minute = TwoDigits(text, 14),
            second = TwoDigits(text, 17);
  using namespace std::chrono;
  const bool shaped = text.size() == 19 && text[4] == '-' && text[7] == '-' && text[10] == 'T' &&
                      text[13] == ':' && text[16] == ':' && century >= 0 && years >= 0 &&
                      hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 &&
                      second <= 60 && month > 0 && day > 0;
  const year_month_day date{year(shaped ? century * 100 + years : 0),
                            std::chrono::month(static_cast<unsigned>(shaped ? month : 0)),
                            std::chrono::day(static_cast<unsigned>(shaped ? day : 0))};
  if (!shaped || !date.ok()) {
    return FailedError("{} is no time as Slurm writes it (2026-11-16T12:31:15)", Quoted(text));
  }
  const auto at = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
  out = duration_cast<milliseconds>(at.time_since_epoch()).count();
  return out;
}

Result<std::optional<core::Seconds>> ParseTimeLimit(std::string_view text) {
  std::optional<core::Seconds> out;
  if (text.empty() || text == "UNLIMITED" || text == "Partition_Limit" || text == "N/A" ||
      text == "(null)") {
    return out;
  }
  constexpr std::int64_t kMost = 100'000'000;
  const auto refuse = [&]() {
    return FailedError("{} is no time limit as Slurm writes it (1-02:03:04)", Quoted(text));
  };
  std::string_view rest = text;
  std::int64_t days = 0;
  const std::size_t dash = rest.find('-');
  if (dash != std::string_view::npos) {
    const auto value = SlurmWhole(rest.substr(0, dash), kMost);
    if (!value) return refuse();
    days = *value;
    rest.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  while (true) {
    const std::size_t colon = rest.find(':');
    const auto value = SlurmWhole(rest.substr(0, colon), kMost);
    if (!value || parts.size() == 3) return refuse();
    parts.push_back(*value);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  std::int64_t all = days * 86400;
  if (parts.size() == 3) {
    all += parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else if (dash != std::string_view::npos) {  // days-hours, days-hours:minutes
    all += parts[0] * 3600 + (parts.size() > 1 ? parts[1] * 60 : 0);
  } else {  // minutes, minutes:seconds
    all += parts[0] * 60 + (parts.size() > 1 ? parts[1] : 0);
  }
  out = core::Seconds(static_cast<double>(all));
  return out;
}

Result<core::Bytes> ParseSlurmMemory(std::string_view text) {
  double scale = 1024.0 * 1024;
  std::string_view digits = text;
  if (!digits.empty()) {
    const char last = digits.back();
    const std::size_t at = std::string_view("KMGTP").find(last);
    if (at != std::string_view::npos) {
      scale = 1024;
      for (std::size_t i = 0; i < at; ++i) scale *= 1024;
      digits.remove_suffix(1);
    }
  }
  double value = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value,
                                             std::chars_format::fixed);
  if (digits.empty() || error != std::errc() || rest != digits.data() + digits.size() ||
      !(value >= 0 && value <= 1e12)) {
    return FailedError("{} is no amount of memory as Slurm writes it (1500M)", Quoted(text));
  }
  return core::Bytes(value * scale);
}

void TakeNodesAsked(std::string_view tres, SlurmJob& job) {
  for (const std::string_view part : SplitAtCommas(tres)) {
    if (!part.starts_with("node=")) continue;
    const auto nodes = SlurmWhole(part.substr(5), 100'000'000);
    if (nodes && *nodes > 0) job.nodes_wanted = static_cast<int>(*nodes);
  }
}

}  // namespace sharewell::engine
