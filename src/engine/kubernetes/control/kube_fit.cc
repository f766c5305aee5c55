#include "engine/kubernetes/control/kube_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

std::optional<std::int64_t> WholeIn(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool Holds(const KubeMatch& match, const KubeNode& node) {
  std::optional<std::string> value;
  if (match.field) {
    if (match.key == "metadata.name") value = node.name;
  } else if (const auto found = node.labels.find(match.key); found != node.labels.end()) {
    value = found->second;
  }
  const auto listed = [&] {
    return value &&
           std::find(match.values.begin(), match.values.end(), *value) != match.values.end();
  };
  if (match.op == "In") return listed();
  if (match.op == "NotIn") return !listed();
  if (match.op == "Exists") return value.has_value();
  if (match.op == "DoesNotExist") return !value.has_value();
  if ((match.op == "Gt" || match.op == "Lt") && value && match.values.size() == 1) {
    const auto has = WholeIn(*value), bound = WholeIn(match.values.front());
    if (!has || !bound) return false;
    return match.op == "Gt" ? *has > *bound : *has < *bound;
  }
  return false;  // an operator of a newer Kubernetes
}

bool Tolerates(const KubePod& pod, const KubeTaint& taint) {
  return std::any_of(pod.tolerations.begin(), pod.tolerations.end(), [&](const auto& one) {
    if (!one.effect.empty() && one.effect != taint.effect) return false;
    if (one.key.empty()) return one.op == "Exists";
    if (one.key != taint.key) return false;
    return one.op == "Exists" || one.value == taint.value;
  });
}

std::string AmountText(const std::string& name, std::int64_t amount) {
  if (name == "cpu") return fmt::format("{:g} CPUs", static_cast<double>(amount) / 1000);
  return fmt::format("{} of {}", amount, name);
}

}  // namespace

bool IsTaintForOthers(const KubeTaint& taint) {
  return taint.key == kKubeTaint && taint.effect == "NoSchedule";
}

bool AnyTermHolds(const std::vector<KubeTerm>& terms, const KubeNode& node) {
  return std::any_of(terms.begin(), terms.end(), [&](const KubeTerm& term) {
    return !term.empty() && std::all_of(term.begin(), term.end(),
                                        [&](const KubeMatch& match) { return Holds(match, node); });
  });
}

std::string WhyNotOn(const KubePod& pod, const KubeNode& node) {
  for (const auto& [key, value] : pod.selector) {
    const auto found = node.labels.find(key);
    if (found == node.labels.end() || found->second != value) {
      return fmt::format("its nodeSelector wants {}", core::Quoted(key + "=" + value));
    }
  }
  if (!pod.affinity.empty() && !AnyTermHolds(pod.affinity, node)) {
    return "its nodeAffinity asks for other nodes";
  }
  for (const KubeTaint& taint : node.taints) {
    if (taint.effect == "PreferNoSchedule" || IsTaintForOthers(taint) || Tolerates(pod, taint)) {
      continue;
    }
    // It may be over soon, and nobody is sent away for it: told as of the node, not of the pod.
    if (taint.key == "node.kubernetes.io/unschedulable" ||
        taint.key == "node.kubernetes.io/not-ready" ||
        taint.key == "node.kubernetes.io/unreachable") {
      continue;
    }
    return fmt::format("it does not tolerate the taint {}",
                       core::Quoted(taint.key + "=" + taint.value + ":" + taint.effect));
  }
  for (const auto& [name, amount] : pod.requests) {
    if (amount == 0) continue;
    const auto has = node.allocatable.find(name);
    if (has == node.allocatable.end() || has->second < amount) {
      return fmt::format("it asks for {}, and the node has {}", AmountText(name, amount),
                         has == node.allocatable.end() ? "none" : AmountText(name, has->second));
    }
  }
  return {};
}

std::string WhyNoRoom(const KubeAmounts& wanted, const KubeAmounts& used, const KubeNode& node) {
  for (const auto& [name, amount] : wanted) {
    if (amount == 0) continue;
    const auto has = node.allocatable.find(name);
    const auto taken = used.find(name);
    const std::int64_t all = has == node.allocatable.end() ? 0 : has->second;
    const std::int64_t gone = taken == used.end() ? 0 : taken->second;
    if (gone > all || amount > all - gone) {
      return fmt::format("node {} has {} left, and it asks for {}", node.name,
                         AmountText(name, std::max<std::int64_t>(all - gone, 0)),
                         AmountText(name, amount));
    }
  }
  return {};
}

std::string ShapeOf(const KubePod& pod) {
  std::string shape;
  const auto add = [&](const std::string& text) {
    shape += text;
    shape += '\0';
  };
  for (const auto& [key, value] : pod.selector) add(key), add(value);
  add("a");
  for (const KubeTerm& term : pod.affinity) {
    for (const KubeMatch& match : term) {
      add(match.key);
      add(match.op + (match.field ? "f" : ""));
      for (const std::string& value : match.values) add(value);
      add("m");
    }
    add("t");
  }
  for (const KubeToleration& one : pod.tolerations) {
    add(one.key), add(one.op), add(one.value), add(one.effect);
  }
  add("r");
  for (const auto& [name, amount] : pod.requests) add(name), add(std::to_string(amount));
  for (const std::string& claim : pod.claims) add(pod.name_space + "/" + claim);
  return shape;
}

}  // namespace sharewell::engine
