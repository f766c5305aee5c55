#include "engine/slurm/control/job_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

constexpr std::string_view kNoteWord = "sharewell1";
constexpr std::string_view kUserWord = "sharewell";
constexpr std::size_t kMostNote = std::size_t{1} << 20;
constexpr std::size_t kMostUserWords = 64;
constexpr double kMostNoteCores = 1e6;
constexpr std::int64_t kMostNoteMib = 1'000'000'000;

std::vector<std::string_view> SplitNote(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t end = text.find(at);
    out.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

// scontrol keeps the quotes that keep blanks together.
std::string_view WithoutQuotes(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
      text.back() == text.front()) {
    text = text.substr(1, text.size() - 2);
  }
  return text;
}

bool StandsForItself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

// Everything else as %2C, so that no value ends a field, a word or a line.
std::string EncodeNote(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (StandsForItself(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::optional<std::string> DecodeNote(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!StandsForItself(text[i])) return std::nullopt;
      out += text[i];
      continue;
    }
    unsigned value = 0;
    if (i + 3 > text.size()) return std::nullopt;
    const auto [rest, error] = std::from_chars(&text[i + 1], &text[i + 1] + 2, value, 16);
    if (error != std::errc() || rest != &text[i + 1] + 2) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

// "key:value", each key once.
class NoteFields {
 public:
  bool IsNew(std::string_view key) {
    if (std::find(seen_.begin(), seen_.end(), key) != seen_.end()) return false;
    seen_.push_back(key);
    return true;
  }

 private:
  std::vector<std::string_view> seen_;
};

bool ParseNames(std::string_view text, std::vector<std::string>& names) {
  for (const std::string_view name : SplitNote(text, '+')) {
    auto decoded = DecodeNote(name);
    if (!decoded || decoded->empty()) return false;
    names.push_back(std::move(*decoded));
  }
  return true;
}

bool ParseAsk(std::string_view text, JobNote::Ask& ask) {
  NoteFields fields;
  for (const std::string_view field : SplitNote(text, ',')) {
    const std::size_t colon = field.find(':');
    const std::string_view key = field.substr(0, colon);
    const std::string_view value =
        colon == std::string_view::npos ? std::string_view() : field.substr(colon + 1);
    if (!fields.IsNew(key)) return false;
    if (key == "gpus") {
      const auto gpus = SlurmWhole(value, 1'000'000);
      if (!gpus) return false;
      ask.gpus = static_cast<int>(*gpus);
    } else if (key == "cpus") {
      const auto cpus = SlurmWhole(value, static_cast<std::int64_t>(kMostNoteCores));
      if (!cpus || *cpus < 1) return false;
      ask.cpus = static_cast<int>(*cpus);
    } else if (key == "model" || key == "gres") {
      auto decoded = DecodeNote(value);
      if (!decoded || decoded->empty()) return false;
      (key == "model" ? ask.model : ask.gres) = std::move(*decoded);
    } else if (key == "script") {
      auto decoded = DecodeNote(value);
      if (!decoded || decoded->empty()) return false;
      ask.script = std::move(*decoded);
    } else if (key == "nodes") {
      if (!ParseNames(value, ask.nodes)) return false;
    } else if (field == "exclusive") {
      ask.exclusive = true;
    } else if (field == "held") {
      ask.held = true;
    } else if (field == "anywhere") {
      ask.anywhere = true;
    } else {
      return false;
    }
  }
  return true;
}

bool ParsePutNodes(std::string_view text, JobNote::Put& put) {
  for (const std::string_view part : SplitNote(text, '/')) {
    const std::size_t colon = part.find(':');
    JobNote::OnNode on;
    auto name = DecodeNote(part.substr(0, colon));
    if (!name || name->empty()) return false;
    on.node = std::move(*name);
    if (colon != std::string_view::npos && !ParseNames(part.substr(colon + 1), on.slots)) {
      return false;
    }
    put.nodes.push_back(std::move(on));
  }
  return true;
}

bool ParsePut(std::string_view text, JobNote::Put& put) {
  const auto fields = SplitNote(text, ',');
  const auto attempt = SlurmWhole(fields[0], 1'000'000'000);
  if (!attempt || fields.size() < 2 || !ParsePutNodes(fields[1], put)) return false;
  put.attempt = static_cast<int>(*attempt);
  NoteFields seen;
  for (std::size_t i = 2; i < fields.size(); ++i) {
    const std::size_t colon = fields[i].find(':');
    const std::string_view key = fields[i].substr(0, colon);
    if (!seen.IsNew(key)) return false;
    if (fields[i] == "guest") {
      put.guest = true;
      continue;
    }
    if (colon == std::string_view::npos) return false;
    const std::string_view value = fields[i].substr(colon + 1);
    if (key == "shards" || key == "sm") {
      const auto number = SlurmWhole(value, 100);
      if (!number || *number < 1) return false;
      (key == "sm" ? put.sm_percent : put.shards) = static_cast<int>(*number);
    } else if (key == "cores") {
      const auto cores = core::FiniteNumber(value);
      if (!cores || !(*cores >= 0 && *cores <= kMostNoteCores)) return false;
      put.cores = *cores;
    } else if (key == "mem") {
      const auto mib = SlurmWhole(value, kMostNoteMib);
      if (!mib || *mib < 1) return false;
      put.gpu_memory_mib = static_cast<long>(*mib);
    } else if (key == "kept") {
      if (!ParseNames(value, put.kept)) return false;
    } else {
      return false;
    }
  }
  return true;
}

std::string FormatAsk(const JobNote::Ask& ask) {
  std::string out = fmt::format("gpus:{}", ask.gpus);
  if (!ask.model.empty()) out += ",model:" + EncodeNote(ask.model);
  if (ask.exclusive) out += ",exclusive";
  if (ask.held) out += ",held";
  if (ask.anywhere) out += ",anywhere";
  if (!ask.script.empty()) out += ",script:" + EncodeNote(ask.script);
  if (ask.cpus > 0) out += fmt::format(",cpus:{}", ask.cpus);
  if (!ask.gres.empty()) out += ",gres:" + EncodeNote(ask.gres);
  for (std::size_t k = 0; k < ask.nodes.size(); ++k) {
    out += (k == 0 ? ",nodes:" : "+") + EncodeNote(ask.nodes[k]);
  }
  return out;
}

std::string FormatPut(const JobNote::Put& put) {
  std::string out = fmt::format("{},", put.attempt);
  for (std::size_t i = 0; i < put.nodes.size(); ++i) {
    if (i > 0) out += '/';
    out += EncodeNote(put.nodes[i].node);
    for (std::size_t k = 0; k < put.nodes[i].slots.size(); ++k) {
      out += (k == 0 ? ':' : '+') + EncodeNote(put.nodes[i].slots[k]);
    }
  }
  out += fmt::format(",shards:{},sm:{}", put.shards, put.sm_percent);
  if (put.cores > 0) out += fmt::format(",cores:{}", put.cores);
  if (put.gpu_memory_mib) out += fmt::format(",mem:{}", *put.gpu_memory_mib);
  for (std::size_t k = 0; k < put.kept.size(); ++k) {
    out += (k == 0 ? ",kept:" : "+") + EncodeNote(put.kept[k]);
  }
  if (put.guest) out += ",guest";
  return out;
}

const std::vector<std::string>& UserKeys() {
  static const std::vector<std::string> keys{"model",    "batch",        "precision",
                                             "profile",  "max_slowdown", "gpu_memory",
                                             "sm_share", "exclusive"};
  return keys;
}

// "14000", "14GB", "14GiB": MiB where no unit says otherwise, as Slurm's --mem has it.
std::optional<long> ParseMib(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr double kMiB = 1024.0 * 1024;
  double scale = kMiB;
  for (const Unit& unit : {Unit{"GiB", 1024 * kMiB}, Unit{"MiB", kMiB}, Unit{"GB", 1e9},
                           Unit{"MB", 1e6}, Unit{"G", 1024 * kMiB}, Unit{"M", kMiB}}) {
    if (!text.ends_with(unit.name)) continue;
    scale = unit.bytes;
    text.remove_suffix(unit.name.size());
    break;
  }
  const auto number = core::FiniteNumber(text);
  if (!number || !(*number > 0)) return std::nullopt;
  const double mib = *number * scale / kMiB;
  if (!(mib >= 1 && mib <= static_cast<double>(kMostNoteMib))) return std::nullopt;
  return static_cast<long>(mib);
}

// What is wrong with it, in words; empty: it was taken.
std::string TakeUserWord(std::string_view key, std::string_view value, UserWords& words) {
  const auto refuse = [&](const char* allowed) {
    return fmt::format("{}={} in the comment is not used: give {}", key, core::Quoted(value),
                       allowed);
  };
  if (key == "exclusive") {
    if (!value.empty()) return refuse("the word exclusive alone");
    words.exclusive = true;
  } else if (value.empty()) {
    return fmt::format("{} in the comment has no value: write {}=...", key, key);
  } else if (key == "model") {
    words.model = value;
  } else if (key == "precision") {
    words.precision = value;
  } else if (key == "profile") {
    words.profile = value;
  } else if (key == "batch") {
    const auto number = SlurmWhole(value, 10'000'000);
    if (!number || *number < 1) return refuse("a whole number above 0");
    words.batch = static_cast<int>(*number);
  } else if (key == "max_slowdown") {
    const auto number = core::FiniteNumber(value);
    if (!number || !(*number >= 1 && *number <= 100)) return refuse("a number from 1 to 100");
    words.max_slowdown = *number;
  } else if (key == "gpu_memory") {
    const auto mib = ParseMib(value);
    if (!mib) return refuse("a size such as 10GB");
    words.gpu_memory_mib = mib;
  } else if (key == "sm_share") {
    const auto number =
        SlurmWhole(value.ends_with('%') ? value.substr(0, value.size() - 1) : value, 100);
    if (!number || *number < 1) return refuse("per cent, from 1% to 100%");
    words.sm_percent = static_cast<int>(*number);
  } else {
    return fmt::format("the word {} in the comment is not known{}; known are {}", core::Quoted(key),
                       core::DidYouMean(key, UserKeys()), fmt::join(UserKeys(), ", "));
  }
  return {};
}

}  // namespace

std::optional<JobNote> ParseJobNote(std::string_view text) {
  if (text.size() > kMostNote) return std::nullopt;
  const auto words = SplitNote(WithoutQuotes(text), ' ');
  if (words[0] != kNoteWord) return std::nullopt;
  JobNote note;
  NoteFields seen;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    const std::string_view key = words[i].substr(0, 4);
    if (!seen.IsNew(key)) return std::nullopt;
    if (key == "ask=") {
      if (!ParseAsk(words[i].substr(4), note.ask)) return std::nullopt;
    } else if (key == "put=") {
      JobNote::Put put;
      if (!ParsePut(words[i].substr(4), put)) return std::nullopt;
      note.put = std::move(put);
    } else if (key == "say=") {
      auto said = DecodeNote(words[i].substr(4));
      if (!said) return std::nullopt;
      note.say = std::move(*said);
    } else {
      return std::nullopt;
    }
  }
  return note;
}

std::string FormatJobNote(const JobNote& note) {
  std::string out = fmt::format("{} ask={}", kNoteWord, FormatAsk(note.ask));
  if (note.put) out += " put=" + FormatPut(*note.put);
  if (!note.say.empty()) out += " say=" + EncodeNote(note.say);
  return out;
}

std::optional<UserWords> ParseUserWords(std::string_view comment) {
  comment = WithoutQuotes(comment);
  const auto words = SplitNote(comment.substr(0, kMostNote), ' ');
  if (words[0] != kUserWord) return std::nullopt;
  UserWords out;
  NoteFields seen;
  const auto complain = [&](const std::string& problem) {
    // The first ones tell enough.
    if (out.problem.size() > 1000) return;
    if (!out.problem.empty()) out.problem += "; ";
    out.problem += problem;
  };
  std::size_t looked_at = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].empty()) continue;
    if (++looked_at > kMostUserWords) {
      complain(fmt::format("the comment has more than {} words; the rest is not looked at",
                           kMostUserWords));
      break;
    }
    const std::size_t equals = words[i].find('=');
    std::string key(words[i].substr(0, equals));
    std::replace(key.begin(), key.end(), '-', '_');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : words[i].substr(equals + 1);
    const auto known = std::find(UserKeys().begin(), UserKeys().end(), key);
    if (known != UserKeys().end() && !seen.IsNew(*known)) {
      complain(fmt::format("{} is in the comment twice; the first is taken", key));
    } else if (const std::string problem = TakeUserWord(key, value, out); !problem.empty()) {
      complain(problem);
    }
  }
  return out;
}

}  // namespace sharewell::engine
