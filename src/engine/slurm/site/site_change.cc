#include "engine/slurm/site/site_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"
#include "engine/slurm/site/slurm_limits.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Quoted;
using core::Result;

constexpr int kMostGpusOfNode = 64;

std::string FileOfPath(const std::string& path) {
  return path.substr(path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
}

// Words of a NodeName line with one entry for each of its nodes, where there are several.
constexpr std::array<const char*, 4> kNodeLists = {"NodeAddr", "NodeHostname", "BcastAddr", "Port"};

// "10.0.0.[1-8]" and "[6001-6008]" as one entry a node.
Result<std::vector<std::string>> EntriesOf(const std::string& list) {
  if (!list.starts_with('[')) return ExpandHosts(list);
  // A list of hosts begins with a name.
  auto named = ExpandHosts("p" + list);
  RETURN_IF_ERROR(named);
  for (std::string& name : *named) name.erase(0, 1);
  return named;
}

std::string ListOfEntries(const std::vector<std::string>& entries) {
  const bool numbers = std::all_of(entries.begin(), entries.end(), [](const std::string& one) {
    return !one.empty() && one.find_first_not_of("0123456789") == std::string::npos;
  });
  if (!numbers || entries.size() == 1) return HostList(entries);
  std::vector<std::string> named;
  for (const std::string& one : entries) named.push_back("p" + one);
  const std::string list = HostList(named).substr(1);
  return list.find('p') == std::string::npos ? list : fmt::format("[{}]", fmt::join(entries, ","));
}

// What a NodeName line says of some of its nodes alone.
struct PartOfLine {
  std::vector<std::string> nodes;
  std::map<std::string, std::string> values;  // of NodeName and of kNodeLists
};

class SiteChanger {
 public:
  SiteChanger(const ConfText& slurm, const ConfText& gres, const InstallOptions& options,
              const ModelNamed& model)
      : slurm_(slurm), gres_(gres), options_(options), model_(model) {}

  Result<SiteChange> Change() {
    auto nodes = NodesOfConf(slurm_);
    RETURN_IF_ERROR(nodes);
    nodes_ = std::move(*nodes);
    RETURN_IF_ERROR(FindOurs());
    ChangeSettings();
    for (const ConfNodeLine& line : nodes_.lines) RETURN_IF_ERROR(ChangeNodes(line));
    for (const ConfPartition& partition : nodes_.partitions) ChangeBilling(partition);
    RETURN_IF_ERROR(ChangeGresConf(gres_, slots_, all_gpu_nodes_, change_));
    PlaceLines(slurm_);
    PlaceLines(gres_);
    return std::move(change_);
  }

 private:
  Result<void> FindOurs() {
    if (options_.partition.empty()) {
      for (const ConfNodeLine& line : nodes_.lines) {
        ours_.insert(line.nodes.begin(), line.nodes.end());
      }
      return {};
    }
    const ConfPartition* partition = nodes_.Partition(options_.partition);
    if (partition == nullptr) {
      std::vector<std::string> read;
      for (const auto& [path, text] : slurm_.files) read.push_back(path);
      return FailedError("no line PartitionName={} is in {}", options_.partition,
                         fmt::join(read, ", "));
    }
    ours_.insert(partition->nodes.begin(), partition->nodes.end());
    for (const std::string& name : ours_) {
      if (nodes_.LineOf(name) == nullptr) {
        return FailedError("{}: node {} of the partition is on no NodeName line",
                           slurm_.lines[partition->line].Place(), Quoted(name));
      }
    }
    return {};
  }

  // In place where it is set, else in a line of its own at the end of slurm.conf.
  void ChangeSetting(const std::string& name, const std::string& value, const std::string& why) {
    const ConfLine* line = nullptr;
    const ConfWord* word = slurm_.Setting(name, &line);
    if (word != nullptr && word->value == value) return;
    if (word == nullptr) {
      change_.AddLines(slurm_.top, slurm_.files.at(slurm_.top).size(),
                       fmt::format("{}={}\n", name, WrittenConfValue(value)));
      change_.Note(slurm_.top, fmt::format("{}: {}", name, why));
      return;
    }
    change_.Edit(*line, {word->value_begin, word->end, WrittenConfValue(value)});
    change_.Note(line->Place(), fmt::format("{}: {}", name, why));
  }

  static std::string ListWith(const std::string& list, std::initializer_list<const char*> words) {
    std::string out = list;
    for (const char* word : words) {
      const std::string all = "," + LowerConf(out) + ",";
      if (all.find("," + std::string(word) + ",") != std::string::npos) continue;
      out += (out.empty() ? "" : ",") + std::string(word);
    }
    return out;
  }

  void ChangeSettings() {
    ChangeSetting("GresTypes", ListWith(slurm_.SettingValue("GresTypes"), {"gpu", "shard"}),
                  "shares of GPUs are counted as shards, 100 a GPU");
    ChangeSetting("JobSubmitPlugins", ListWith(slurm_.SettingValue("JobSubmitPlugins"), {"lua"}),
                  "job_submit.lua holds jobs that ask for GPUs until Sharewell places them");
    const auto script = [&](const char* setting, const char* file, const char* why) {
      const std::string has = slurm_.SettingValue(setting);
      if (!has.empty() && has.find("sharewell") == std::string::npos) return;  // the site's own
      ChangeSetting(setting, fmt::format("{}/{}", options_.folder, file), why);
    };
    script("Prolog", "sharewell-prolog", "starts an MPS daemon on a node where jobs share a GPU");
    script("Epilog", "sharewell-epilog", "stops that daemon after the last of them");
    script("TaskProlog", "sharewell-task-prolog", "tells each task its SM share and memory limit");
    ChangeAccounting();
  }

  void ChangeAccounting() {
    const std::string tres = slurm_.SettingValue("AccountingStorageTRES");
    if (slurm_.SettingValue("AccountingStorageType") == "accounting_storage/slurmdbd") {
      ChangeSetting("AccountingStorageTRES", ListWith(tres, {"gres/gpu", "gres/shard"}),
                    "limits and billing weights count the GPUs of placed jobs as gres/shard");
      return;
    }
    std::vector<std::string> kept;
    for (const std::string_view one : SplitAtCommas(tres)) {
      if (!LowerConf(one).starts_with("gres/")) kept.emplace_back(one);
    }
    if (kept.size() == SplitAtCommas(tres).size()) return;
    // The four that Slurm counts in any case stand for none.
    ChangeSetting("AccountingStorageTRES",
                  kept.empty() ? "cpu,mem,energy,node" : fmt::format("{}", fmt::join(kept, ",")),
                  "without slurmdbd slurmctld does not start with gres/... in it");
  }

  // New lines go in front of whatever else is put at their place, but behind a last line that has
  // no line break.
  void PlaceLines(const ConfText& conf) {
    for (const auto& [path, text] : conf.files) {
      std::vector<ConfEdit> all, behind;
      for (ConfEdit& edit : change_.lines[path]) {
        const bool broken = edit.begin == text.size() && !text.empty() && text.back() != '\n';
        if (broken && behind.empty()) edit.text.insert(0, "\n");
        (broken ? behind : all).push_back(std::move(edit));
      }
      std::vector<ConfEdit>& edits = change_.edits[path];
      all.insert(all.end(), edits.begin(), edits.end());
      all.insert(all.end(), behind.begin(), behind.end());
      edits = std::move(all);
      change_.lines.erase(path);
      if (edits.empty()) change_.edits.erase(path);
    }
  }

  // The feature that names the GPU model, added to those that the nodes have; empty: none is
  // needed, or none is known.
  std::string FeaturesWith(const ConfNodeLine& nodes, const NodeGpus& gpus) {
    for (const std::string_view one : SplitAtCommas(nodes.features)) {
      if (!model_(std::string(one)).empty()) return "";
    }
    std::string name = gpus.type.empty() ? "" : model_(gpus.type);
    if (name.empty()) {
      change_.Note(slurm_.lines[nodes.line].Place(),
                   "add Feature=MODEL by hand: which GPU it is could not be told (sharewell gpus)");
      return "";
    }
    // A feature is one word: "RTX 3090" is RTX3090 there, where that is known too.
    std::string word = name;
    word.erase(std::remove(word.begin(), word.end(), ' '), word.end());
    name = model_(word) == name ? word : gpus.type;
    return nodes.features.empty() ? name : nodes.features + "," + name;
  }

  Result<void> ChangeNodes(const ConfNodeLine& nodes) {
    const ConfLine& line = slurm_.lines[nodes.line];
    std::vector<std::size_t> mine, others;
    for (std::size_t i = 0; i < nodes.nodes.size(); ++i) {
      (ours_.count(nodes.nodes[i]) != 0 ? mine : others).push_back(i);
    }
    auto gpus = GpusOfGres(nodes.gres);
    // Somebody else's may be whatever they are; lines of gres.conf for every node are theirs too.
    if (!gpus && !mine.empty()) return FailedError("{}: {}", line.Place(), gpus.error().message);
    if (gpus && gpus->count == 0) return {};
    all_gpu_nodes_.insert(all_gpu_nodes_.end(), nodes.nodes.begin(), nodes.nodes.end());
    if (mine.empty()) return {};
    for (const std::size_t i : mine) change_.nodes.push_back(nodes.nodes[i]);
    std::string features = FeaturesWith(nodes, *gpus);
    if (gpus->slots && features.empty()) return {};
    std::string slots = gpus->slots ? nodes.gres : SlotsGres(gpus->count);
    if (!gpus->slots) {
      for (const std::string& other : gpus->others) slots += "," + other;
      for (const std::size_t i : mine) {
        slots_[nodes.nodes[i]] = gpus->count;
        change_.renamed.push_back(nodes.nodes[i]);
      }
    }
    std::map<std::string, std::string> values = {{"Gres", slots}};
    const bool plural = line.Find("Features") != nullptr;
    if (!features.empty()) values[plural ? "Features" : "Feature"] = features;
    change_.Note(line.Place(),
                 "each GPU is a slot of its own (g0, g1, ...) with 100 shards; the "
                 "model is a feature");
    if (others.empty()) {
      SetWords(line, values);
      return {};
    }
    return Split(nodes, mine, others, values);
  }

  // Each word in place, or behind the line's last word.
  void SetWords(const ConfLine& line, const std::map<std::string, std::string>& values) {
    std::string more;
    for (const auto& [key, value] : values) {
      const ConfWord* word = line.Find(key);
      if (word == nullptr) {
        more += fmt::format(" {}={}", key, WrittenConfValue(value));
      } else if (word->value != value) {
        change_.Edit(line, {word->value_begin, word->end, WrittenConfValue(value)});
      }
    }
    const std::size_t end = line.words.back().end;
    if (!more.empty()) change_.Edit(line, {end, end, more});
  }

  Result<PartOfLine> PartOf(const ConfNodeLine& nodes, const std::vector<std::size_t>& which) {
    const ConfLine& line = slurm_.lines[nodes.line];
    PartOfLine out;
    for (const std::size_t i : which) out.nodes.push_back(nodes.nodes[i]);
    out.values["NodeName"] = HostList(out.nodes);
    for (const char* key : kNodeLists) {
      const ConfWord* word = line.Find(key);
      if (word == nullptr) continue;
      const auto entries = EntriesOf(word->value);
      if (entries && entries->size() == 1) continue;  // alike for all
      if (!entries || entries->size() != nodes.nodes.size()) {
        return FailedError(
            "{}: only some of these nodes are of the partition, and {} has not one entry for each "
            "of them; split the line by hand",
            line.Place(), key);
      }
      std::vector<std::string> some;
      for (const std::size_t i : which) some.push_back((*entries)[i]);
      out.values[key] = ListOfEntries(some);
    }
    return out;
  }

  // The other partitions' nodes keep the line; ours get a copy of it behind it.
  Result<void> Split(const ConfNodeLine& nodes, const std::vector<std::size_t>& mine,
                     const std::vector<std::size_t>& others,
                     const std::map<std::string, std::string>& values) {
    const ConfLine& line = slurm_.lines[nodes.line];
    auto ours = PartOf(nodes, mine);
    RETURN_IF_ERROR(ours);
    auto theirs = PartOf(nodes, others);
    RETURN_IF_ERROR(theirs);
    SetWords(line, theirs->values);
    auto copy = ours->values;
    copy.insert(values.begin(), values.end());
    change_.AddLines(line.file, line.end, CopyOfLine(slurm_, line, copy) + "\n");
    change_.Note(line.Place(), fmt::format("{} is split: the other nodes keep their GPUs as they "
                                           "are",
                                           line.words.front().value));
    return {};
  }

  // A weight of GPUs gets its like in shards: else a placed job would be billed for its cores
  // alone.
  void ChangeBilling(const ConfPartition& partition) {
    if (!options_.partition.empty() && partition.name != options_.partition) return;
    if (slurm_.SettingValue("AccountingStorageType") != "accounting_storage/slurmdbd") return;
    const auto weight = ShardWeightMissing(partition.billing);
    if (!weight) return;
    const ConfLine& line = slurm_.lines[partition.line];
    SetWords(line, {{"TRESBillingWeights", partition.billing + "," + *weight}});
    change_.Note(line.Place(), "TRESBillingWeights: 100 shards are billed like a GPU");
  }

  const ConfText& slurm_;
  const ConfText& gres_;
  const InstallOptions& options_;
  const ModelNamed& model_;
  ConfNodes nodes_;
  std::set<std::string> ours_;
  std::map<std::string, int> slots_;  // of nodes that had none
  std::vector<std::string> all_gpu_nodes_;
  SiteChange change_;
};

}  // namespace

void SiteChange::Note(const std::string& place, const std::string& what) {
  why.push_back(fmt::format("{}: {}", FileOfPath(place), what));
}

Result<SiteChange> ChangeSite(const ConfText& slurm, const ConfText& gres,
                              const InstallOptions& options, const ModelNamed& model) {
  return SiteChanger(slurm, gres, options, model).Change();
}

std::string SlotsGres(int gpus) {
  std::vector<std::string> all;
  for (int i = 0; i < gpus; ++i) all.push_back(fmt::format("gpu:g{}:1", i));
  for (int i = 0; i < gpus; ++i) all.push_back(fmt::format("shard:g{}:100", i));
  return fmt::format("{}", fmt::join(all, ","));
}

Result<NodeGpus> GpusOfGres(const std::string& gres) {
  const auto parsed = ParseGres(gres);
  if (!parsed) return FailedError("{}", parsed.error().message);
  NodeGpus out;
  std::set<std::string> types, slots, shards;
  const auto parts = SplitAtCommas(gres);
  for (const std::string_view part : parts) {
    const auto one = ParseGres(part);
    if (!one || one->size() != 1) continue;
    const SlurmGres& found = one->front();
    if (found.name == "gpu") {
      if (found.count < 0 || found.count > kMostGpusOfNode) {
        return FailedError("{}: a node has at most {} GPUs", Quoted(part), kMostGpusOfNode);
      }
      out.count += static_cast<int>(found.count);
      types.insert(LowerConf(found.type));
      out.type = found.type;
      if (found.count == 1) slots.insert(found.type);
    } else if (found.name == "shard") {
      if (found.count == 100) shards.insert(found.type);
      if (found.count != 100 || found.type.empty()) {
        return FailedError(
            "{}: shards of the site's own; take them out of slurm.conf and gres.conf first",
            Quoted(part));
      }
    } else if (found.name == "mps") {
      return FailedError(
          "{}: Slurm's MPS counts the same GPUs another way; take it out of "
          "slurm.conf and gres.conf first",
          Quoted(part));
    } else {
      out.others.emplace_back(part);
    }
  }
  if (out.count > kMostGpusOfNode) {
    return FailedError("{}: a node has at most {} GPUs", Quoted(gres), kMostGpusOfNode);
  }
  const bool all_slots = static_cast<std::size_t>(out.count) == slots.size() && shards == slots;
  if (!shards.empty() && !all_slots) {
    return FailedError("{}: some GPUs have shards and others have none", Quoted(gres));
  }
  out.slots = !shards.empty();
  if (out.slots) {
    out.type.clear();
  } else if (types.size() > 1) {
    return FailedError("{}: GPUs of several types in a node; a job could not say which it wants",
                       Quoted(gres));
  }
  if (LowerConf(out.type).find("g.") != std::string::npos) {
    return FailedError(
        "{}: MIG instances are no whole GPUs; leave these nodes out of the partition",
        Quoted(gres));
  }
  return out;
}

std::string CopyOfLine(const ConfText& conf, const ConfLine& line,
                       const std::map<std::string, std::string>& values) {
  const std::string& text = conf.files.at(line.file);
  std::vector<std::string> out;
  std::set<std::string> used;
  for (const ConfWord& word : line.words) {
    const auto other = std::find_if(values.begin(), values.end(), [&](const auto& one) {
      return SameConfWord(one.first, word.key);
    });
    if (other != values.end()) {
      if (used.insert(other->first).second) {
        out.push_back(fmt::format("{}={}", word.key, WrittenConfValue(other->second)));
      }
      continue;
    }
    std::string value = text.substr(word.value_begin, word.end - word.value_begin);
    // One that goes over several lines is written anew.
    if (value.find('\n') != std::string::npos) value = WrittenConfValue(word.value);
    out.push_back(fmt::format("{}={}", word.key, value));
  }
  for (const auto& [key, value] : values) {
    if (used.insert(key).second) out.push_back(fmt::format("{}={}", key, WrittenConfValue(value)));
  }
  return fmt::format("{}", fmt::join(out, " "));
}

}  // namespace sharewell::engine
