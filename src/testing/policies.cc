#include "testing/policies.h"

#include <algorithm>

#include "core/result.h"
#include "policy/registry.h"

namespace sharewell::fixtures {

std::vector<std::string> EveryPolicy() {
  std::vector<std::string> names;
  for (const auto& entry : policy::Entries()) names.emplace_back(entry.name);
  names.insert(names.end(), {"srtf+pack+slim", "las+complement", "fair+pack+slim", "sjf+match",
                             "drain+share+slim", "srsf+reactive", "srtf+share", "gain+pack",
                             "las+slim", "decreasing+complement+slim", "fair+share",
                             "fair+drain+share+slim", "fair+sjf+complement"});
  // "slot" is both a policy and a placement: the policy's meaning comes first.
  std::vector<std::string> once;
  for (auto& name : names) {
    if (std::find(once.begin(), once.end(), name) == once.end()) once.push_back(std::move(name));
  }
  return once;
}

std::vector<std::string> NonPreemptingPolicies() {
  std::vector<std::string> names = EveryPolicy();
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("srtf") || name.starts_with("srsf") || name.starts_with("las");
  });
  return names;
}

bool GivesCoresAsAsked(const std::string& policy) {
  return policy != "sharewell" && policy.find("slim") == std::string::npos;
}

std::unique_ptr<policy::Policy> MakePolicy(const std::string& text,
                                           const policy::Options& options) {
  auto policy = policy::NewPolicy(text, options);
  SHAREWELL_CHECK(policy.has_value());
  return *std::move(policy);
}

}  // namespace sharewell::fixtures
