#include "control/service/view/wait_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/text/words.h"

namespace sharewell::control {
namespace {

namespace reason = core::reason;

constexpr std::size_t kMostNamed = 3;

}  // namespace

WaitWords::WaitWords(const core::Snapshot& snapshot, const core::Plan& plan, const LiveJobs& live,
                     const GpuTable& gpus)
    : snapshot_(snapshot), live_(live), gpus_(gpus) {
  std::map<core::JobId, core::Allocation> has;
  for (const core::JobId id : snapshot.running()) has[id] = snapshot.job(id).allocation;
  for (const auto& stop : plan.stops) has.erase(stop.job);
  for (const auto& move : plan.moves) has[move.job] = move.to;
  for (const auto& resize : plan.resizes) has[resize.job].cores = resize.cores;
  for (const auto& start : plan.starts) has[start.job] = start.to;
  for (const auto& [id, where] : has) Count(id, where);
}

void WaitWords::Count(core::JobId id, const core::Allocation& where) {
  if (live_.Find(id) == nullptr) return;  // it keeps an unusable GPU from being used
  const core::Cluster& cluster = snapshot_.cluster();
  std::set<core::NodeId> nodes;
  if (where.gpus.empty() && where.node.valid()) nodes.insert(where.node);
  for (const core::GpuId gpu : where.gpus) {
    on_[gpu].push_back(id);
    nodes.insert(cluster.NodeOf(gpu));
  }
  for (const core::NodeId node : nodes) {
    const double cores = core::Snapshot::CoresOn(cluster, where, node);
    if (cores > 0) cores_[node].emplace_back(cores, id);
  }
  core::Snapshot::EachNode(cluster, where, [&](core::NodeId node, int gpus) {
    const core::Bytes held = HostMemoryOn(cluster.node(node), snapshot_.job(id), gpus);
    if (held > core::Bytes(0)) memory_[node].emplace_back(held.value, id);
  });
}

std::string WaitWords::Named(core::JobId id) const {
  const LiveJob* job = live_.Find(id);
  if (job == nullptr) return {};
  return fmt::format("job {} of {}", job->record.number, job->record.user.name);
}

std::string WaitWords::Held(const Holders& by_node, core::NodeId node,
                            const std::function<std::string(double)>& amount) const {
  const auto found = by_node.find(node);
  if (found == by_node.end()) return {};
  auto holders = found->second;
  std::sort(holders.begin(), holders.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::string text;
  if (snapshot_.cluster().nodes().size() > 1) {
    text = fmt::format("on {} ", snapshot_.cluster().node(node).name);
  }
  for (std::size_t i = 0; i < std::min(holders.size(), kMostNamed); ++i) {
    text += fmt::format("{}{} has {}", i == 0 ? "" : ", ", Named(holders[i].second),
                        amount(holders[i].first));
  }
  if (holders.size() <= kMostNamed) return text;
  double rest = 0;
  for (std::size_t i = kMostNamed; i < holders.size(); ++i) rest += holders[i].first;
  const std::size_t others = holders.size() - kMostNamed;
  return text +
         fmt::format(", {} {}", core::Count(others, "other has", "others have"), amount(rest));
}

const std::string& WaitWords::WhoHasCores(core::NodeId node) {
  const auto [said, fresh] = cores_said_.try_emplace(node);
  if (fresh) {
    said->second = Held(cores_, node, [](double cores) { return fmt::format("{:g}", cores); });
  }
  return said->second;
}

const std::string& WaitWords::WhoHasMemory(core::NodeId node) {
  const auto [said, fresh] = memory_said_.try_emplace(node);
  if (fresh) {
    said->second =
        Held(memory_, node, [](double bytes) { return core::SizeText(core::Bytes(bytes)); });
  }
  return said->second;
}

std::string WaitWords::OnGpu(core::GpuId gpu) const {
  const auto found = on_.find(gpu);
  if (found == on_.end()) return {};
  std::string text = fmt::format("GPU {} has ", core::NameOf(gpus_.gpu(gpu)));
  for (std::size_t i = 0; i < found->second.size(); ++i) {
    text += (i == 0 ? "" : " and ") + Named(found->second[i]);
  }
  return text;
}

std::string WaitWords::GpusTaken() const {
  std::string text;
  std::size_t said = 0;
  for (const auto& [gpu, jobs] : on_) {
    if (said++ < kMostNamed) text += (text.empty() ? "" : ", ") + OnGpu(gpu);
  }
  if (said > kMostNamed) {
    text += fmt::format(", {} others", core::Count(said - kMostNamed, "GPU has", "GPUs have"));
  }
  return text;
}

std::string WhyNotShared(const core::Reason& reason, const core::Cluster& cluster,
                         const std::map<core::NodeId, std::string>& why) {
  const bool lacks_gpu = std::holds_alternative<reason::NoIdleGpu>(reason) ||
                         std::holds_alternative<reason::NoRoom>(reason) ||
                         std::holds_alternative<reason::NoGoodNeighbour>(reason) ||
                         std::holds_alternative<reason::NoPlaceForGuest>(reason) ||
                         std::holds_alternative<reason::NoMemory>(reason);
  if (!lacks_gpu || why.empty()) return {};
  const auto& [node, words] = *why.begin();
  std::string text = fmt::format("; node {}: {}", cluster.node(node).name, words);
  if (why.size() > 1) {
    text += fmt::format("; the same holds for {}",
                        core::Count(why.size() - 1, "other node", "other nodes"));
  }
  return text;
}

std::string WaitWords::Of(const core::Reason& reason) {
  std::string other = live_.NameOf(core::OtherJob(reason));
  if (const auto* cores = std::get_if<reason::NoCores>(&reason)) {
    other = WhoHasCores(cores->where);
  } else if (const auto* memory = std::get_if<reason::NoHostMemory>(&reason)) {
    other = WhoHasMemory(memory->where);
  } else if (const auto* beside = std::get_if<reason::NoMemory>(&reason)) {
    other = OnGpu(beside->where);
  } else if (const auto* gpus = std::get_if<reason::NoIdleGpu>(&reason)) {
    if (gpus->idle < gpus->wanted) other = GpusTaken();
  } else if (std::holds_alternative<reason::NoPlaceForGuest>(reason)) {
    other = GpusTaken();
  }
  std::string words = core::InWords(reason, other);
  if (const auto* others = std::get_if<reason::OthersStay>(&reason)) {
    const LiveJob* stays = live_.Find(others->who);
    if (stays != nullptr && !stays->record.note.empty()) words += ": " + stays->record.note;
  }
  return words + gpus_.UnusableText();
}

}  // namespace sharewell::control
