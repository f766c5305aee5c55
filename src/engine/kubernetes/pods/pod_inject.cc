#include "engine/kubernetes/pods/pod_inject.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "core/text/quoted.h"
#include "engine/kubernetes/api/plain_yaml.h"
#include "engine/kubernetes/pods/pod_additions.h"
#include "engine/kubernetes/pods/pod_known.h"
#include "json/writer.h"

namespace sharewell::engine {

using core::Quoted;
using core::Result;
using core::UsageError;

namespace {

using YamlKind = PlainYaml::Kind;

constexpr std::array<std::string_view, 6> kTemplates = {
    "Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"};

struct Insertion {
  std::size_t at = 0;
  std::string text;
};

std::string AllInBrackets(const std::vector<PodEntry>& entries) {
  std::vector<std::string> parts;
  for (const PodEntry& one : entries) parts.push_back(InBrackets(one));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// It stands in a ConfigMap of ours, too. Empty: that of whoever applies it.
bool IsNamespace(std::string_view name) {
  return name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

class Injector {
 public:
  Injector(std::string_view text, std::string_view scheduler, const WatcherContents& watcher,
           const KnownOf& known)
      : text_(text),
        scheduler_(scheduler),
        watcher_(watcher),
        known_(known),
        line_end_(text.find("\r\n") == std::string_view::npos ? "\n" : "\r\n") {}

  // Of one document: all pods in it.
  Result<void> Take(const PlainYaml& object) {
    const std::string& kind = object.TextAt("kind");
    if (kind == "List" || kind == "PodList") {
      for (const PlainYaml& item : object.At("items").list) RETURN_IF_ERROR(Take(item));
      return {};
    }
    const PlainYaml& metadata = object.At("metadata");
    space_ = metadata.TextAt("namespace");
    if (kind == "ConfigMap" && metadata.TextAt("name") == kWatcherName) has_map_.insert(space_);
    const PlainYaml& spec = object.At("spec");
    if (kind == "Pod") return TakePod(object, "");
    if (std::find(kTemplates.begin(), kTemplates.end(), kind) != kTemplates.end()) {
      return TakePod(spec.At("template"), "spec.template.");
    }
    if (kind == "CronJob") {
      return TakePod(spec.At("jobTemplate").At("spec").At("template"),
                     "spec.jobTemplate.spec.template.");
    }
    return {};
  }

  int pods() const { return pods_; }
  // Namespaces that have pods to be watched, and no ConfigMap of the watcher in what was taken.
  std::vector<std::string> MapsMissing() const {
    std::vector<std::string> missing;
    std::set_difference(watched_.begin(), watched_.end(), has_map_.begin(), has_map_.end(),
                        std::back_inserter(missing));
    return missing;
  }

  std::string Apply() {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const Insertion& a, const Insertion& b) { return a.at < b.at; });
    std::string out;
    std::size_t from = 0;
    for (const Insertion& one : insertions_) {
      const std::size_t at = std::min(one.at, text_.size());
      out += text_.substr(from, at - from);
      out += one.text;
      from = at;
    }
    return out += text_.substr(from);
  }

 private:
  Result<void> TakePod(const PlainYaml& pod, const std::string& where) {
    const PlainYaml& spec = pod.At("spec");
    const std::string path = where + "spec";
    if (spec.kind != YamlKind::kMap || spec.At("containers").kind != YamlKind::kList ||
        spec.At("containers").list.empty()) {
      return UsageError("a pod has no {}.containers; write at least one", path);
    }
    ++pods_;
    const auto words = CheckWords(pod.At("metadata"), where);
    RETURN_IF_ERROR(words);
    const bool watch = words->watch;
    if (watch && !IsNamespace(space_)) {
      return UsageError(
          "metadata.namespace {} is no name of a namespace; use small letters, digits and '-'",
          Quoted(space_));
    }
    if (watch) watched_.insert(space_);
    if (known_ && words->gpus > 0) RETURN_IF_ERROR(AddKnown(pod, *words, where));
    const PlainYaml& named = spec.At("schedulerName");
    if (named.kind == YamlKind::kNull) {
      AddEntry(spec, fmt::format(R"("schedulerName": "{}")", scheduler_),
               fmt::format("schedulerName: {}", scheduler_));
    } else if (named.text != scheduler_) {
      return UsageError(
          "a pod has {}.schedulerName {}; remove that line, or give --scheduler-name for another "
          "Sharewell",
          path, Quoted(named.text));
    }
    RETURN_IF_ERROR(AddMissing(spec, "volumes", PodVolumes(watch, watcher_), path));
    for (const char* list : {"initContainers", "containers"}) {
      for (const PlainYaml& container : spec.At(list).list) {
        RETURN_IF_ERROR(TakeContainer(container, path + "." + list, watch));
      }
    }
    return {};
  }

  static Result<PodWords> CheckWords(const PlainYaml& metadata, const std::string& where) {
    KubePod pod;
    const PlainYaml& annotations = metadata.At("annotations");
    for (const std::string_view key : kMarkLabels) {
      if (const auto& text = metadata.At("labels").At(key).text; !text.empty())
        pod.marks.emplace(key, text);
    }
    for (const std::string_view key : kMarkAnnotations) {
      if (const auto& text = annotations.At(key).text; !text.empty()) pod.marks.emplace(key, text);
    }
    for (std::size_t i = 0; i < annotations.keys.size(); ++i) {
      const std::string_view key = annotations.keys[i];
      if (!key.starts_with(kKubePrefix)) continue;
      pod.annotations.emplace(key.substr(kKubePrefix.size()), annotations.list[i].text);
    }
    return CheckPodWords(std::move(pod), where);
  }

  // What is known of it, among its annotations.
  Result<void> AddKnown(const PlainYaml& pod, const PodWords& words, const std::string& where) {
    const auto text = known_(words);
    RETURN_IF_ERROR(text);
    const std::string key = std::string(kKubePrefix) + std::string(kKnownAnnotation);
    const PlainYaml& metadata = pod.At("metadata");
    const PlainYaml& annotations = metadata.At("annotations");
    const PlainYaml& there = annotations.At(key);
    if (there.kind != YamlKind::kNull) {
      if (there.text == *text) return {};
      return UsageError(
          "a pod has {}metadata.annotations.{} of another prediction already; remove that line",
          where, key);
    }
    std::string in_json;
    json::Writer(in_json).Value(*text);
    const std::string entry = fmt::format(R"("{}": {})", key, in_json);
    const auto margin = [&](const PlainYaml& map, std::size_t more) {
      return line_end_ + std::string(map.column + more, ' ');
    };
    const std::string line = fmt::format("{}: {}", key, InSingleQuotes(*text));
    if (annotations.kind == YamlKind::kMap) {
      AddEntry(annotations, entry, line);
    } else if (metadata.kind == YamlKind::kMap) {
      AddEntry(metadata, fmt::format(R"("annotations": {{{}}})", entry),
               "annotations:" + margin(metadata, 2) + line);
    } else {
      AddEntry(pod, fmt::format(R"("metadata": {{"annotations": {{{}}}}})", entry),
               "metadata:" + margin(pod, 2) + "annotations:" + margin(pod, 4) + line);
    }
    return {};
  }

  // As YAML has it: a quote is doubled, and all else stands for itself.
  static std::string InSingleQuotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("''") : std::string(1, c);
    return out + "'";
  }

  Result<void> TakeContainer(const PlainYaml& container, const std::string& path, bool watch) {
    if (container.kind != YamlKind::kMap) return UsageError("{} has an entry that is no map", path);
    const std::string name = "container " + Quoted(container.TextAt("name"));
    for (const PlainYaml& one : container.At("env").list) {
      if (const std::string why = WhyNotKept(GivenIn(one)); !why.empty()) {
        return UsageError("{}: {}", name, why);
      }
      if (watch && one.TextAt("name") == kPythonPath) RETURN_IF_ERROR(AddToPath(one, name));
    }
    RETURN_IF_ERROR(AddMissing(container, "env", PodVariables(watch), name));
    return AddMissing(container, "volumeMounts", PodMounts(watch), name);
  }

  static GivenVariable GivenIn(const PlainYaml& variable) {
    GivenVariable given{variable.TextAt("name"), std::nullopt,
                        variable.At("valueFrom").At("fieldRef").TextAt("fieldPath")};
    if (variable.At("valueFrom").kind == YamlKind::kNull) given.value = variable.TextAt("value");
    return given;
  }

  // The watcher's folder in front of a PYTHONPATH that stands there.
  Result<void> AddToPath(const PlainYaml& variable, const std::string& name) {
    const PlainYaml& value = variable.At("value");
    if (value.text.starts_with(kWatcherFolder)) return {};
    if (value.kind == YamlKind::kText && value.at < text_.size()) {
      const std::string colon = value.text.empty() ? "" : ":";
      const char first = text_[value.at];
      const bool quoted = first == '"' || first == '\'';
      if (quoted || (!value.text.empty() && text_.substr(value.at).starts_with(value.text))) {
        insertions_.push_back({value.at + (quoted ? 1 : 0), std::string(kWatcherFolder) + colon});
        return {};
      }
    }
    return UsageError(
        "{}: the watcher cannot be put in front of its PYTHONPATH; write its value on one line, or "
        "remove the annotation {}watch",
        name, kKubePrefix);
  }

  // Those that the list of that name does not have yet; `owner`: whose list it is.
  Result<void> AddMissing(const PlainYaml& map, const std::string& list,
                          const std::vector<PodEntry>& entries, const std::string& owner) {
    const bool has = std::find(map.keys.begin(), map.keys.end(), list) != map.keys.end();
    const PlainYaml& there = map.At(list);
    if (has && there.kind != YamlKind::kList) {
      return UsageError("{}: {} is no list; remove that line", owner, list);
    }
    std::vector<PodEntry> wanted;
    for (const PodEntry& one : entries) {
      const auto is = [&](const PlainYaml& entry) { return entry.TextAt("name") == one.name; };
      if (std::none_of(there.list.begin(), there.list.end(), is)) wanted.push_back(one);
    }
    if (wanted.empty()) return {};
    if (has) {
      AddToList(there, wanted);
    } else {
      AddList(map, list, wanted);
    }
    return {};
  }

  // Before the first entry of a map.
  void AddEntry(const PlainYaml& map, const std::string& in_brackets, const std::string& line) {
    if (map.in_brackets) {
      insertions_.push_back({map.at + 1, in_brackets + (map.list.empty() ? "" : ", ")});
    } else {
      insertions_.push_back({map.at, line + line_end_ + std::string(map.column, ' ')});
    }
  }

  std::string EntryLines(const std::vector<PodEntry>& entries, std::size_t column) const {
    const std::string margin(column, ' ');
    std::string out;
    for (const PodEntry& one : entries) {
      out += fmt::format("{0}- name: {1}{2}{0}  {3}{2}", margin, one.name, line_end_,
                         WithoutQuotes(one.rest));
    }
    return out;
  }

  // As people write it: quotes around values alone.
  static std::string WithoutQuotes(std::string_view brackets) {
    std::string out;
    while (!brackets.empty()) {
      const std::size_t colon = brackets.find("\": ");
      if (colon == std::string_view::npos) break;
      const std::size_t quote = brackets.rfind('"', colon - 1);
      out += brackets.substr(0, quote);
      out += brackets.substr(quote + 1, colon - quote - 1);
      out += ": ";
      brackets.remove_prefix(colon + 3);
    }
    return out += brackets;
  }

  void AddToList(const PlainYaml& list, const std::vector<PodEntry>& entries) {
    if (list.in_brackets) {
      insertions_.push_back(
          {list.at + 1, AllInBrackets(entries) + (list.list.empty() ? "" : ", ")});
      return;
    }
    // The first line has its margin already, and the entry that was the first needs one.
    std::string lines = EntryLines(entries, list.column);
    lines.erase(0, list.column);
    insertions_.push_back({list.at, lines + std::string(list.column, ' ')});
  }

  void AddList(const PlainYaml& map, const std::string& list,
               const std::vector<PodEntry>& entries) {
    if (map.in_brackets) {
      AddEntry(map, fmt::format(R"("{}": [{}])", list, AllInBrackets(entries)), "");
      return;
    }
    const std::string lines = list + ":" + line_end_ + EntryLines(entries, map.column + 2);
    const std::string margin(map.column, ' ');
    // In a container after its image, where people look for it.
    if (const std::size_t end = LineEndOf(map.At("image")); end > 0) {
      insertions_.push_back({end, margin + lines});
    } else {
      insertions_.push_back({map.at, lines + margin});
    }
  }

  // Where the next line begins after a value that is alone to the end of its line; 0: it is not.
  std::size_t LineEndOf(const PlainYaml& value) const {
    if (value.kind != YamlKind::kText || value.at >= text_.size()) return 0;
    const std::size_t end = text_.find('\n', value.at);
    if (end == std::string_view::npos) return 0;
    std::string_view line = text_.substr(value.at, end - value.at);
    if (const std::size_t remark = line.find(" #"); remark != std::string_view::npos) {
      line = line.substr(0, remark);
    }
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r' || line.back() == '\t')) {
      line.remove_suffix(1);
    }
    const bool whole =
        line == value.text || line == "\"" + value.text + "\"" || line == "'" + value.text + "'";
    return whole ? end + 1 : 0;
  }

  const std::string_view text_, scheduler_;
  const WatcherContents& watcher_;
  const KnownOf& known_;
  const std::string line_end_;
  std::vector<Insertion> insertions_;
  int pods_ = 0;
  std::string space_;                        // of the object that is looked at
  std::set<std::string> watched_, has_map_;  // namespaces
};

// Whether that is the same text, or one with the watcher's folder in front.
bool IsSameText(std::string_view before, std::string_view after) {
  if (before == after) return true;
  if (!after.starts_with(kWatcherFolder)) return false;
  after.remove_prefix(kWatcherFolder.size());
  return before.empty() ? after.empty() : after.starts_with(':') && after.substr(1) == before;
}

// Whether `after` is `before` with more keys and more entries at the beginning of lists.
bool IsWithin(const PlainYaml& before, const PlainYaml& after) {
  if (before.kind != after.kind || !IsSameText(before.text, after.text)) return false;
  if (before.kind == YamlKind::kList) {
    if (after.list.size() < before.list.size()) return false;
    const std::size_t more = after.list.size() - before.list.size();
    for (std::size_t i = 0; i < before.list.size(); ++i) {
      if (!IsWithin(before.list[i], after.list[more + i])) return false;
    }
  }
  for (std::size_t i = 0; i < before.keys.size(); ++i) {
    if (!IsWithin(before.list[i], after.At(before.keys[i]))) return false;
  }
  return true;
}

bool IsWithin(const std::vector<PlainYaml>& before, const std::vector<PlainYaml>& after) {
  return std::equal(before.begin(), before.end(), after.begin(), after.end(),
                    [](const PlainYaml& a, const PlainYaml& b) { return IsWithin(a, b); });
}

// Whether the first line that says anything begins a document.
bool BeginsADocument(std::string_view yaml) {
  while (!yaml.empty()) {
    const std::size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view line = yaml.substr(0, end);
    const std::size_t word = line.find_first_not_of(" \t\r");
    if (word != std::string_view::npos && line[word] != '#') {
      return line.starts_with("---") || line.starts_with('%');
    }
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
  }
  return false;
}

// The ConfigMaps of these namespaces, in front.
Result<std::string> WithMaps(const std::vector<std::string>& spaces, const WatcherContents& watcher,
                             std::string pods) {
  if (spaces.empty()) return pods;
  std::string out;
  for (const std::string& name_space : spaces) {
    if (!out.empty()) out += "---\n";
    out += WatcherMap(watcher, name_space);
  }
  if (!BeginsADocument(pods)) out += "---\n";
  out += pods;
  const auto before = ParsePlainYamls(pods), after = ParsePlainYamls(out);
  if (before && after && after->size() == before->size() + spaces.size()) return out;
  return UsageError(
      "the ConfigMap of the watcher cannot be put in front of it; take out what stands before its "
      "first document, or the annotation {}watch",
      kKubePrefix);
}

}  // namespace

Result<std::string> InjectPods(std::string_view yaml, std::string_view scheduler,
                               const WatcherContents& watcher, const KnownOf& known) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (yaml.starts_with(kByteOrderMark)) yaml.remove_prefix(kByteOrderMark.size());
  const auto documents = ParsePlainYamls(yaml);
  RETURN_IF_ERROR(documents);
  Injector injector(yaml, scheduler, watcher, known);
  for (const PlainYaml& document : *documents) RETURN_IF_ERROR(injector.Take(document));
  if (injector.pods() == 0) {
    return UsageError(
        "it has no pod; give a Pod, or a Deployment, ReplicaSet, StatefulSet, DaemonSet, Job or "
        "CronJob");
  }
  std::string out = injector.Apply();
  // Whatever the text looks like: what comes out says all that went in, and needs nothing more.
  const auto again = ParsePlainYamls(out);
  if (again && IsWithin(*documents, *again)) {
    Injector rest(out, scheduler, watcher, known);
    bool good = true;
    for (const PlainYaml& document : *again) good = good && rest.Take(document).has_value();
    if (good && rest.pods() == injector.pods() && rest.Apply() == out) {
      return WithMaps(injector.MapsMissing(), watcher, std::move(out));
    }
  }
  return UsageError(
      "lines cannot be added to it safely; write it in the usual form (two spaces for each level, "
      "no tabs), or add what docs/kubernetes.md shows by hand");
}

}  // namespace sharewell::engine
