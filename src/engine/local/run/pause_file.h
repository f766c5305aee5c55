// What lies in a run's folder of its pauses (docs/formats/jobs.md): written by sharewell-pause,
// read by the server. Shared by both programs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace sharewell::engine {

constexpr char kPauseHead[] = "sharewell-pause 1";

struct PauseState {
  enum class State : std::uint8_t { kRunning, kPausing, kPaused, kResuming };
  State state = State::kRunning;
  std::int64_t since_ms = 0;   // in that state; by the machine's monotonic clock
  std::int64_t paused_ms = 0;  // in all pauses before the one under way
  std::int64_t pauses = 0;     // so many, the one under way among them
  std::int64_t bytes = 0;      // of host memory that the last one took
  std::string error;           // why what was asked last was not done; empty: it was
};

constexpr const char* NameOf(PauseState::State state) {
  switch (state) {
    case PauseState::State::kRunning:
      return "running";
    case PauseState::State::kPausing:
      return "pausing";
    case PauseState::State::kPaused:
      return "paused";
    case PauseState::State::kResuming:
      return "resuming";
  }
  return "";
}

inline std::string PauseText(const PauseState& pause) {
  std::string error = pause.error;
  for (char& c : error) c = c == '\n' ? ' ' : c;
  return std::string(kPauseHead) + "\nstate " + NameOf(pause.state) + "\nsince_ms " +
         std::to_string(pause.since_ms) + "\npaused_ms " + std::to_string(pause.paused_ms) +
         "\npauses " + std::to_string(pause.pauses) + "\nbytes " + std::to_string(pause.bytes) +
         (error.empty() ? "" : "\nerror " + error) + "\nend\n";
}

// A part of one is none: then it never was paused.
inline PauseState ParsePause(std::string_view text) {
  PauseState out;
  if (!text.starts_with(kPauseHead) || !text.ends_with("\nend\n")) return out;
  const auto value = [&](std::string_view key) -> std::string {
    const std::string wanted = "\n" + std::string(key) + " ";
    const std::size_t at = text.find(wanted);
    if (at == text.npos) return {};
    const std::size_t begin = at + wanted.size();
    return std::string(text.substr(begin, text.find('\n', begin) - begin));
  };
  const auto number = [&](std::string_view key) {
    return std::strtoll(value(key).c_str(), nullptr, 10);
  };
  const std::string name = value("state");
  for (const auto state : {PauseState::State::kRunning, PauseState::State::kPausing,
                           PauseState::State::kPaused, PauseState::State::kResuming}) {
    if (name == NameOf(state)) out.state = state;
  }
  out.since_ms = number("since_ms");
  out.paused_ms = number("paused_ms");
  out.pauses = number("pauses");
  out.bytes = number("bytes");
  out.error = value("error");
  return out;
}

}  // namespace sharewell::engine
