#include "engine/slurm/site/conf_nodes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/read/slurm_words.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Result;

bool IsDefaultLine(const ConfLine& line) {
  return SameConfWord(line.words.front().value, "DEFAULT");
}

// "Feature" or "Features"; what this line does not say stays as it was.
void TakeDefaults(const ConfLine& line, std::string& gres, std::string& features) {
  if (line.Find("Gres") != nullptr) gres = line.ValueOf("Gres");
  for (const char* key : {"Feature", "Features"}) {
    if (line.Find(key) != nullptr) features = line.ValueOf(key);
  }
}

bool HasFeature(const std::string& features, const std::string& wanted) {
  const auto all = SplitAtCommas(features);
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

class ConfNodesReader {
 public:
  explicit ConfNodesReader(const ConfText& conf) : conf_(conf) {}

  Result<ConfNodes> Read() {
    for (std::size_t i = 0; i < conf_.lines.size(); ++i) {
      const ConfLine& line = conf_.lines[i];
      for (std::size_t w = 1; w < line.words.size(); ++w) {
        if (SameConfWord(line.words[w].key, "NodeName") && !line.BeginsWith("NodeSet")) {
          return FailedError("{}: NodeName stands in the middle of a line; begin a line with it",
                             line.Place());
        }
      }
      if (line.BeginsWith("NodeName")) RETURN_IF_ERROR(TakeNodeLine(i));
    }
    // Sets and partitions may stand before the nodes they name.
    for (const ConfLine& line : conf_.lines) {
      if (line.BeginsWith("NodeSet")) RETURN_IF_ERROR(TakeSet(line));
    }
    for (std::size_t i = 0; i < conf_.lines.size(); ++i) {
      if (conf_.lines[i].BeginsWith("PartitionName")) RETURN_IF_ERROR(TakePartition(i));
    }
    return std::move(out_);
  }

 private:
  Result<void> TakeNodeLine(std::size_t i) {
    const ConfLine& line = conf_.lines[i];
    if (IsDefaultLine(line)) {
      TakeDefaults(line, default_gres_, default_features_);
      return {};
    }
    auto names = ExpandHosts(line.words.front().value);
    if (!names) return FailedError("{}: {}", line.Place(), names.error().message);
    for (const std::string& name : *names) {
      if (!out_.by_name.emplace(name, out_.lines.size()).second) {
        return FailedError("{}: node {} is there a second time; slurmctld does not start with that",
                           line.Place(), core::Quoted(name));
      }
      if (out_.by_name.size() > kMostHostsOfAll)
        return FailedError("{}: too many nodes", line.Place());
      all_.push_back(name);
    }
    ConfNodeLine node{i, std::move(*names), default_gres_, default_features_};
    TakeDefaults(line, node.gres, node.features);
    out_.lines.push_back(std::move(node));
    return {};
  }

  Result<void> TakeSet(const ConfLine& line) {
    std::vector<std::string> nodes;
    if (const ConfWord* feature = line.Find("Feature")) {
      for (const ConfNodeLine& one : out_.lines) {
        if (HasFeature(one.features, feature->value)) {
          nodes.insert(nodes.end(), one.nodes.begin(), one.nodes.end());
        }
      }
    }
    if (line.Find("Nodes") != nullptr) {
      auto named = NamedNodes(line, line.ValueOf("Nodes"));
      RETURN_IF_ERROR(named);
      nodes.insert(nodes.end(), named->begin(), named->end());
    }
    sets_[line.words.front().value] = std::move(nodes);
    return {};
  }

  Result<void> TakePartition(std::size_t i) {
    const ConfLine& line = conf_.lines[i];
    if (IsDefaultLine(line)) {
      if (line.Find("Nodes") != nullptr) default_nodes_ = line.ValueOf("Nodes");
      if (line.Find("TRESBillingWeights") != nullptr) {
        default_billing_ = line.ValueOf("TRESBillingWeights");
      }
      return {};
    }
    ConfPartition out{i, line.words.front().value, {}, default_billing_, false};
    auto nodes =
        NamedNodes(line, line.Find("Nodes") != nullptr ? line.ValueOf("Nodes") : default_nodes_);
    RETURN_IF_ERROR(nodes);
    out.nodes = std::move(*nodes);
    hosts_ += out.nodes.size();
    if (hosts_ > kMostHostsOfAll) return FailedError("{}: too many nodes", line.Place());
    if (line.Find("TRESBillingWeights") != nullptr) {
      out.billing = line.ValueOf("TRESBillingWeights");
      out.own_billing = true;
    }
    // PartitionName=a,b is a line of two partitions in no version: the name is one word.
    out_.partitions.push_back(std::move(out));
    return {};
  }

  // Names, sets and ALL.
  Result<std::vector<std::string>> NamedNodes(const ConfLine& line, const std::string& list) {
    std::vector<std::string> out;
    for (const std::string_view part : SplitAtCommas(list)) {
      const std::string name(part);
      if (name.empty()) continue;
      if (SameConfWord(name, "ALL")) {
        out = all_;
      } else if (const auto set = sets_.find(name); set != sets_.end()) {
        out.insert(out.end(), set->second.begin(), set->second.end());
      } else {
        auto names = ExpandHosts(name);
        if (!names) return FailedError("{}: {}", line.Place(), names.error().message);
        out.insert(out.end(), names->begin(), names->end());
      }
      if (out.size() > kMostHostsOfAll) return FailedError("{}: too many nodes", line.Place());
    }
    return out;
  }

  const ConfText& conf_;
  ConfNodes out_;
  std::vector<std::string> all_;
  std::map<std::string, std::vector<std::string>> sets_;
  std::string default_gres_, default_features_, default_nodes_, default_billing_;
  std::size_t hosts_ = 0;
};

// "gpu007" -> "gpu", 7, 3 digits.
struct NumberedHost {
  std::string stem;
  std::int64_t number = -1;
  std::size_t width = 0;
};

NumberedHost Numbered(const std::string& name) {
  std::size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9') --at;
  const std::size_t width = name.size() - at;
  if (width == 0 || width > 9) return {name, -1, 0};
  return {name.substr(0, at), std::stoll(name.substr(at)), width};
}

// Whether a range may lead from one to the other: "8-10", "08-10", but not "08-100".
bool InOneRange(const NumberedHost& low, const NumberedHost& high) {
  const auto plain = [](const NumberedHost& host) {
    return host.width == 1 || std::to_string(host.number).size() == host.width;
  };
  return low.number >= 0 && high.number >= 0 && low.stem == high.stem &&
         (low.width == high.width || (plain(low) && plain(high)));
}

}  // namespace

const ConfPartition* ConfNodes::Partition(std::string_view name) const {
  for (const ConfPartition& one : partitions) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

const ConfNodeLine* ConfNodes::LineOf(const std::string& node) const {
  const auto found = by_name.find(node);
  return found == by_name.end() ? nullptr : &lines[found->second];
}

std::int64_t NumberAtEnd(const std::string& name) { return Numbered(name).number; }

Result<ConfNodes> NodesOfConf(const ConfText& conf) { return ConfNodesReader(conf).Read(); }

std::string HostList(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < names.size();) {
    const NumberedHost first = Numbered(names[i]);
    std::vector<std::string> ranges;
    std::size_t last = i;
    while (first.number >= 0 && last < names.size()) {
      const NumberedHost low = Numbered(names[last]);
      if (!InOneRange(first, low)) break;
      std::size_t to = last;
      while (to + 1 < names.size()) {
        const NumberedHost next = Numbered(names[to + 1]);
        if (!InOneRange(low, next) ||
            next.number != low.number + static_cast<std::int64_t>(to + 1 - last)) {
          break;
        }
        ++to;
      }
      const NumberedHost high = Numbered(names[to]);
      ranges.push_back(to == last ? fmt::format("{:0{}}", low.number, low.width)
                                  : fmt::format("{:0{}}-{:0{}}", low.number, low.width, high.number,
                                                high.width));
      last = to + 1;
    }
    if (last > i + 1) {
      out.push_back(fmt::format("{}[{}]", first.stem, fmt::join(ranges, ",")));
      i = last;
    } else {
      out.push_back(names[i++]);
    }
  }
  return fmt::format("{}", fmt::join(out, ","));
}

}  // namespace sharewell::engine
