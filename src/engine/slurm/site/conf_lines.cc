#include "engine/slurm/site/conf_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;

constexpr std::size_t kMostConfFiles = 200;
constexpr int kDeepestInclude = 16;
constexpr std::size_t kMostConfWords = 1'000'000;

bool IsConfBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}
bool IsConfKey(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.';
}

// A line as Slurm puts it together from several, and where each of its bytes stands in the file.
struct JoinedLine {
  std::string text;
  std::vector<std::size_t> at;
  int lines = 0;         // physical ones
  std::size_t end = 0;   // behind the last line break
  bool goes_on = false;  // though the file ends

  std::size_t Where(std::size_t i) const { return i < at.size() ? at[i] : end; }
};

// Where a comment begins: a `#` behind an even number of `\`.
std::size_t CommentIn(std::string_view line) {
  std::size_t escapes = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && escapes % 2 == 0) return i;
    escapes = line[i] == '\\' ? escapes + 1 : 0;
  }
  return line.size();
}

// Where the `\` stands that continues the line; npos: it is whole.
std::size_t ContinuationIn(std::string_view line) {
  std::size_t last = line.size();
  while (last > 0 && IsConfBlank(line[last - 1])) --last;
  std::size_t first = last;
  while (first > 0 && line[first - 1] == '\\') --first;
  return (last - first) % 2 == 1 ? last - 1 : std::string_view::npos;
}

JoinedLine NextLine(std::string_view text, std::size_t from) {
  JoinedLine out;
  std::string raw;
  std::vector<std::size_t> at;
  bool more = true;
  while (more && from < text.size()) {
    ++out.lines;
    const std::size_t stop = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, stop - from);
    line = line.substr(0, CommentIn(line));
    const std::size_t continued = ContinuationIn(line);
    more = continued != std::string_view::npos;
    line = line.substr(0, continued);
    for (std::size_t i = 0; i < line.size(); ++i) {
      raw += line[i];
      at.push_back(from + i);
    }
    from = std::min(stop + 1, text.size());
  }
  out.end = from;
  out.goes_on = more;
  // Escapes go last, as in Slurm: `\#` is a `#`.
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '\\' && i + 1 < raw.size()) ++i;
    out.text += raw[i];
    out.at.push_back(at[i]);
  }
  return out;
}

// The word that begins at `i`, which is moved behind it; absent: that is none.
std::optional<ConfWord> NextConfWord(const JoinedLine& line, std::size_t& i) {
  const std::string& text = line.text;
  const auto skip = [&](std::size_t from) {
    while (from < text.size() && IsConfBlank(text[from])) ++from;
    return from;
  };
  ConfWord word;
  std::size_t at = i;
  while (at < text.size() && IsConfKey(text[at])) ++at;
  word.key = text.substr(i, at - i);
  word.begin = line.Where(i);
  at = skip(at);
  if (word.key.empty() || at >= text.size() || text[at] != '=') return std::nullopt;
  at = skip(at + 1);
  if (at >= text.size()) return std::nullopt;
  word.value_begin = line.Where(at);
  const std::size_t closing = text[at] == '"' ? text.find('"', at + 1) : std::string::npos;
  if (closing != std::string::npos) {
    word.value = text.substr(at + 1, closing - at - 1);
    at = closing + 1;
    if (at < text.size() && !IsConfBlank(text[at])) return std::nullopt;
  } else {
    const std::size_t first = at;
    while (at < text.size() && !IsConfBlank(text[at])) ++at;
    word.value = text.substr(first, at - first);
  }
  word.end = line.Where(at - 1) + 1;
  i = skip(at);
  return word;
}

Result<std::vector<ConfWord>> WordsOfLine(const JoinedLine& line) {
  std::vector<ConfWord> out;
  std::size_t i = 0;
  while (i < line.text.size() && IsConfBlank(line.text[i])) ++i;
  while (i < line.text.size()) {
    auto word = NextConfWord(line, i);
    if (!word) {
      return FailedError("{} cannot be read: Slurm has KEY=VALUE there",
                         Quoted(std::string_view(line.text).substr(i)));
    }
    out.push_back(std::move(*word));
  }
  return out;
}

class ConfReader {
 public:
  explicit ConfReader(const ConfFileText& text_of) : text_of_(text_of) {}

  Result<void> Read(const std::string& path, const std::string& from, int depth) {
    if (depth > kDeepestInclude) {
      return FailedError("{}: Include leads deeper than {} files, or back to itself", from,
                         kDeepestInclude);
    }
    const auto text = text_of_(path);
    if (!text) {
      return FailedError("{}{} cannot be read", from.empty() ? "" : from + ": Include: ", path);
    }
    if (text->find('\0') != std::string::npos) {
      return FailedError("{} is no text: it has a zero byte", path);
    }
    if (!out_.files.emplace(path, *text).second) {
      return FailedError("{}: {} is included a second time; Slurm would have its lines twice", from,
                         path);
    }
    if (out_.files.size() > kMostConfFiles) {
      return FailedError("{}: more than {} files are included", from, kMostConfFiles);
    }
    int number = 1;
    for (std::size_t at = 0; at < text->size();) {
      const JoinedLine line = NextLine(*text, at);
      if (line.goes_on) {
        return FailedError(
            "{}:{}: the file ends with a `\\`, and a line added to it would be part "
            "of this one; take it away",
            path, number + line.lines - 1);
      }
      RETURN_IF_ERROR(TakeLine(line, path, number, at, depth));
      number += line.lines;
      at = line.end;
    }
    return {};
  }
  ConfText Take() && { return std::move(out_); }

 private:
  Result<void> TakeLine(const JoinedLine& joined, const std::string& path, int number,
                        std::size_t begin, int depth) {
    const std::string place = fmt::format("{}:{}", path, number);
    std::string_view text = joined.text;
    while (!text.empty() && IsConfBlank(text.front())) text.remove_prefix(1);
    constexpr std::string_view kInclude = "include";
    if (SameConfWord(text.substr(0, kInclude.size()), kInclude) && text.size() > kInclude.size() &&
        IsConfBlank(text[kInclude.size()])) {
      text.remove_prefix(kInclude.size());
      while (!text.empty() && IsConfBlank(text.front())) text.remove_prefix(1);
      std::size_t end = 0;
      while (end < text.size() && !IsConfBlank(text[end])) ++end;
      auto included = IncludedPath(std::string(text.substr(0, end)), path, place);
      RETURN_IF_ERROR(included);
      return Read(*included, place, depth + 1);
    }
    auto words = WordsOfLine(joined);
    if (!words) return FailedError("{}: {}", place, words.error().message);
    if (words->empty()) return {};
    word_count_ += words->size();
    if (word_count_ > kMostConfWords) return FailedError("{}: too many words", place);
    out_.lines.push_back({path, number, begin, joined.end, std::move(*words)});
    return {};
  }

  Result<std::string> IncludedPath(std::string name, const std::string& file,
                                   const std::string& place) {
    if (name.empty()) return FailedError("{}: Include names no file", place);
    for (auto at = name.find("%c"); at != std::string::npos; at = name.find("%c")) {
      const std::string cluster = LowerConf(out_.SettingValue("ClusterName"));
      if (cluster.empty() || cluster.find("%c") != std::string::npos) {
        return FailedError("{}: Include has %c, and ClusterName is not set before it", place);
      }
      name.replace(at, 2, cluster);
    }
    if (name.front() == '/') return name;
    const auto slash = file.rfind('/');
    return slash == std::string::npos ? name : file.substr(0, slash + 1) + name;
  }

  const ConfFileText& text_of_;
  ConfText out_;
  std::size_t word_count_ = 0;
};

}  // namespace

std::string LowerConf(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

bool SameConfWord(std::string_view a, std::string_view b) {
  return a.size() == b.size() && LowerConf(a) == LowerConf(b);
}

std::string WrittenConfValue(std::string_view value) {
  std::string out;
  bool quoted = value.empty();
  for (const char c : value) {
    if (c == '\\' || c == '#') out += '\\';
    out += c;
    quoted = quoted || IsConfBlank(c) || c == '=';
  }
  return quoted && value.find('"') == std::string_view::npos ? "\"" + out + "\"" : out;
}

bool IsConfRecord(std::string_view key) {
  constexpr std::array<std::string_view, 6> kRecords = {"nodename",  "partitionname", "nodeset",
                                                        "downnodes", "frontendname",  "switchname"};
  return std::find(kRecords.begin(), kRecords.end(), LowerConf(key)) != kRecords.end();
}

const ConfWord* ConfLine::Find(std::string_view key) const {
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (SameConfWord(word->key, key)) return &*word;
  }
  return nullptr;
}

std::string ConfLine::ValueOf(std::string_view key) const {
  const ConfWord* word = Find(key);
  return word == nullptr ? "" : word->value;
}

std::string ConfLine::Place() const { return fmt::format("{}:{}", file, line); }

const ConfWord* ConfText::Setting(std::string_view key, const ConfLine** line) const {
  for (auto at = lines.rbegin(); at != lines.rend(); ++at) {
    if (IsConfRecord(at->words.front().key)) continue;
    if (const ConfWord* word = at->Find(key)) {
      if (line != nullptr) *line = &*at;
      return word;
    }
  }
  return nullptr;
}

std::string ConfText::SettingValue(std::string_view key) const {
  const ConfWord* word = Setting(key);
  return word == nullptr ? "" : word->value;
}

Result<ConfText> ReadConf(const std::string& top, const ConfFileText& text_of) {
  ConfReader reader(text_of);
  RETURN_IF_ERROR(reader.Read(top, "", 0));
  ConfText out = std::move(reader).Take();
  out.top = top;
  return out;
}

}  // namespace sharewell::engine
