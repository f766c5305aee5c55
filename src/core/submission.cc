#include "core/submission.h"

#include <string_view>

#include "core/text/utf8.h"

namespace sharewell::core {
namespace {

constexpr std::size_t kLongestName = 40;

std::string_view WithoutFolder(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

}  // namespace

std::string WorkloadKey(const Submission& submission) {
  if (!submission.profile.empty()) return "profile:" + submission.profile;
  std::string key = std::to_string(submission.gpus) + "x";
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

std::string DisplayName(const Submission& submission) {
  if (!submission.name.empty() || submission.command.empty()) return submission.name;
  std::string name(WithoutFolder(submission.command.front()));
  // "python train.py" is told from "python eval.py" by its second word.
  if (submission.command.size() > 1 && !submission.command[1].empty() &&
      submission.command[1].front() != '-') {
    name += ' ';
    name += WithoutFolder(submission.command[1]);
  }
  std::string shown;
  std::size_t characters = 0;
  for (std::string_view rest = name; !rest.empty() && characters < kLongestName; ++characters) {
    const std::size_t length = CharacterLength(rest);
    const std::string_view character = rest.substr(0, length == 0 ? 1 : length);
    shown += length == 0 || IsControl(character.front()) ? std::string_view("?") : character;
    rest.remove_prefix(character.size());
  }
  return shown;
}

}  // namespace sharewell::core
