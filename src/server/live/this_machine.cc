#include "server/live/this_machine.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "collect/environment.h"
#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/suggest.h"
#include "platform/files/text.h"
#include "platform/process/cpu_set.h"

namespace sharewell::server {
namespace {

using core::GpuModel;

constexpr int kMostDeclared = 1024;
constexpr double kCoresASimulatedGpu = 16;
constexpr core::Bytes kMemoryASimulatedGpu = core::GiB(64);
constexpr core::Ratio kForJobs = 0.95;  // of the host's memory; the system has the rest
constexpr std::size_t kLongestName = 100;
constexpr double kMigParts = 7;  // a whole GPU is 7g

// One GPU, before it has its place among those of its model.
struct FoundGpu {
  GpuModel model;
  control::GpuView view;
  std::string instance;
  collect::GpuFacts card;  // what it is, or is a part of
};

// "1g.18gb" has one of seven parts of the SMs; of memory and its bandwidth, what it has of memory.
GpuModel SliceOf(const GpuModel& card, const collect::MigFacts& mig, core::Bytes card_memory) {
  int parts = 0;
  const auto g = mig.kind.find('g');
  const auto from = g == std::string::npos ? g : mig.kind.find_last_not_of("0123456789", g - 1) + 1;
  if (from != std::string::npos) {
    std::from_chars(mig.kind.data() + from, mig.kind.data() + g, parts);
  }
  const core::Ratio memory =
      card_memory > core::Bytes(0) ? std::min(1.0, mig.memory / card_memory) : 1;
  const core::Ratio sms = parts > 0 ? std::min(1.0, parts / kMigParts) : memory;
  const auto scaled = [&](std::optional<double> value) {
    return value ? std::optional(*value * sms) : std::nullopt;
  };
  GpuModel slice = card;
  slice.name = card.name + " " + (mig.kind.empty() ? "MIG" : mig.kind);
  slice.aliases.clear();
  slice.memory = mig.memory;
  slice.bandwidth = card.bandwidth * memory;
  slice.fp32_tflops = card.fp32_tflops * sms;
  slice.tf32_tflops = scaled(card.tf32_tflops);
  slice.fp16_tflops = scaled(card.fp16_tflops);
  slice.bf16_tflops = scaled(card.bf16_tflops);
  slice.sms = std::max(1, static_cast<int>(card.sms * sms));
  if (card.power_limit) slice.power_limit = *card.power_limit * sms;
  if (card.idle_power) slice.idle_power = *card.idle_power * sms;
  return slice;
}

class MachineBuilder {
 public:
  MachineBuilder(const HostFacts& host, const catalogue::GpuCatalogue& catalogue)
      : host_(host), catalogue_(catalogue) {}

  core::Result<void> Declare(const std::string& text) {
    constexpr const char* kHelp = "write COUNTxMODEL, as in 2xH200 or 2xH200,1xA100, or none";
    for (std::string_view rest = text; !rest.empty();) {
      const auto comma = rest.find(',');
      const std::string_view part = platform::Trimmed(rest.substr(0, comma));
      rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
      int count = 0;
      const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), count);
      const auto x = static_cast<std::size_t>(end - part.data());
      if (code != std::errc() || x == 0 || x + 1 >= part.size() ||
          (part[x] != 'x' && part[x] != 'X')) {
        return core::UsageError("GPUs {}: {} cannot be read; {}", core::Quoted(text),
                                core::Quoted(part), kHelp);
      }
      if (count < 1 || count > kMostDeclared - static_cast<int>(found_.size())) {
        return core::UsageError("GPUs {}: there may be 1 to {} of them; {}", core::Quoted(text),
                                kMostDeclared, kHelp);
      }
      const auto model = catalogue_.Find(part.substr(x + 1));
      if (!model) return Unknown(text, part.substr(x + 1));
      for (int i = 0; i < count; ++i) {
        FoundGpu gpu;
        gpu.model = *model;
        gpu.view.gpu = {static_cast<int>(found_.size()), fmt::format("simulated-{}", found_.size()),
                        model->name};
        gpu.view.memory = model->memory;
        gpu.view.simulated = true;
        found_.push_back(std::move(gpu));
      }
    }
    const bool one = found_.size() == 1;
    out_.remarks.push_back(
        fmt::format("{} simulated GPU{}: jobs are real processes, the GPU{} not there",
                    found_.size(), one ? "" : "s", one ? " is" : "s are"));
    const double wanted = kCoresASimulatedGpu * static_cast<double>(found_.size());
    if (host_.cores > 0 && host_.cores < wanted) {
      out_.simulated_cores = true;
      out_.remarks.push_back(fmt::format(
          "{:g} simulated CPU cores, {:g} for each GPU: this machine has {:g}, which all "
          "jobs share; no job is kept to CPUs of its own",
          wanted, kCoresASimulatedGpu, host_.cores));
      host_.cores = wanted;
    }
    const core::Bytes memory = kMemoryASimulatedGpu * static_cast<double>(found_.size());
    if (host_.memory > core::Bytes(0) && host_.memory * kForJobs < memory) {
      out_.remarks.push_back(fmt::format(
          "{:g} GiB of simulated host memory, {:g} for each GPU: this machine has {:.3g}",
          memory / core::GiB(1), kMemoryASimulatedGpu / core::GiB(1), host_.memory / core::GiB(1)));
      host_.memory = memory / kForJobs;
    }
    return {};
  }

  void Find(const std::vector<collect::GpuFacts>& gpus) {
    const bool any_mig =
        std::any_of(gpus.begin(), gpus.end(), [](const auto& gpu) { return gpu.mig; });
    for (const collect::GpuFacts& gpu : gpus) {
      if (gpu.name.empty() || gpu.uuid.empty()) {
        out_.remarks.push_back(fmt::format(
            "GPU {} does not answer and is left out; see `sharewell doctor`", gpu.index));
        continue;
      }
      const GpuModel card = CardOf(gpu);
      if (gpu.mig && gpu.migs.empty()) {
        out_.remarks.push_back(
            fmt::format("GPU {} is in MIG mode and has no instance, so nothing can run on it; make "
                        "some with `nvidia-smi mig -cgi ... -C`, or switch MIG off",
                        gpu.index));
      }
      if (!gpu.mig) {
        Add(gpu, card, gpu.uuid, card.memory, fmt::format("{}", gpu.index),
            any_mig ? static_cast<int>(found_.size()) : gpu.index);
      }
      for (const collect::MigFacts& mig : gpu.migs) {
        Add(gpu, SliceOf(card, mig, gpu.memory), mig.uuid, mig.memory,
            fmt::format("{}:{}", gpu.index, mig.id), static_cast<int>(found_.size()));
      }
    }
    if (any_mig) {
      out_.remarks.push_back("MIG instances are used as GPUs of their size, and are never changed");
    }
  }

  MachineHere Build() && {
    std::vector<GpuModel> models;
    std::map<std::string, std::vector<const FoundGpu*>> by_model;
    for (const FoundGpu& gpu : found_) {
      auto& same = by_model[gpu.model.name];
      if (same.empty()) models.push_back(gpu.model);
      same.push_back(&gpu);
    }
    std::vector<core::Node> nodes;
    for (std::size_t m = 0; m < models.size(); ++m) {
      const auto& same = by_model[models[m].name];
      const core::Ratio part =
          static_cast<double>(same.size()) / static_cast<double>(found_.size());
      core::Node node = HostNode(part);
      if (models.size() > 1) node.name += fmt::format(" ({})", models[m].name);
      node.model = core::GpuModelId(m);
      node.gpus = static_cast<int>(same.size());
      node.pcie = PcieOf(same);
      std::vector<collect::GpuFacts> cards;
      for (const FoundGpu* gpu : same) cards.push_back(gpu->card);
      node.islands = collect::IslandsOf(cards);
      nodes.push_back(std::move(node));
      for (const FoundGpu* gpu : same) {
        out_.gpus.push_back(gpu->view);
        out_.instances.push_back(gpu->instance);
        out_.pci_buses.push_back(gpu->card.pci_bus);
      }
    }
    if (nodes.empty()) nodes.push_back(HostNode(1));
    if (models.size() > 1) {
      out_.remarks.push_back(
          fmt::format("{} GPU models: the host's cores are shared out over them by their number of "
                      "GPUs",
                      models.size()));
    }
    out_.cluster = core::Cluster(std::move(models), std::move(nodes));
    return std::move(out_);
  }

 private:
  // Of the cards together; parts of one card share its link. Absent where one is not known.
  static std::optional<core::BytesPerSecond> PcieOf(const std::vector<const FoundGpu*>& gpus) {
    std::map<std::string, core::BytesPerSecond> by_card;
    for (const FoundGpu* gpu : gpus) {
      if (!gpu->card.pcie || gpu->card.pci_bus.empty()) return std::nullopt;
      by_card[gpu->card.pci_bus] = *gpu->card.pcie;
    }
    core::BytesPerSecond sum;
    for (const auto& [bus, rate] : by_card) sum += rate;
    return sum;
  }

  // The models that there are, nearest by name first. `serve` takes no catalogue of its own.
  tl::unexpected<core::Error> Unknown(const std::string& text, std::string_view name) const {
    std::vector<std::string> known;
    for (const GpuModel& model : catalogue_.models()) known.push_back(model.name);
    const std::string wanted = core::LowerCase(name.substr(0, kLongestName));
    std::stable_sort(known.begin(), known.end(), [&](const auto& a, const auto& b) {
      return core::EditDistance(wanted, core::LowerCase(a)) <
             core::EditDistance(wanted, core::LowerCase(b));
    });
    return core::UsageError("GPUs {}: unknown GPU model {}; the models are {}", core::Quoted(text),
                            core::Quoted(name), fmt::join(known, ", "));
  }

  core::Node HostNode(core::Ratio part) const {
    core::Node node;
    node.name = host_.name;
    if (host_.cores > 0)
      node.cores = part < 1 ? std::max(1.0, std::floor(host_.cores * part)) : host_.cores;
    if (host_.memory > core::Bytes(0))
      node.memory = core::Bytes(std::floor(host_.memory.value * kForJobs * part));
    return node;
  }

  // Of a model that nobody told us of, its own memory and the rest of the nearest one by memory.
  GpuModel CardOf(const collect::GpuFacts& gpu) {
    auto known = catalogue_.Find(gpu.name);
    GpuModel model;
    if (known) {
      model = *std::move(known);
    } else {
      const auto& all = catalogue_.models();
      const auto distance = [&](const GpuModel& other) {
        return std::abs(other.memory.value - gpu.memory.value);
      };
      const auto nearest =
          std::min_element(all.begin(), all.end(),
                           [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
      if (nearest != all.end()) model = *nearest;
      const std::string like = model.name;
      model.name = gpu.name;
      model.aliases.clear();
      if (said_.insert(gpu.name).second) {
        out_.remarks.push_back(
            fmt::format("GPU {}: the catalogue does not know {}; taken to be as fast as {}",
                        gpu.index, core::Quoted(gpu.name), like));
      }
    }
    // What is really there: a card may have less than its model's data sheet says.
    if (gpu.memory > core::Bytes(0)) model.memory = gpu.memory;
    if (gpu.power_limit) model.power_limit = gpu.power_limit;
    return model;
  }

  void Add(const collect::GpuFacts& card, const GpuModel& model, const std::string& uuid,
           core::Bytes memory, std::string instance, int index) {
    FoundGpu gpu;
    gpu.model = model;
    gpu.view.gpu = {index, uuid, model.name};
    gpu.view.memory = memory;
    gpu.instance = std::move(instance);
    gpu.card = card;
    found_.push_back(std::move(gpu));
  }

  HostFacts host_;
  const catalogue::GpuCatalogue& catalogue_;
  std::vector<FoundGpu> found_;
  std::set<std::string> said_;
  MachineHere out_;
};

}  // namespace

core::Result<MachineHere> MachineOf(const HostFacts& host, const std::string& declared,
                                    const std::vector<collect::GpuFacts>& found,
                                    const catalogue::GpuCatalogue& catalogue) {
  MachineBuilder builder(host, catalogue);
  if (!declared.empty() && declared != "none") {
    RETURN_IF_ERROR(builder.Declare(declared));
  } else if (declared.empty()) {
    builder.Find(found);
  }
  return std::move(builder).Build();
}

core::Result<MachineHere> FindMachine(const MachineOptions& options,
                                      const catalogue::GpuCatalogue& catalogue) {
  HostFacts host;
  char name[256] = {};
  host.name = ::gethostname(name, sizeof(name) - 1) == 0 && name[0] != '\0' ? name : "this machine";
  host.cores = static_cast<double>(platform::AllowedCpus().size());
  for (const auto& [fact, value] : collect::MachineFacts("/", "")) {
    double limit = 0;
    if (fact == "cpu limit" &&
        std::from_chars(value.data(), value.data() + value.size(), limit).ec == std::errc()) {
      host.cores = std::min(host.cores, limit);
    }
  }
  host.memory = core::Bytes(static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                            static_cast<double>(::sysconf(_SC_PAGESIZE)));
  core::Result<std::vector<collect::GpuFacts>> found;
  if (options.gpus.empty()) found = collect::FindGpus(options.nvml_library);
  auto machine =
      MachineOf(host, options.gpus, found.value_or(std::vector<collect::GpuFacts>()), catalogue);
  if (!machine) return machine;
  if (!found) machine->remarks.push_back("no GPU: " + found.error().message);
  if (machine->gpus.empty()) {
    machine->remarks.push_back(
        "CPU-only jobs alone can run here; --gpus 2xH200 declares simulated GPUs to try the rest");
  }
  return machine;
}

}  // namespace sharewell::server
