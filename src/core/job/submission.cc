#include "core/job/submission.h"

#include <algorithm>

#include "core/text/plain_text.h"

namespace sharewell::core {
namespace {

constexpr std::size_t kLongestName = 40;

std::string_view WithoutFolder(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

// "sh -c '...'": all such jobs have the same first word, and are told apart by what they do.
bool IsScript(const std::vector<std::string>& command) {
  if (command.size() < 3 || command[1].size() < 2 || command[1].front() != '-') return false;
  const std::string_view shell = WithoutFolder(command.front());
  const bool is_shell = shell == "sh" || shell == "bash" || shell == "dash" || shell == "zsh";
  return is_shell && command[1].back() == 'c' && command[1][1] != '-';
}

// The beginning, with white space as one blank.
std::string OneLine(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (blank && (line.empty() || line.back() == ' ')) continue;
    line += blank ? ' ' : c;
    if (line.size() > 4 * kLongestName) break;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

constexpr std::string_view kProfilePart = "profile:";
constexpr std::string_view kModelPart = "model:";
constexpr char kPartEnds = '\x1f';

// "model:DIGEST, NAME b32 fp16, " with separators; empty: it brings no model.
std::string ModelPart(const Submission& submission) {
  if (!submission.needs) return {};
  const Workload& workload = submission.needs->profile.workload;
  const std::string& graph = submission.needs->graph;
  if (graph.empty() && workload.name.empty()) return {};
  std::string part = std::string(kModelPart) + graph + kPartEnds + workload.name;
  if (workload.batch != 0) part += " b" + std::to_string(workload.batch);
  if (!workload.precision.empty()) part += " " + workload.precision;
  return part + kPartEnds;
}

}  // namespace

std::string WorkloadName(std::string_view key) {
  if (key.starts_with(kProfilePart)) return std::string(key.substr(kProfilePart.size()));
  std::string_view model;
  if (key.starts_with(kModelPart)) {
    const auto begin = key.find(kPartEnds);
    const auto end = begin == key.npos ? key.npos : key.find(kPartEnds, begin + 1);
    if (end != key.npos) {
      model = key.substr(begin + 1, end - begin - 1);
      key.remove_prefix(end + 1);
    }
  }
  const auto words = key.find('\0');
  std::string name(words == key.npos ? key : key.substr(words + 1));
  std::replace(name.begin(), name.end(), '\0', ' ');
  if (!model.empty()) name += " (" + std::string(model) + ")";
  return name;
}

std::string WorkloadKey(const Submission& submission) {
  if (!submission.profile.empty()) return std::string(kProfilePart) + submission.profile;
  std::string key = ModelPart(submission) + std::to_string(submission.gpus) + "x";
  if (!submission.image.empty()) key += submission.image + ":";
  if (submission.command.empty()) return key;
  // Two runs in different folders may be of different programs of the same name.
  key += submission.folder;
  for (const std::string& word : submission.command) {
    key += '\0';
    key += word;
  }
  return key;
}

std::string OwnedKey(const std::string& user, const std::string& workload_key) {
  return user + '\0' + workload_key;
}

std::string ArrayOf(const Submission& submission) {
  return submission.array.substr(0, submission.array.rfind('_'));
}

std::string LimitedArrayOf(const Submission& submission) {
  return submission.array_at_once ? ArrayOf(submission) : std::string();
}

std::string DisplayName(const Submission& submission) {
  if (!submission.name.empty() || submission.command.empty()) return submission.name;
  std::string name;
  if (IsScript(submission.command)) {
    name = OneLine(submission.command[2]);
  } else {
    name = WithoutFolder(submission.command.front());
    // "python train.py" is told from "python eval.py" by its second word.
    if (submission.command.size() > 1 && !submission.command[1].empty() &&
        submission.command[1].front() != '-') {
      name += ' ';
      name += WithoutFolder(submission.command[1]);
    }
  }
  std::string shown;
  std::size_t characters = 0;
  for (std::string_view rest = name; !rest.empty() && characters < kLongestName; ++characters) {
    const std::size_t length = PlainLength(rest);
    shown += length == 0 ? std::string_view("?") : rest.substr(0, length);
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return shown;
}

}  // namespace sharewell::core
