// Quantities as Kubernetes writes them: a decimal number and a suffix (m, k, Ki, e3, ...).
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "engine/kubernetes/api/kube_records.h"

namespace sharewell::engine {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kMostAmount = std::numeric_limits<std::int64_t>::max();
constexpr Wide kWideLimit = Wide(1) << 100;

struct Suffix {
  std::string_view text;
  int tens, twos;  // 10^tens * 2^twos
};
constexpr std::array<Suffix, 15> kSuffixes{{{"n", -9, 0},
                                            {"u", -6, 0},
                                            {"m", -3, 0},
                                            {"", 0, 0},
                                            {"k", 3, 0},
                                            {"M", 6, 0},
                                            {"G", 9, 0},
                                            {"T", 12, 0},
                                            {"P", 15, 0},
                                            {"E", 18, 0},
                                            {"Ki", 0, 10},
                                            {"Mi", 0, 20},
                                            {"Gi", 0, 30},
                                            {"Ti", 0, 40},
                                            {"Pi", 0, 50}}};

std::optional<Suffix> SuffixOf(std::string_view text) {
  if (text == "Ei") return Suffix{"Ei", 0, 60};
  for (const Suffix& one : kSuffixes) {
    if (one.text == text) return one;
  }
  if (text.size() < 2 || (text[0] != 'e' && text[0] != 'E')) return std::nullopt;
  text.remove_prefix(1);
  if (text[0] == '+') text.remove_prefix(1);
  int tens = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tens);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return Suffix{"e", std::clamp(tens, -100, 100), 0};
}

}  // namespace

std::optional<std::int64_t> ParseQuantity(std::string_view text, std::int64_t scale) {
  if (text.size() > 64) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  Wide digits = 0;
  int tens = 0;
  bool any = false, point = false, more = false;  // more: digits that were left out
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (digits >= kWideLimit / 10) {
      more = more || c != '0';
      tens += point ? 0 : 1;
      continue;
    }
    digits = digits * 10 + static_cast<Wide>(c - '0');
    tens -= point ? 1 : 0;
  }
  const auto suffix = SuffixOf(text.substr(i));
  if (!any || !suffix) return std::nullopt;
  tens += suffix->tens;
  if (digits == 0 && !more) return 0;
  // Divisions come last, so that nothing is rounded but the end.
  const auto times = [&](Wide by) {
    if (digits > kWideLimit / by) return false;
    digits *= by;
    return true;
  };
  if (!times(static_cast<Wide>(scale))) return kMostAmount;
  for (int n = 0; n < suffix->twos; ++n) {
    if (!times(2)) return kMostAmount;
  }
  for (; tens > 0; --tens) {
    if (!times(10)) return kMostAmount;
  }
  bool rest = more;
  for (; tens < 0; ++tens) {
    rest = rest || digits % 10 != 0;
    digits /= 10;
  }
  if (rest) ++digits;
  return digits > static_cast<Wide>(kMostAmount) ? kMostAmount : static_cast<std::int64_t>(digits);
}

void AddAmounts(const KubeAmounts& more, KubeAmounts& to) {
  for (const auto& [name, amount] : more) {
    std::int64_t& sum = to[name];
    sum = amount > kMostAmount - sum ? kMostAmount : sum + amount;
  }
}

}  // namespace sharewell::engine
