#include "engine/kubernetes/pods/pod_reasons.h"

#include <charconv>
#include <optional>

namespace sharewell::engine {
namespace {

constexpr std::string_view kOfUser = " of ";

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '/';
}

class Rewriter {
 public:
  Rewriter(std::string_view words, const KubeNames& names) : rest_(words), names_(names) {}

  std::string Run() {
    bool at_word = true;
    while (!rest_.empty()) {
      if (at_word && (Job() || Jobs() || Gpu())) {
        at_word = false;
        continue;
      }
      at_word = !IsWordChar(rest_[0]) && rest_[0] != '`';
      out_ += rest_[0];
      rest_.remove_prefix(1);
    }
    return out_;
  }

 private:
  static std::optional<std::int64_t> NumberAt(std::string_view text, std::size_t& length) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    length = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || (length < text.size() && IsWordChar(text[length]))) return {};
    return number;
  }

  // `word` and a number behind it, which `name` knows: both are taken.
  template <class Names>
  std::string Taken(std::string_view word, const Names& name) {
    if (!rest_.starts_with(word)) return {};
    std::size_t length = 0;
    const auto number = NumberAt(rest_.substr(word.size()), length);
    if (!number) return {};
    std::string called = name(*number);
    if (!called.empty()) rest_.remove_prefix(word.size() + length);
    return called;
  }

  // Its namespace is in its name already.
  void SkipUser(const std::string& pod) {
    const std::string user = pod.substr(0, pod.find('/'));
    if (!rest_.starts_with(kOfUser) || !rest_.substr(kOfUser.size()).starts_with(user)) return;
    const std::size_t length = kOfUser.size() + user.size();
    if (length < rest_.size() && IsWordChar(rest_[length])) return;
    rest_.remove_prefix(length);
  }

  bool Job() {
    const std::string pod = Taken("job ", names_.pod_of);
    if (pod.empty()) return false;
    out_ += "pod " + pod;
    SkipUser(pod);
    return true;
  }

  // "jobs 3, 5 and 6": all that are known.
  bool Jobs() {
    std::string pod = Taken("jobs ", names_.pod_of);
    if (pod.empty()) return false;
    out_ += "pods " + pod;
    for (bool more = true; more;) {
      more = false;
      for (const std::string_view between : {", ", " and "}) {
        pod = Taken(between, names_.pod_of);
        if (pod.empty()) continue;
        out_ += between;
        out_ += pod;
        more = true;
        break;
      }
    }
    return true;
  }

  bool Gpu() {
    const std::string gpu =
        Taken("GPU ", [this](std::int64_t number) { return names_.gpu(static_cast<int>(number)); });
    if (gpu.empty()) return false;
    out_ += "GPU " + gpu;
    return true;
  }

  std::string_view rest_;
  const KubeNames& names_;
  std::string out_;
};

}  // namespace

std::string InKubeWords(std::string_view words, const KubeNames& names) {
  return Rewriter(words, names).Run();
}

}  // namespace sharewell::engine
