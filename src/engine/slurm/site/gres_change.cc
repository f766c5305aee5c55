// gres.conf: the lines of the nodes whose GPUs become slots. Everything else of a line (Cores,
// Links, Flags) goes with the GPU that it is of.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "core/text/quoted.h"
#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/site/site_change.h"

namespace sharewell::engine {
namespace {

using core::FailedError;
using core::Result;

// What is written anew for a slot; all other words are kept.
constexpr std::array<std::string_view, 6> kOwnGresWords = {"nodename", "name",  "type",
                                                           "file",     "count", "autodetect"};

// A GPU's device file, and the line that names it (absent: none does).
struct GpuDevice {
  std::string file;
  std::optional<std::size_t> line;
};

class GresChanger {
 public:
  GresChanger(const ConfText& gres, const std::map<std::string, int>& ours,
              const std::vector<std::string>& all_gpu_nodes, SiteChange& change)
      : gres_(gres), ours_(ours), all_(all_gpu_nodes), change_(change) {}

  Result<void> Change() {
    if (ours_.empty()) return {};
    for (const ConfLine& line : gres_.lines) {
      const auto nodes = NodesOfLine(line);
      if (!nodes) return FailedError("{}: {}", line.Place(), nodes.error().message);
      nodes_.push_back(*nodes);
      NoteAutoDetect(line, *nodes);
    }
    for (std::size_t i = 0; i < gres_.lines.size(); ++i) RETURN_IF_ERROR(TakeDevices(i));
    for (const auto& [node, count] : ours_) RETURN_IF_ERROR(SettleDevices(node, count));
    for (std::size_t i = 0; i < gres_.lines.size(); ++i) ReplaceLine(i);
    AddUnnamed();
    return {};
  }

 private:
  bool ForAllNodes(const ConfLine& line) const { return line.Find("NodeName") == nullptr; }
  bool IsOurs(const std::string& node) const { return ours_.count(node) != 0; }

  Result<std::vector<std::string>> NodesOfLine(const ConfLine& line) const {
    if (ForAllNodes(line)) return all_;
    return ExpandHosts(line.ValueOf("NodeName"));
  }

  void NoteAutoDetect(const ConfLine& line, const std::vector<std::string>& nodes) {
    const ConfWord* word = line.Find("AutoDetect");
    if (word == nullptr) return;
    const bool on = !SameConfWord(word->value, "off");
    if (ForAllNodes(line)) {
      detect_all_ = on;
    } else {
      for (const std::string& node : nodes) detect_[node] = on;
    }
  }
  bool Detected(const std::string& node) const {
    const auto own = detect_.find(node);
    return own == detect_.end() ? detect_all_ : own->second;
  }

  Result<void> TakeDevices(std::size_t i) {
    const ConfLine& line = gres_.lines[i];
    const std::string name = LowerConf(line.ValueOf("Name"));
    if (name != "gpu" && name != "shard" && name != "mps") return {};
    const bool mine = std::any_of(nodes_[i].begin(), nodes_[i].end(),
                                  [&](const std::string& node) { return IsOurs(node); });
    if (!mine) return {};
    if (name != "gpu") {
      return FailedError(
          "{}: {} of the site's own for nodes of the partition; take them out of slurm.conf and "
          "gres.conf first",
          line.Place(), name);
    }
    if (line.Find("MultipleFiles") != nullptr) {
      return FailedError(
          "{}: MultipleFiles is a part of a GPU (MIG), which cannot be shared; leave "
          "these nodes out of the partition",
          line.Place());
    }
    const ConfWord* file = line.Find("File");
    if (file == nullptr) {
      const bool found = std::all_of(nodes_[i].begin(), nodes_[i].end(), [&](const std::string& n) {
        return !IsOurs(n) || Detected(n);
      });
      if (found) return {};
      return FailedError("{}: it names no File, which shards need; write File=/dev/nvidia[0-N]",
                         line.Place());
    }
    const auto files = ExpandHosts(file->value);
    if (!files) return FailedError("{}: {}", line.Place(), files.error().message);
    for (const std::string& node : nodes_[i]) {
      if (!IsOurs(node)) continue;
      for (const std::string& one : *files) devices_[node].push_back({one, i});
    }
    return {};
  }

  // A node's devices in the order of their numbers: g0 is the first.
  Result<void> SettleDevices(const std::string& node, int count) {
    std::vector<GpuDevice>& devices = devices_[node];
    if (devices.empty()) {
      for (int i = 0; i < count; ++i) {
        devices.push_back({fmt::format("/dev/nvidia{}", i), std::nullopt});
      }
      unnamed_.push_back(node);
      return {};
    }
    if (static_cast<int>(devices.size()) != count) {
      return FailedError(
          "{}: node {} has {} GPUs in slurm.conf and {} files here; make both say "
          "the same first",
          gres_.lines[*devices.front().line].Place(), core::Quoted(node), count, devices.size());
    }
    std::set<std::string> seen;
    for (const GpuDevice& device : devices) {
      if (!seen.insert(device.file).second) {
        return FailedError("{}: node {} has {} a second time", gres_.lines[*device.line].Place(),
                           core::Quoted(node), device.file);
      }
    }
    if (std::all_of(devices.begin(), devices.end(),
                    [](const GpuDevice& one) { return NumberAtEnd(one.file) >= 0; })) {
      std::stable_sort(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
        return NumberAtEnd(a.file) < NumberAtEnd(b.file);
      });
    }
    return {};
  }

  // The lines of these nodes for the devices that line `i` names; all have the same there.
  std::vector<std::string> SlotLines(const std::vector<std::string>& nodes,
                                     std::optional<std::size_t> i) {
    const std::vector<GpuDevice>& devices = devices_[nodes.front()];
    const std::string host = HostList(nodes);
    std::string kept;
    if (i) {
      const ConfLine& line = gres_.lines[*i];
      const std::string& text = gres_.files.at(line.file);
      for (const ConfWord& word : line.words) {
        const auto own = std::find(kOwnGresWords.begin(), kOwnGresWords.end(), LowerConf(word.key));
        if (own != kOwnGresWords.end()) continue;
        kept += fmt::format(" {}={}", word.key,
                            text.substr(word.value_begin, word.end - word.value_begin));
      }
    }
    const char* off = Detected(nodes.front()) ? "AutoDetect=off " : "";
    std::vector<std::string> gpus, shards;
    for (std::size_t slot = 0; slot < devices.size(); ++slot) {
      if (devices[slot].line != i) continue;
      const std::string& file = devices[slot].file;
      gpus.push_back(
          fmt::format("NodeName={} {}Name=gpu Type=g{} File={}{}", host, off, slot, file, kept));
      shards.push_back(
          fmt::format("NodeName={} Name=shard Type=g{} Count=100 File={}", host, slot, file));
    }
    gpus.insert(gpus.end(), shards.begin(), shards.end());
    return gpus;
  }

  // Nodes whose devices and slots are the same, in order.
  std::vector<std::vector<std::string>> Alike(const std::vector<std::string>& nodes) {
    std::vector<std::vector<std::string>> out;
    for (const std::string& node : nodes) {
      const auto same = std::find_if(out.begin(), out.end(), [&](const auto& group) {
        const auto &a = devices_[group.front()], &b = devices_[node];
        return Detected(group.front()) == Detected(node) &&
               std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](const GpuDevice& x, const GpuDevice& y) {
                            return x.file == y.file && x.line == y.line;
                          });
      });
      if (same == out.end()) {
        out.push_back({node});
      } else {
        same->push_back(node);
      }
    }
    return out;
  }

  void ReplaceLine(std::size_t i) {
    const ConfLine& line = gres_.lines[i];
    const bool gpu = SameConfWord(line.ValueOf("Name"), "gpu");
    // AutoDetect for named nodes, whatever else the line has, goes from ours.
    const bool detects = line.Find("AutoDetect") != nullptr && line.Find("Name") == nullptr &&
                         !ForAllNodes(line) && !SameConfWord(line.ValueOf("AutoDetect"), "off");
    if (!gpu && !detects) return;
    std::vector<std::string> mine, others;
    for (const std::string& node : nodes_[i]) (IsOurs(node) ? mine : others).push_back(node);
    if (mine.empty()) return;
    std::vector<std::string> lines;
    if (gpu && line.Find("File") != nullptr) {
      for (const auto& group : Alike(mine)) {
        for (std::string& one : SlotLines(group, i)) lines.push_back(std::move(one));
      }
    }
    change_.Note(line.Place(), gpu ? "one line a GPU with the slot's name, and one with its shards"
                                   : "AutoDetect finds GPUs, and no slots; these nodes get lines");
    const std::size_t first = line.words.front().begin, last = line.words.back().end;
    if (!others.empty()) {
      // AutoDetect of the whole cluster stays on such a line.
      if (const ConfWord* name = line.Find("NodeName")) {
        change_.Edit(line, {name->value_begin, name->end, HostList(others)});
      } else {
        change_.Edit(line, {first, first, fmt::format("NodeName={} ", HostList(others))});
      }
      std::string text;
      for (const std::string& one : lines) text += one + "\n";
      if (!text.empty()) change_.AddLines(line.file, line.end, text);
    } else if (!lines.empty()) {
      change_.Edit(line, {first, last, fmt::format("{}", fmt::join(lines, "\n"))});
    } else {
      // On one line: a comment that goes on behind a `\` does not.
      change_.Edit(line, {first, last, "# " + CopyOfLine(gres_, line, {})});
    }
  }

  // Nodes that no line names a file of: as the driver names its devices.
  void AddUnnamed() {
    if (unnamed_.empty()) return;
    std::string text;
    for (const auto& group : Alike(unnamed_)) {
      for (const std::string& one : SlotLines(group, std::nullopt)) text += one + "\n";
    }
    change_.AddLines(gres_.top, gres_.files.at(gres_.top).size(), text);
    const std::string names = HostList(unnamed_);
    change_.Note(gres_.top,
                 fmt::format("{}: no file of theirs was named here; /dev/nvidia0 and so "
                             "on are the driver's names. Look at `ls /dev/nvidia*` there",
                             names));
    if (std::any_of(unnamed_.begin(), unnamed_.end(),
                    [&](const std::string& node) { return Detected(node); })) {
      change_.Note(gres_.top, fmt::format("{}: AutoDetect found the cores beside each GPU too; add "
                                          "Cores=... by hand (nvidia-smi topo -m)",
                                          names));
    }
  }

  const ConfText& gres_;
  const std::map<std::string, int>& ours_;
  const std::vector<std::string>& all_;
  SiteChange& change_;
  std::vector<std::vector<std::string>> nodes_;  // of each line
  std::map<std::string, std::vector<GpuDevice>> devices_;
  std::map<std::string, bool> detect_;
  bool detect_all_ = false;
  std::vector<std::string> unnamed_;
};

}  // namespace

Result<void> ChangeGresConf(const ConfText& gres, const std::map<std::string, int>& ours,
                            const std::vector<std::string>& all_gpu_nodes, SiteChange& change) {
  return GresChanger(gres, ours, all_gpu_nodes, change).Change();
}

}  // namespace sharewell::engine
