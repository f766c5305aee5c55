#include "engine/slurm/read/slurm_client.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/result.h"
#include "core/text/quoted.h"
#include "core/text/utf8.h"

namespace sharewell::engine {
namespace {

using core::Result;

constexpr std::size_t kMostSlurmWords = 400;  // of its complaints, in ours
constexpr std::size_t kMostIdsAtOnce = 1000;  // in one command line
constexpr std::chrono::seconds kAccountsAgain(60);

std::string SlurmWords(std::string_view text) {
  std::string words;
  for (const char c : text) words += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  while (!words.empty() && words.back() == ' ') words.pop_back();
  if (words.size() > kMostSlurmWords) words = words.substr(0, kMostSlurmWords) + " ...";
  return words;
}

// scontrol writes its prompt and what it was given back.
std::string WithoutPrompts(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    if (!text.substr(0, end).starts_with("scontrol: ")) out += text.substr(0, end);
    text.remove_prefix(end);
  }
  return out;
}

// What it complains of is that it does not have some of the jobs, and nothing else.
bool OnlyUnknownJobs(std::string_view errors) {
  while (!errors.empty()) {
    const std::size_t end = std::min(errors.find('\n'), errors.size());
    const std::string_view line = errors.substr(0, end);
    if (!line.empty() && line.find("Invalid job id") == std::string_view::npos) return false;
    errors.remove_prefix(std::min(end + 1, errors.size()));
  }
  return true;
}

// Slurm writes names as they are, and any user can name a job with bytes that are no text: these
// must not keep the others from being read.
std::string AsUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = core::CharacterLength(text);
    if (length == 0) {
      out += "?";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

class CommandClient final : public SlurmClient {
 public:
  CommandClient(SlurmDriver& driver, std::string partition, core::Seconds limit)
      : driver_(driver), partition_(std::move(partition)), limit_(limit) {}

  Result<std::vector<SlurmQueueLine>> Queue() override {
    const auto text = Ask(QueueCommand(partition_));
    RETURN_IF_ERROR(text);
    return ParseQueue(*text);
  }

  Result<std::vector<SlurmQueueLine>> QueueElsewhere() override {
    if (partition_.empty()) return std::vector<SlurmQueueLine>();
    auto words = QueueCommand("");
    words.emplace_back("--states=RUNNING,SUSPENDED,CONFIGURING,COMPLETING");
    const auto text = Ask(words);
    RETURN_IF_ERROR(text);
    auto lines = ParseQueue(*text);
    RETURN_IF_ERROR(lines);
    std::erase_if(*lines, [&](const SlurmQueueLine& line) { return line.partition == partition_; });
    return lines;
  }

  // Many are read as the whole queue, in one go: 22.05 prints all of it whatever is asked.
  Result<std::vector<SlurmJob>> Jobs(const std::vector<std::int64_t>& ids) override {
    const bool all = ids.size() > kMostIdsAtOnce;
    const auto text = Ask(JobsCommand(all ? std::vector<std::int64_t>() : ids));
    RETURN_IF_ERROR(text);
    auto jobs = ParseJobs(*text);
    if (!jobs) jobs = ParseJobs(AsUtf8(*text));
    RETURN_IF_ERROR(jobs);
    const std::unordered_set<std::int64_t> asked(ids.begin(), ids.end());
    std::erase_if(*jobs,
                  [&](const SlurmJob& job) { return !ids.empty() && !asked.contains(job.id); });
    return jobs;
  }

  // A user's words may make a record ambiguous: such are read as JSON, where they cannot.
  Result<std::vector<SlurmJob>> Check(const std::vector<std::int64_t>& ids,
                                      const std::vector<std::string>& names) override {
    if (ids.empty()) return std::vector<SlurmJob>();
    if (ids.size() > kMostIdsAtOnce) return Jobs(ids);
    std::string input;
    for (const std::string& name : names) input += "show job " + name + "\n";
    const auto answer = driver_.Run({"scontrol", "-o", "-d"}, input + "quit\n", limit_);
    RETURN_IF_ERROR(answer);
    if (!OnlyUnknownJobs(answer->errors)) return Failed("scontrol show job", *answer);
    auto jobs = ParseShowJob(WithoutPrompts(answer->output));
    if (!jobs) return Jobs(ids);
    std::erase_if(*jobs, [&](const SlurmJob& job) {
      return std::find(ids.begin(), ids.end(), job.id) == ids.end();
    });
    return jobs;
  }

  Result<std::vector<SlurmNode>> Nodes() override {
    const auto text = Ask(NodesCommand());
    RETURN_IF_ERROR(text);
    auto nodes = ParseNodes(*text);
    RETURN_IF_ERROR(nodes);
    TakeExtras(*nodes);
    if (!partition_.empty()) {
      std::erase_if(*nodes, [&](const SlurmNode& node) {
        return std::find(node.partitions.begin(), node.partitions.end(), partition_) ==
               node.partitions.end();
      });
    }
    return nodes;
  }

  Result<std::vector<SlurmReservation>> Reservations() override {
    const auto text = Ask(ReservationsCommand());
    RETURN_IF_ERROR(text);
    return ParseReservations(*text);
  }

  Result<std::map<std::string, core::Seconds>> PartitionLimits() override {
    const auto text = Ask(PartitionsCommand());
    RETURN_IF_ERROR(text);
    return ParsePartitionLimits(*text);
  }

  SlurmShares Shares() override {
    SlurmShares shares;
    const auto fair = Ask(FairShareCommand());
    if (!fair || !ParseFairShare(*fair, shares)) return {};
    const auto qos = Ask(QosCommand());
    if (qos && !ParseQos(*qos, shares)) shares.qos.clear();
    return shares;
  }

  SlurmPreemption Preemption() override {
    const auto config = Ask({"scontrol", "show", "config"});
    if (!config || !PreemptsByQos(*config)) return {};
    const auto lists = Ask(PreemptCommand());
    if (!lists) return {};
    return ParsePreempt(*lists).value_or(SlurmPreemption());
  }

  Result<std::optional<SlurmJob>> Accounted(std::int64_t id) override {
    if (const auto found = accounted_.find(id); found != accounted_.end()) {
      auto answer = std::move(found->second);
      accounted_.erase(found);
      return answer;
    }
    const auto text = AskAccounts({id});
    RETURN_IF_ERROR(text);
    return ParseAccount(*text, id);
  }

  void AccountAll(const std::vector<std::int64_t>& ids) override {
    accounted_.clear();
    for (std::size_t begin = 0; begin < ids.size(); begin += kMostIdsAtOnce) {
      const auto first = ids.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last =
          first + static_cast<std::ptrdiff_t>(std::min(kMostIdsAtOnce, ids.size() - begin));
      const std::vector<std::int64_t> some(first, last);
      const auto text = AskAccounts(some);
      for (const std::int64_t id : some) {
        accounted_.emplace(
            id, text ? ParseAccount(*text, id)
                     : Result<std::optional<SlurmJob>>(tl::unexpected(core::Error(text.error()))));
      }
      if (!text) break;  // the others are asked for by the next look
    }
  }

  Result<std::string> Control(const std::vector<std::string>& lines) override {
    if (lines.empty()) return std::string();
    std::string input;
    for (const std::string& line : lines) input += line + "\n";
    const auto answer = driver_.Run({"scontrol"}, input + "quit\n", limit_);
    RETURN_IF_ERROR(answer);
    return SlurmWords(answer->errors);
  }

  Result<std::string> Cancel(const std::vector<std::string>& names) override {
    if (names.empty()) return std::string();
    std::vector<std::string> words = {"scancel"};
    words.insert(words.end(), names.begin(), names.end());
    const auto answer = driver_.Run(words, "", limit_);
    RETURN_IF_ERROR(answer);
    return SlurmWords(answer->errors);
  }

  std::map<std::string, std::string> NodeExtras() override { return extras_; }

  Result<std::string> Version() override {
    const auto text = Ask({"scontrol", "--version"});
    RETURN_IF_ERROR(text);
    return SlurmWords(*text);
  }

 private:
  void TakeExtras(const std::vector<SlurmNode>& nodes) {
    extras_.clear();
    const std::string* empty = nullptr;
    for (const SlurmNode& node : nodes) {
      if (!node.extra.empty() && node.extra != "(null)") {
        extras_[node.name] = node.extra;
      } else if (empty == nullptr || node.name < *empty) {
        empty = &node.name;
      }
    }
    if (empty != nullptr) extras_[*empty].clear();
  }

  // Empty: there is no accounting. Where there is none it is not asked for each job: a command
  // takes longer than all the rest.
  Result<std::string> AskAccounts(const std::vector<std::int64_t>& ids) {
    const auto now = std::chrono::steady_clock::now();
    if (no_accounts_ && now < *no_accounts_ + kAccountsAgain) return std::string();
    auto answer = driver_.Run(AccountCommand(ids), "", limit_);
    if (!answer && answer.error().kind == core::ErrorKind::kAbsent) return std::string();
    RETURN_IF_ERROR(answer);
    // "Slurm accounting storage is disabled"
    if (answer->errors.find("accounting storage is disabled") != std::string::npos) {
      no_accounts_ = now;
      return std::string();
    }
    if (answer->exit_code != 0) return Failed("sacct", *answer);
    return std::move(answer->output);
  }

  static tl::unexpected<core::Error> Failed(const std::string& what, const SlurmAnswer& answer) {
    const std::string words = SlurmWords(answer.errors.empty() ? answer.output : answer.errors);
    return core::FailedError("{} ended with exit code {}: {}", what, answer.exit_code,
                             words.empty() ? "it said nothing" : words);
  }

  Result<std::string> Ask(const std::vector<std::string>& words) {
    auto answer = driver_.Run(words, "", limit_);
    RETURN_IF_ERROR(answer);
    if (answer->exit_code != 0) return Failed(words.front(), *answer);
    return std::move(answer->output);
  }

  SlurmDriver& driver_;
  const std::string partition_;
  const core::Seconds limit_;
  std::optional<std::chrono::steady_clock::time_point> no_accounts_ = {};  // it said so then
  std::map<std::string, std::string> extras_ = {};
  std::map<std::int64_t, Result<std::optional<SlurmJob>>> accounted_ = {};  // and not taken yet
};

}  // namespace

std::unique_ptr<SlurmClient> NewSlurmClient(SlurmDriver& driver, std::string partition,
                                            core::Seconds limit) {
  return std::make_unique<CommandClient>(driver, std::move(partition), limit);
}

}  // namespace sharewell::engine
