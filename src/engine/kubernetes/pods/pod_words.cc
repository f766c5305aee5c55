#include "engine/kubernetes/pods/pod_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/key_digest.h"
#include "core/precision_words.h"
#include "core/text/parse_number.h"
#include "core/text/quoted.h"
#include "engine/kubernetes/pods/pod_known.h"

namespace sharewell::engine {

using core::Quoted;

namespace {

constexpr int kMostPodGpus = 64;
constexpr int kMostGroup = 1000;
constexpr std::size_t kMostPodText = 256;

constexpr std::array<std::string_view, 14> kOfUsers = {
    "batch", "exclusive", "gpu-memory",     "gpu-model", "gpus",    "max-slowdown", "may-evict",
    "model", "pod-group", "pod-group-size", "precision", "profile", "restart",      "watch"};

// Where others say the group of a pod, the first that stands there.
struct GroupMark {
  std::string_view key;
  PodGroupKind kind;
};
constexpr std::array<GroupMark, 3> kGroupMarks = {
    {{kCoschedulingGroup, PodGroupKind::kCoscheduling},
     {kVolcanoGroup, PodGroupKind::kVolcano},
     {kVolcanoGroupToo, PodGroupKind::kVolcano}}};

struct RestartWord {
  std::string_view word;
  GroupRestart restart;
};
constexpr std::array<RestartWord, 3> kRestartWords = {
    {{"all", GroupRestart::kAll}, {"one", GroupRestart::kOne}, {"fail", GroupRestart::kFail}}};

bool IsPlainName(const std::string& text) {
  return !text.empty() && text.size() <= kMostPodText && text[0] != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '_' || c == '.';
         });
}

class WordReader {
 public:
  explicit WordReader(const KubePod& pod, PodWords& words) : pod_(pod), words_(words) {}

  const std::string* Find(const char* key) const {
    const auto found = pod_.annotations.find(key);
    return found == pod_.annotations.end() ? nullptr : &found->second;
  }
  template <class Number>
  void Whole(const char* key, std::uint64_t least, std::uint64_t most, Number& to) {
    const std::string* text = Find(key);
    if (text == nullptr) return;
    const auto number = core::ParseWhole(Name(key), *text, least, most);
    if (number) {
      to = static_cast<int>(*number);
    } else {
      Problem(number.error().message);
    }
  }
  void Flag(const char* key, bool& to) {
    const std::string* text = Find(key);
    if (text == nullptr) return;
    to = *text == "true";
    if (!to && *text != "false") {
      Problem(fmt::format("{} is {}; write \"true\" or \"false\"", Name(key), Quoted(*text)));
    }
  }
  void PlainName(const char* key, std::string& to) {
    if (const std::string* text = Find(key)) TakeName(Name(key), *text, to);
  }
  void TakeName(std::string_view name, const std::string& text, std::string& to) {
    if (IsPlainName(text)) {
      to = text;
    } else {
      Problem(fmt::format("{} is {}; a name has letters, digits, '.', '-' and '_' alone", name,
                          Quoted(text)));
    }
  }
  void Problem(const std::string& words) { AddRemark(words_.problem, words); }
  static std::string Name(const char* key) { return std::string(kKubePrefix) + key; }

 private:
  const KubePod& pod_;
  PodWords& words_;
};

void ReadMemory(const KubePod& pod, WordReader& read, PodWords& words) {
  constexpr std::int64_t kLeast = 1 << 20;
  if (const std::string* text = read.Find("gpu-memory")) {
    const auto bytes = ParseQuantity(*text, 1);
    if (bytes && *bytes >= kLeast) {
      words.gpu_memory = core::Bytes(static_cast<double>(*bytes));
    } else {
      read.Problem(fmt::format("{} is {}; write what it needs of each GPU, as in 12Gi",
                               WordReader::Name("gpu-memory"), Quoted(*text)));
    }
    return;
  }
  const auto accounted = pod.requests.find("sharewell.io/gpu-memory");  // MiB, of all its GPUs
  if (accounted == pod.requests.end() || accounted->second == 0 || words.gpus == 0) return;
  words.gpu_memory = core::Bytes(static_cast<double>(accounted->second) * (1 << 20) / words.gpus);
}

// Our annotations win.
void ReadGroup(const KubePod& pod, WordReader& read, PodWords& words) {
  read.PlainName("pod-group", words.group);
  read.Whole("pod-group-size", 1, kMostGroup, words.group_size);
  if (const std::string* text = read.Find("restart")) {
    const auto known = std::find_if(kRestartWords.begin(), kRestartWords.end(),
                                    [&](const RestartWord& one) { return one.word == *text; });
    if (known != kRestartWords.end()) {
      words.restart = known->restart;
    } else {
      read.Problem(fmt::format("{} is {}; write all, one or fail", WordReader::Name("restart"),
                               Quoted(*text)));
    }
  }
  if (!words.group.empty()) return;
  PodGroupKind kind = PodGroupKind::kNone;
  for (const GroupMark& mark : kGroupMarks) {
    const auto found = pod.marks.find(mark.key);
    if (found == pod.marks.end()) continue;
    read.TakeName(mark.key, found->second, words.group);
    kind = mark.kind;
    break;
  }
  if (words.group.empty() || read.Find("pod-group-size") != nullptr) return;
  if (const auto size = pod.marks.find(kVolcanoSize); size != pod.marks.end()) {
    const auto number = core::ParseWhole(kVolcanoSize, size->second, 1, kMostGroup);
    if (number) {
      words.group_size = static_cast<int>(*number);
      return;
    }
    read.Problem(number.error().message);
  }
  if (pod.group_size) {
    words.group_size = *pod.group_size;
  } else {
    words.unsized = kind;
  }
}

std::string RefusalOf(const KubePod& pod, const PodWords& words) {
  for (const std::string_view name : kOfBinding) {
    if (!pod.annotations.contains(std::string(name))) continue;
    return fmt::format(
        "its annotation {}{} is written by Sharewell when the pod is bound; make the pod without "
        "it",
        kKubePrefix, name);
  }
  if (!pod.unjudged.empty()) {
    return fmt::format(
        "Sharewell cannot judge {}, so it never binds such a pod; make it without, or with another "
        "schedulerName",
        fmt::join(pod.unjudged, ", "));
  }
  for (const auto& [name, amount] : pod.requests) {
    if (amount == 0 || !name.starts_with("nvidia.com/")) continue;
    return fmt::format(
        "it asks for {}, which NVIDIA's device plugin gives out without saying which GPU; ask with "
        "the annotation {}gpus instead",
        Quoted(name), kKubePrefix);
  }
  if (words.group.empty() && words.group_size > 1) {
    return fmt::format("it has {0}pod-group-size, but no {0}pod-group; give both", kKubePrefix);
  }
  if (words.unsized != PodGroupKind::kNone && !pod.no_group_size.empty()) {
    return fmt::format(
        "nothing says how many pods its pod group {} has: {}; make them with the annotation "
        "{}pod-group-size",
        Quoted(words.group), pod.no_group_size, kKubePrefix);
  }
  return {};
}

}  // namespace

PodWords ParsePodWords(const KubePod& pod) {
  PodWords words;
  WordReader read(pod, words);
  read.Whole("gpus", 0, kMostPodGpus, words.gpus);
  read.Whole("batch", 1, 1'000'000'000, words.batch);
  read.PlainName("model", words.model);
  read.PlainName("profile", words.profile);
  ReadGroup(pod, read, words);
  read.Flag("exclusive", words.exclusive);
  read.Flag("may-evict", words.may_evict);
  read.Flag("watch", words.watch);
  ReadMemory(pod, read, words);
  if (const std::string* text = read.Find("max-slowdown")) {
    const auto number = core::ParseNumber(WordReader::Name("max-slowdown"), *text, 1, 100);
    if (number) words.max_slowdown = *number;
    if (!number) read.Problem(number.error().message);
  }
  if (const std::string* text = read.Find("precision")) {
    constexpr auto& kKnown = core::kPrecisionWords;
    if (std::find(kKnown.begin(), kKnown.end(), *text) != kKnown.end()) {
      words.precision = *text;
    } else {
      read.Problem(fmt::format("{} is {}; write one of {}", WordReader::Name("precision"),
                               Quoted(*text), fmt::join(kKnown, ", ")));
    }
  }
  std::string model;
  read.PlainName("gpu-model", model);
  if (!model.empty()) words.gpu_models = {model};
  for (const auto& [key, value] : pod.annotations) {
    const auto is = [&name = key](std::string_view one) { return one == name; };
    if (std::any_of(kOfUsers.begin(), kOfUsers.end(), is)) continue;
    if (std::any_of(kOfBinding.begin(), kOfBinding.end(), is) || is(kKnownAnnotation) ||
        is(kKubeStart)) {
      continue;
    }
    read.Problem(fmt::format("the annotation {} is not known; known are {}",
                             Quoted(std::string(kKubePrefix) + key), fmt::join(kOfUsers, ", ")));
  }
  words.refusal = RefusalOf(pod, words);
  return words;
}

bool KeepsPlace(const KubePod& pod, const PodWords& words) {
  return pod.owner.uid.empty() && !words.may_evict;
}

std::optional<core::Needs> KnownNeeds(const KubePod& pod, std::string& problem) {
  const auto found = pod.annotations.find(std::string(kKnownAnnotation));
  if (found == pod.annotations.end()) return std::nullopt;
  auto known = ReadKnown(found->second);
  if (known) return std::move(known->needs);
  problem = fmt::format("its annotation {}{} is not looked at: {}; remove it", kKubePrefix,
                        kKnownAnnotation, known.error().message);
  return std::nullopt;
}

ForeignJob SubmissionOf(const KubePod& pod, const PodWords& words, int pods) {
  ForeignJob foreign;
  foreign.user = {pod.name_space, kKubeUid, kKubeUid, false};
  foreign.submitted = pod.created;
  core::Submission& asked = foreign.asked;
  const bool of_trainer = pod.marks.contains(kJobSetName) || pod.marks.contains(kTrainingJobName);
  asked.name = !words.group.empty()                    ? words.group
               : of_trainer && !pod.owner.name.empty() ? pod.owner.name
                                                       : pod.name;
  asked.project = pod.name_space;  // where there is one of that name
  asked.command = pod.command;
  // What it runs, as far as its manifest says.
  std::string script = "pod";
  for (const std::string& word : pod.command) (script += '\0') += word;
  if (!pod.command.empty()) asked.script = core::TextOf(core::DigestOf(script));
  asked.gpus = words.gpus * pods;
  if (const auto cpu = pod.requests.find("cpu"); cpu != pod.requests.end() && cpu->second > 0) {
    asked.cores = static_cast<double>(cpu->second) / 1000 * pods;
  }
  if (const auto all = pod.requests.find("memory"); all != pod.requests.end() && all->second > 0) {
    asked.memory = core::Bytes(static_cast<double>(all->second) * pods);
  }
  asked.profile = words.profile;
  asked.max_slowdown = words.max_slowdown;
  if (asked.gpus > 0) asked.gpu_memory = words.gpu_memory;
  asked.gpu_models = words.gpu_models;
  asked.exclusive = words.exclusive;
  if (pod.deadline) asked.time_limit = core::Seconds(static_cast<double>(*pod.deadline));
  foreign.remark = words.problem;
  const auto keep_alone = [&](const std::string& why) {
    if (asked.exclusive || asked.gpus == 0) return;
    asked.exclusive = true;
    AddRemark(foreign.remark, why);
  };
  // One that cannot be made again cannot give way either.
  if (KeepsPlace(pod, words)) {
    keep_alone(fmt::format(
        "it has its GPU for itself, as nothing would make the pod again after an eviction; run it "
        "by a Job, or set the annotation {}may-evict to \"true\", to let it share",
        kKubePrefix));
  }
  if (pod.deadline) {
    keep_alone(
        "it has its GPU for itself, as nobody can extend its activeDeadlineSeconds by what sharing "
        "costs; make it without, to let it share");
  }
  if (words.restart == GroupRestart::kAll && pod.owner.uid.empty()) {
    AddRemark(foreign.remark,
              fmt::format("{}restart is \"all\", and nothing would make its pods again after an "
                          "eviction; run them by a Job or another controller",
                          kKubePrefix));
  }
  if (!pod.wishes.empty()) {
    AddRemark(foreign.remark, fmt::format("{} is a wish that Sharewell does not look at",
                                          fmt::join(pod.wishes, ", ")));
  }
  foreign.terms.priority = pod.priority;
  foreign.terms.preempts = pod.preempts;
  foreign.terms.keeps_place = KeepsPlace(pod, words);
  return foreign;
}

}  // namespace sharewell::engine
