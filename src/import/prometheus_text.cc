#include "import/prometheus_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/text.h"

namespace sharewell::imports {
namespace {

using core::Quoted;
using core::Result;
using platform::LowerCase;

constexpr std::size_t kLongestLine = std::size_t{1} << 20;
constexpr std::size_t kMostLabels = 256;

bool NameBegins(char c, bool colon) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':');
}

// The name that `text` begins with; taken off it.
std::string_view TakeName(std::string_view& text, bool colon) {
  std::size_t end = 0;
  while (end < text.size() &&
         (NameBegins(text[end], colon) || (end > 0 && text[end] >= '0' && text[end] <= '9'))) {
    ++end;
  }
  const std::string_view name = text.substr(0, end);
  text.remove_prefix(end);
  return name;
}

void SkipBlanks(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view TakeWord(std::string_view& text) {
  SkipBlanks(text);
  const std::string_view word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

// \\, \n and, in label values, \". Anything else stands for itself.
std::string Unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    ++i;
    out += text[i] == 'n' ? '\n' : text[i];
  }
  return out;
}

// As Go writes them: "1.5e+06", "NaN", "+Inf"; hexadecimal floats and '_' are not among them.
std::optional<double> ParseValue(std::string_view word) {
  const std::string lower = LowerCase(word.substr(0, 16));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (lower == "nan" || lower == "+nan" || lower == "-nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (lower == "inf" || lower == "+inf" || lower == "infinity" || lower == "+infinity") {
    return kInfinity;
  }
  if (lower == "-inf" || lower == "-infinity") return -kInfinity;
  if (word.size() > 1 && word[0] == '+' && word[1] != '-') word.remove_prefix(1);
  double value = 0;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size() || code == std::errc::invalid_argument) return std::nullopt;
  if (code == std::errc::result_out_of_range) {
    return word.starts_with('-') ? -kInfinity : kInfinity;  // or far below 1e-300: no measurement
  }
  return std::isfinite(value) ? std::optional<double>(value) : std::nullopt;
}

class ExpositionReader {
 public:
  ExpositionReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Result<Exposition> Read() {
    const auto end = text_.find_last_not_of(" \n\r\t");
    // OpenMetrics ends so, and has its times in seconds.
    seconds_ = end != std::string_view::npos && text_.substr(0, end + 1).ends_with("# EOF");
    std::string_view rest = text_;
    while (!rest.empty()) {
      ++line_;
      const auto newline = rest.substr(0, kLongestLine + 1).find('\n');
      if (newline == std::string_view::npos && rest.size() > kLongestLine) {
        return Fail("is longer than 1 MiB; is this what an exporter answers at /metrics?");
      }
      std::string_view line = rest.substr(0, newline);
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      if (line.ends_with('\r')) line.remove_suffix(1);
      line = platform::Trimmed(line);
      if (line.empty()) continue;
      if (line.starts_with('#')) {
        Comment(line.substr(1));
      } else
        RETURN_IF_ERROR(Sample(line));
    }
    return std::move(out_);
  }

 private:
  void Comment(std::string_view line) {
    const std::string_view word = TakeWord(line);
    if (word != "HELP" && word != "TYPE") return;
    const std::string_view name = TakeWord(line);
    if (name.empty()) return;
    SkipBlanks(line);
    if (out_.families.empty() || out_.families.back().name != name) {
      out_.families.emplace_back().name = name;
    }
    if (word == "TYPE") {
      out_.families.back().type = line;
    } else {
      out_.families.back().help = Unescaped(line);
    }
  }

  Result<void> Sample(std::string_view line) {
    ExposedSample sample;
    sample.line = line_;
    const std::string_view whole = line;
    sample.name = TakeName(line, true);
    if (sample.name.empty()) {
      return Bad(fmt::format("{} is no sample; 'name{{label=\"value\"}} number' is expected",
                             Quoted(whole)));
    }
    SkipBlanks(line);
    if (line.starts_with('{')) {
      line.remove_prefix(1);
      if (auto ok = Labels(line, sample); !ok) return ok;
    }
    const std::string_view value = TakeWord(line);
    const auto number = ParseValue(value);
    if (!number) return Bad(fmt::format("{}: {} is no number", sample.name, Quoted(value)));
    sample.value = *number;
    const std::string_view time = TakeWord(line);
    if (!time.empty() && !time.starts_with('#')) {  // behind '#' comes an exemplar
      const auto at = ParseValue(time);
      const double scale = seconds_ || time.find('.') != std::string_view::npos ? 1000 : 1;
      if (!at || !(std::abs(*at * scale) < 9e15)) {
        return Bad(fmt::format("{}: {} is no time", sample.name, Quoted(time)));
      }
      sample.time = static_cast<core::UnixMillis>(std::llround(*at * scale));
      const std::string_view more = TakeWord(line);
      if (!more.empty() && !more.starts_with('#')) {
        return Bad(fmt::format("{}: {} stands behind the time", sample.name, Quoted(more)));
      }
    }
    out_.samples.push_back(std::move(sample));
    return {};
  }

  Result<void> Labels(std::string_view& line, ExposedSample& sample) {
    while (true) {
      SkipBlanks(line);
      if (line.starts_with('}')) break;
      const std::string_view label = TakeName(line, false);
      SkipBlanks(line);
      if (label.empty() || !line.starts_with('=')) {
        return Bad(
            fmt::format("{}: a label is expected where {} stands", sample.name, Quoted(line)));
      }
      line.remove_prefix(1);
      SkipBlanks(line);
      std::size_t end = 1;
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      if (!line.starts_with('"') || end >= line.size()) {
        return Bad(
            fmt::format("{}: the value of label {} is not between quotes", sample.name, label));
      }
      if (sample.labels.size() == kMostLabels) {
        return Bad(fmt::format("{}: has more than {} labels", sample.name, kMostLabels));
      }
      sample.labels.emplace_back(label, Unescaped(line.substr(1, end - 1)));
      line.remove_prefix(end + 1);
      SkipBlanks(line);
      if (line.starts_with(',')) {
        line.remove_prefix(1);
      } else if (!line.starts_with('}')) {
        return Bad(fmt::format("{}: ',' or '}}' is expected behind label {}", sample.name, label));
      }
    }
    line.remove_prefix(1);
    return {};
  }

  Result<Exposition> Fail(std::string_view problem) const {
    return core::UsageError("{}: line {}: {}", name_, line_, problem);
  }
  Result<void> Bad(std::string_view problem) const {
    return core::UsageError("{}: line {}: {}", name_, line_, problem);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t line_ = 0;
  bool seconds_ = false;
  Exposition out_;
};

}  // namespace

const std::string* ExposedSample::Label(std::string_view label) const {
  const auto it = std::find_if(labels.begin(), labels.end(),
                               [&](const auto& entry) { return entry.first == label; });
  return it == labels.end() ? nullptr : &it->second;
}

Result<Exposition> ReadPrometheusText(std::string_view text, const std::string& name) {
  return ExpositionReader(text, name).Read();
}

}  // namespace sharewell::imports
