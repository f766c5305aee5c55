#include "engine/kubernetes/api/plain_yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "core/text/quoted.h"

namespace sharewell::engine {
namespace {

constexpr std::size_t kDeepest = 32, kMostNodes = 100'000;

// What the builder refuses, on its way out through the parser, which only knows exceptions.
struct RefusedYaml : std::runtime_error {
  RefusedYaml(const std::string& what, int line_at) : std::runtime_error(what), line(line_at) {}
  int line;
};

class YamlBuilder : public YAML::EventHandler {
 public:
  explicit YamlBuilder(bool several) : several_(several) {}
  std::vector<PlainYaml> documents;

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (!documents.empty() && !several_) {
      throw RefusedYaml("a second document begins; one is wanted", mark.line + 1);
    }
    documents.emplace_back();
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { Add({}, mark, anchor); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw RefusedYaml("aliases (*name) are not taken; write the value out", mark.line + 1);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    PlainYaml node;
    // Plain words that mean nothing; in quotes they have the tag "!".
    const bool null = tag == "?" && (value == "null" || value == "~" || value.empty());
    if (!null) node.kind = PlainYaml::Kind::kText;
    if (!null) node.text = value;
    Add(std::move(node), mark, anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    Open(PlainYaml::Kind::kList, mark, anchor, style);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override {
    Open(PlainYaml::Kind::kMap, mark, anchor, style);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A list or map that is being read. Finished ones move into the one around them.
  struct Around {
    PlainYaml node;
    bool has_key = false;
    std::string key;
    int line = 0;
  };

  void Open(PlainYaml::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor,
            YAML::EmitterStyle::value style) {
    Count(mark, anchor);
    if (open_.size() == kDeepest) throw RefusedYaml("it is nested too deep", mark.line + 1);
    open_.emplace_back();
    open_.back().node.kind = kind;
    open_.back().node.in_brackets = style == YAML::EmitterStyle::Flow;
    Mark(mark, open_.back().node);
    open_.back().line = mark.line + 1;
  }
  void Close() {
    Around done = std::move(open_.back());
    open_.pop_back();
    Put(std::move(done.node), done.line);
  }
  void Add(PlainYaml node, const YAML::Mark& mark, YAML::anchor_t anchor) {
    Count(mark, anchor);
    Mark(mark, node);
    Put(std::move(node), mark.line + 1);
  }
  static void Mark(const YAML::Mark& mark, PlainYaml& node) {
    node.at = static_cast<std::size_t>(std::max(mark.pos, 0));
    node.column = static_cast<std::size_t>(std::max(mark.column, 0));
  }
  void Count(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) {
      throw RefusedYaml("anchors (&name) are not taken; write the value out", mark.line + 1);
    }
    if (++nodes_ > kMostNodes) throw RefusedYaml("it has too many values", mark.line + 1);
  }
  void Put(PlainYaml node, int line) {
    if (open_.empty()) {
      documents.back() = std::move(node);
      return;
    }
    Around& around = open_.back();
    if (around.node.kind == PlainYaml::Kind::kList) {
      around.node.list.push_back(std::move(node));
    } else if (!around.has_key) {
      if (node.kind != PlainYaml::Kind::kText) throw RefusedYaml("a key must be text", line);
      around.key = std::move(node.text);
      around.has_key = true;
    } else {
      around.node.keys.push_back(std::move(around.key));
      around.node.list.push_back(std::move(node));
      around.has_key = false;
    }
  }

  std::vector<Around> open_;
  std::size_t nodes_ = 0;
  const bool several_;
};

core::Result<std::vector<PlainYaml>> BuildYaml(std::string_view text, bool several) {
  if (text.size() > kMostYaml) return core::UsageError("it is longer than 1 MiB");
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    YamlBuilder builder(several);
    while (parser.HandleNextDocument(builder)) {
    }
    return std::move(builder.documents);
  } catch (const RefusedYaml& refused) {
    return core::UsageError("line {}: {}", refused.line, refused.what());
  } catch (const YAML::Exception& error) {
    return core::UsageError("line {}: it is no YAML: {}", error.mark.line + 1,
                            core::Quoted(error.msg));
  }
}

}  // namespace

const PlainYaml& PlainYaml::At(std::string_view key) const {
  static const PlainYaml none;
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? none : list[static_cast<std::size_t>(found - keys.begin())];
}

core::Result<PlainYaml> ParsePlainYaml(std::string_view text) {
  auto documents = BuildYaml(text, false);
  RETURN_IF_ERROR(documents);
  return documents->empty() ? PlainYaml() : std::move(documents->front());
}

core::Result<std::vector<PlainYaml>> ParsePlainYamls(std::string_view text) {
  return BuildYaml(text, true);
}

}  // namespace sharewell::engine
