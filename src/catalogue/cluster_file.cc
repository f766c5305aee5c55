#include "catalogue/cluster_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "catalogue/toml_table.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "platform/files/csv.h"
#include "platform/files/mapped_file.h"
#include "platform/files/text.h"

namespace sharewell::catalogue {
namespace {

using core::Cluster;
using core::GpuModelId;
using core::Node;
using core::Result;

constexpr std::int64_t kMostNodes = 1'000'000;
constexpr std::int64_t kMostGpus = 1'000'000;
constexpr std::size_t kLargestClusterFile = std::size_t{16} << 20;

// Collects nodes, gives models their ids in order of first appearance, and holds the limits.
class Builder {
 public:
  explicit Builder(const GpuCatalogue& catalogue) : catalogue_(catalogue) {}

  Result<GpuModelId> Model(std::string_view name) {
    const auto known = ids_.find(std::string(name.substr(0, 1000)));
    if (known != ids_.end()) return known->second;
    auto model = catalogue_.Find(name);
    RETURN_IF_ERROR(model);
    const auto same = std::find_if(models_.begin(), models_.end(),
                                   [&](const auto& other) { return other.name == model->name; });
    const GpuModelId id(static_cast<std::size_t>(same - models_.begin()));
    if (same == models_.end()) models_.push_back(*std::move(model));
    ids_.emplace(name, id);
    return id;
  }

  // `count` copies of the node. With more than one, "-0", "-1", ... is put behind its name; without
  // a name they are node-N, N counted through the cluster.
  Result<void> Add(const Node& node, std::int64_t count) {
    const auto nodes = static_cast<std::int64_t>(nodes_.size());
    if (count > kMostNodes - nodes) {
      return core::UsageError("the cluster would have more than {} nodes, the most we handle",
                              kMostNodes);
    }
    if (node.gpus > 0 && count > (kMostGpus - gpus_) / node.gpus) {
      return core::UsageError("the cluster would have more than {} GPUs, the most we handle",
                              kMostGpus);
    }
    gpus_ += count * node.gpus;
    for (std::int64_t i = 0; i < count; ++i) {
      Node copy = node;
      if (copy.name.empty()) {
        copy.name = fmt::format("node-{}", nodes_.size());
      } else if (count > 1) {
        copy.name += fmt::format("-{}", i);
      }
      if (!names_.insert(copy.name).second) {
        return core::UsageError("two nodes are named '{}'; rename one", copy.name);
      }
      nodes_.push_back(std::move(copy));
    }
    return {};
  }

  Result<Cluster> Build(const std::string& name) && {
    if (nodes_.empty()) {
      return core::UsageError("{}: lists no nodes; a cluster needs at least one", name);
    }
    return Cluster(std::move(models_), std::move(nodes_));
  }

 private:
  const GpuCatalogue& catalogue_;
  std::vector<core::GpuModel> models_;
  std::unordered_map<std::string, GpuModelId> ids_;
  std::vector<Node> nodes_;
  std::unordered_set<std::string> names_;
  std::int64_t gpus_ = 0;
};

constexpr const char* kShorthandHelp =
    "write nodes x GPUs x model, as in 64x8xV100 or 4x1xV100+4x1xP100, or one node as 4xA100";

// Takes "12x" off the front.
std::optional<std::int64_t> TakeCount(std::string_view& text) {
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (code == std::errc::result_out_of_range) value = std::numeric_limits<std::int64_t>::max();
  if (length == 0 || length >= text.size() || text[0] == '-') return std::nullopt;
  if (text[length] != 'x' && text[length] != 'X') return std::nullopt;
  text.remove_prefix(length + 1);
  return value;
}

struct Group {
  std::int64_t nodes, gpus;
  std::string_view model;
};

// Nothing when the text does not have the shape; whether its numbers make sense is seen later.
std::optional<std::vector<Group>> ParseShorthand(std::string_view text) {
  std::vector<Group> groups;
  while (true) {
    const auto end = text.find('+');
    std::string_view part = platform::Trimmed(text.substr(0, end));
    const auto first = TakeCount(part);
    if (!first) return std::nullopt;
    const auto second = TakeCount(part);
    if (part.empty()) return std::nullopt;
    // One count is that of one node's GPUs, as `serve --gpus` takes it.
    groups.push_back({second ? *first : 1, second.value_or(*first), part});
    if (end == std::string_view::npos) return groups;
    text.remove_prefix(end + 1);
  }
}

Result<Cluster> FromGroups(const std::string& spec, const std::vector<Group>& groups,
                           const GpuCatalogue& catalogue) {
  const std::string where = "cluster " + core::Quoted(spec);
  Builder builder(catalogue);
  for (const Group& group : groups) {
    if (group.nodes < 1 || group.gpus < 1) {
      return core::UsageError("{}: nodes and GPUs must be at least 1; {}", where, kShorthandHelp);
    }
    if (group.gpus > kMostGpus) {
      return core::UsageError("{}: a node has at most {} GPUs; {}", where, kMostGpus,
                              kShorthandHelp);
    }
    Node node;
    node.gpus = static_cast<int>(group.gpus);
    const auto model = builder.Model(group.model);
    if (!model) return tl::unexpected(core::Error(model.error()).Within(where));
    node.model = *model;
    if (auto added = builder.Add(node, group.nodes); !added) {
      return tl::unexpected(std::move(added.error()).Within(where));
    }
  }
  return std::move(builder).Build(where);
}

Result<Cluster> FromOpenb(std::string_view text, const std::string& name,
                          const GpuCatalogue& catalogue) {
  platform::CsvReader csv(text, name);
  const auto sn = csv.Require("sn");
  const auto cpu = csv.Require("cpu_milli");
  const auto memory = csv.Require("memory_mib");
  const auto gpus = csv.Require("gpu");
  const auto model = csv.Require("model");
  Builder builder(catalogue);
  while (csv.Next()) {
    Node node;
    node.name = csv.RequiredText(sn);
    node.cores = csv.Number(cpu, {0, 1e9}) / 1000;
    node.memory = core::Bytes(csv.Number(memory, {0, 1e12}) * 1024 * 1024);
    node.gpus = static_cast<int>(csv.Integer(gpus, 0, kMostGpus));
    if (!csv.ok()) break;
    if (node.gpus > 0) {
      const auto id = builder.Model(csv.Text(model));
      if (!id) {
        csv.Fail(model, "is no known GPU: " + id.error().message);
        break;
      }
      node.model = *id;
    }
    if (const auto added = builder.Add(node, 1); !added) csv.FailRow(added.error().message);
  }
  if (!csv.ok()) return csv.error();
  return std::move(builder).Build(name);
}

std::optional<core::BytesPerSecond> Speed(TomlTable& table, const char* key) {
  const auto value = table.Positive(key, 1e6);
  if (!value) return std::nullopt;
  return core::GBps(*value);
}

// Adds the nodes of one [[nodes]] table.
std::optional<core::Error> AddNodes(const toml::table& toml, const std::string& file,
                                    Builder& builder) {
  std::optional<core::Error> error;
  TomlTable table(toml, file, "[[nodes]]", error);
  table.AllowOnly({"name", "count", "gpus", "gpu", "cores", "memory_gb", "memory_bandwidth_gbs",
                   "pcie_gbs", "network_gbs", "gpu_islands"});
  Node node;
  const auto count = table.Integer("count", 1, kMostNodes).value_or(1);
  const auto gpus = table.Integer("gpus", 0, kMostGpus);
  const auto gpu = table.Text("gpu");
  const auto islands = table.Text("gpu_islands");
  node.name = table.Text("name").value_or("");
  node.cores = table.Positive("cores", 1e6);
  if (const auto memory = table.Positive("memory_gb", 1e9)) node.memory = core::GiB(*memory);
  node.memory_bandwidth = Speed(table, "memory_bandwidth_gbs");
  node.pcie = Speed(table, "pcie_gbs");
  node.network = Speed(table, "network_gbs");
  if (error) return error;

  if (!gpus) {
    table.Fail("gpus",
               "this [[nodes]] does not say how many GPUs a node has; add `gpus = 8`, or 0");
  } else if (*gpus > 0 && !gpu) {
    table.Fail("gpu", "this [[nodes]] has GPUs but does not say which; add `gpu = \"H200\"`");
  }
  if (error) return error;
  node.gpus = static_cast<int>(*gpus);
  if (gpu && *gpus > 0) {
    const auto model = builder.Model(*gpu);
    if (!model) {
      table.Fail("gpu", model.error().message);
      return error;
    }
    node.model = *model;
  }
  if (islands) {
    auto read = core::GpuIslands::Parse(*islands, node.gpus);
    if (!read) {
      table.Fail("gpu_islands", read.error().message);
      return error;
    }
    node.islands = *std::move(read);
  }
  if (const auto added = builder.Add(node, count); !added)
    table.Fail("count", added.error().message);
  return error;
}

Result<Cluster> FromToml(const toml::table& root, const std::string& name,
                         const GpuCatalogue& catalogue) {
  std::optional<core::Error> error;
  TomlTable top(root, name, "a cluster file", error);
  top.AllowOnly({"nodes"});
  if (error) return tl::unexpected(*std::move(error));
  const toml::node* nodes = root.get("nodes");
  if (nodes == nullptr) {
    return core::UsageError("{}: lists no nodes; begin each kind of node with [[nodes]]", name);
  }
  const toml::array* list = nodes->as_array();
  if (list == nullptr) {
    top.Fail("nodes", "nodes must be a list of tables; write [[nodes]] with double brackets");
    return tl::unexpected(*std::move(error));
  }
  Builder builder(catalogue);
  for (const toml::node& entry : *list) {
    const toml::table* table = entry.as_table();
    if (table == nullptr) {
      top.FailAt(entry, "nodes must hold tables; write [[nodes]] and keys below it");
      return tl::unexpected(*std::move(error));
    }
    if (auto wrong = AddNodes(*table, name, builder)) return tl::unexpected(*std::move(wrong));
  }
  return std::move(builder).Build(name);
}

bool IsOpenb(std::string_view text) {
  const auto header = platform::CsvHeader(text);
  const auto has = [&](const char* column) {
    return std::find(header.begin(), header.end(), column) != header.end();
  };
  return has("sn") && has("gpu") && has("model") && has("cpu_milli");
}

}  // namespace

Result<Cluster> ReadCluster(const std::string& spec, const GpuCatalogue& catalogue) {
  if (const auto groups = ParseShorthand(spec)) return FromGroups(spec, *groups, catalogue);
  const auto file = platform::MappedFile::Open(spec);
  if (file) return ReadClusterText(file->text(), spec, catalogue);
  std::error_code ignored;
  if (file.error().kind != core::ErrorKind::kUsage || std::filesystem::exists(spec, ignored)) {
    return tl::unexpected(file.error());
  }
  return core::UsageError(
      "cluster {}: neither an existing file nor a shorthand; give the path of a TOML file with "
      "[[nodes]], or {}",
      core::Quoted(spec), kShorthandHelp);
}

Result<Cluster> ReadClusterText(std::string_view text, const std::string& name,
                                const GpuCatalogue& catalogue) {
  if (IsOpenb(text)) return FromOpenb(text, name, catalogue);
  if (text.size() > kLargestClusterFile) {
    return core::UsageError("{}: is larger than 16 MiB, which no cluster file is", name);
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return core::UsageError("{}: is empty; list the nodes with [[nodes]]", name);
  }
  const auto root = ParseToml(text, name, kLargestClusterFile);
  RETURN_IF_ERROR(root);
  return FromToml(*root, name, catalogue);
}

}  // namespace sharewell::catalogue
