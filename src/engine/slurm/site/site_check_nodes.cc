// Nodes, their slots and their devices.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "engine/slurm/read/slurm_read.h"
#include "engine/slurm/site/site_change.h"
#include "engine/slurm/site/site_check.h"

namespace sharewell::engine {
namespace {

bool IsInState(const SlurmNode& node, std::string_view state) {
  return std::any_of(node.states.begin(), node.states.end(),
                     [&](const std::string& one) { return one.starts_with(state); });
}

class NodeChecker {
 public:
  NodeChecker(const SlurmSite& site, const KnowsModel& knows_model)
      : site_(site), knows_model_(knows_model) {}

  std::vector<SiteFinding> Check() {
    if (site_.reached) {
      CheckSlots();
      CheckStates();
      CheckConf();
    }
    CheckDevices();
    return std::move(findings_);
  }

 private:
  void Add(SiteState state, std::string name, std::string what, std::string mend) {
    findings_.push_back({state, std::move(name), std::move(what), std::move(mend)});
  }
  void Good(std::string name, std::string what) {
    Add(SiteState::kGood, std::move(name), std::move(what), "");
  }

  // Drained, down, or refused: no job starts there.
  void CheckStates() {
    std::size_t with_gpus = 0, usable = 0;
    for (const SlurmNode& node : site_.nodes) {
      const auto found = site_.gpus.find(node.name);
      const bool gpus = found != site_.gpus.end() && found->second > 0;
      const bool refused = IsInState(node, "INVAL");
      const bool drained = IsInState(node, "DRAIN"), down = IsInState(node, "DOWN");
      with_gpus += gpus ? 1 : 0;
      if (!refused && !drained && !down) {
        usable += gpus ? 1 : 0;
        continue;
      }
      const std::string name = "node " + node.name;
      const std::string resume = "scontrol update NodeName=" + node.name + " State=RESUME";
      const std::string reason = node.reason.empty() ? "no reason is given" : node.reason;
      if (refused || LowerConf(node.reason).find("gres/") != std::string::npos) {
        Add(SiteState::kWrong, name,
            fmt::format("Slurm {} it: {}", refused ? "refuses" : "drained", reason),
            "make gres.conf and the Gres= of its NodeName line say the same there, then " +
                std::string(kRestartOrder) + (drained ? "; " + resume : ""));
      } else {
        Add(SiteState::kNote, name,
            fmt::format("it is {}, no job starts there: {}", drained ? "drained" : "down", reason),
            drained ? resume : "systemctl status slurmd, on " + node.name);
      }
    }
    if (with_gpus > 0 && usable == 0) {
      Add(SiteState::kWrong, "nodes", "no node with GPUs takes jobs now",
          "sinfo -R says why; scontrol update NodeName=... State=RESUME");
    }
  }

  // slurm.conf and what slurmctld has read of it.
  void CheckConf() {
    if (!site_.conf_there()) return;
    const auto conf = NodesOfConf(site_.slurm);
    if (!conf) {
      Add(SiteState::kWrong, "slurm.conf", conf.error().message,
          "mend that line; until then `sharewell slurm install` changes nothing");
      return;
    }
    std::vector<std::string> older;
    for (const SlurmNode& node : site_.nodes) {
      const ConfNodeLine* line = conf->LineOf(node.name);
      if (line == nullptr) continue;
      const auto gpus = GpusOfGres(line->gres);
      if (!gpus) {
        Add(SiteState::kWrong, "node " + node.name,
            fmt::format("{}: {}", site_.slurm.lines[line->line].Place(), gpus.error().message),
            "mend that line; until then `sharewell slurm install` changes nothing");
      } else if (gpus->slots == node.slots.empty() && (gpus->slots || gpus->count > 0)) {
        older.push_back(node.name);
      }
    }
    if (!older.empty()) {
      Add(SiteState::kWrong, "restart",
          fmt::format("slurm.conf has other GPUs for {} than slurmctld, which reads them at its "
                      "start alone",
                      HostList(older)),
          std::string(kRestartOrder));
    }
  }

  void CheckSlots() {
    std::vector<std::string> plain, mixed, unnamed, odd, ready;
    for (const SlurmNode& node : site_.nodes) {
      const auto found = site_.gpus.find(node.name);
      const int gpus = found == site_.gpus.end() ? 0 : found->second;
      if (gpus == 0 && node.slots.empty()) continue;
      if (node.slots.empty()) {
        plain.push_back(node.name);
        continue;
      }
      if (node.other_gpus > 0) mixed.push_back(node.name);
      std::set<std::string> slots(node.slots.begin(), node.slots.end());
      for (std::size_t i = 0; i < node.slots.size(); ++i) {
        if (slots.count(fmt::format("g{}", i)) == 0) {
          odd.push_back(node.name);
          break;
        }
      }
      if (std::none_of(node.features.begin(), node.features.end(), knows_model_)) {
        unnamed.push_back(node.name);
      }
      ready.push_back(node.name);
    }
    const auto list = [](const std::vector<std::string>& names) {
      return fmt::format("{}", fmt::join(names, ","));
    };
    if (ready.empty() && plain.empty()) {
      Add(SiteState::kMissing, "shards", "no node of the partition has a GPU that Slurm knows",
          "write Gres=gpu:N to the NodeName lines in slurm.conf, then " + InstallCommand(site_));
    } else if (ready.empty()) {
      Add(SiteState::kMissing, "shards",
          "no node has slots (typed GPUs with 100 shards each): there is nothing to place jobs on",
          InstallCommand(site_) + " writes the lines of slurm.conf and gres.conf");
    } else {
      Good("shards", fmt::format("slots on {}", list(ready)));
      if (!plain.empty()) {
        Add(SiteState::kNote, "shards",
            fmt::format("no slots on {}: plain Slurm alone uses these GPUs", list(plain)),
            InstallCommand(site_) + " writes the lines for them too");
      }
    }
    if (!mixed.empty()) {
      Add(SiteState::kWrong, "slots",
          fmt::format("on {} some GPUs have shards and others have none", list(mixed)),
          "give every GPU of the node a type g0, g1, ... and 100 shards, in slurm.conf and "
          "gres.conf");
    }
    if (!odd.empty()) {
      Add(SiteState::kWrong, "slots",
          fmt::format("on {} slots are not named g0, g1, ...: a job that moves between nodes with "
                      "other names is never started again (BadConstraints)",
                      list(odd)),
          "name the types g0, g1, ... on every node, in slurm.conf and gres.conf");
    }
    if (!unnamed.empty()) {
      Add(SiteState::kMissing, "GPU model",
          fmt::format("no feature of {} names a GPU model (sharewell gpus lists them)",
                      list(unnamed)),
          fmt::format("write Feature=MODEL to its NodeName line, or for now: scontrol update "
                      "NodeName={} AvailableFeatures=MODEL",
                      unnamed.front()));
    }
  }

  void CheckDevices() {
    for (const GresLine& line : GresLinesOf(site_.gres)) {
      if (line.auto_detect && !line.type.empty()) continue;
      for (const std::string& file : line.files) {
        const auto found = site_.devices.find(file);
        const auto kind = found == site_.devices.end() ? DeviceKind::kUnknown : found->second;
        if (kind == DeviceKind::kOther) {
          Add(SiteState::kWrong, "device " + file,
              "gres.conf names it, and it is no character device: CUDA_VISIBLE_DEVICES would never "
              "be set",
              "write File=/dev/nvidia0 (with the GPU's number) into gres.conf and restart slurmd");
        } else if (kind == DeviceKind::kNull) {
          Add(SiteState::kWrong, "device " + file,
              "it is /dev/null under another name: with ConstrainDevices=yes jobs lose /dev/null",
              "name the GPU's own device in gres.conf");
        } else if (line.name == "gpu" && (file.back() < '0' || file.back() > '9')) {
          Add(SiteState::kWrong, "device " + file,
              "its name does not end in a number, which Slurm takes for the GPU's index",
              "write File=/dev/nvidia0 (with the GPU's number) into gres.conf and restart slurmd");
        }
      }
    }
  }

  const SlurmSite& site_;
  const KnowsModel& knows_model_;
  std::vector<SiteFinding> findings_;
};

}  // namespace

std::vector<GresLine> GresLinesOf(const ConfText& gres) {
  std::vector<GresLine> out;
  for (const ConfLine& line : gres.lines) {
    GresLine one;
    // A list that cannot be read is none: slurmd itself says what is wrong with it.
    one.nodes = ExpandHosts(line.ValueOf("NodeName")).value_or(std::vector<std::string>());
    one.files = ExpandHosts(line.ValueOf("File")).value_or(std::vector<std::string>());
    one.name = line.ValueOf("Name");
    one.type = line.ValueOf("Type");
    const ConfWord* detect = line.Find("AutoDetect");
    one.auto_detect = detect != nullptr && !SameConfWord(detect->value, "off");
    if (!one.name.empty() || detect != nullptr) out.push_back(std::move(one));
  }
  return out;
}

std::vector<SiteFinding> CheckSiteNodes(const SlurmSite& site, const KnowsModel& knows_model) {
  return NodeChecker(site, knows_model).Check();
}

}  // namespace sharewell::engine
