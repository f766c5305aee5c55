#include "graph/step/told_step.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/text/quoted.h"
#include "json/reader.h"
#include "json/writer.h"

namespace sharewell::graph {
namespace {

using json::Value;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kDeepest = 12;
constexpr std::size_t kMostLetters = 200;
constexpr std::size_t kMostOperands = 256;   // of one operator
constexpr std::size_t kMostEntries = 4'096;  // different tensors of one list
constexpr std::size_t kMostArguments = 32;   // named ones of one operator
constexpr std::size_t kMostNumbers = 32;     // of one argument
constexpr std::size_t kMostToldDims = 16;
constexpr std::int64_t kLargestToldDim = std::int64_t{1} << 40;
constexpr double kMostElements = 0x1p50;  // of one tensor: a petabyte
constexpr std::int64_t kMostCalls = 1'000'000'000;
constexpr std::int64_t kMostSamples = std::int64_t{1} << 24;
constexpr double kMostBytes = 1e18;

constexpr std::array<std::string_view, 15> kTypes = {"f64", "f32", "f16",  "bf16", "tf32",
                                                     "i64", "i32", "i16",  "i8",   "u8",
                                                     "b1",  "c64", "c128", "f8",   "other"};
constexpr std::array<std::string_view, 3> kPasses = {"forward", "backward", "update"};

template <std::size_t N>
std::optional<std::size_t> IndexOf(const std::array<std::string_view, N>& words,
                                   std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<std::size_t>(found - words.begin());
}

// The first error sticks.
class StepReader {
 public:
  explicit StepReader(std::string name) : name_(std::move(name)) {}

  core::Result<ToldStep> Read(Value root) {
    json::Reader step(root, name_ + ": ", json::Trust::kSent, error_);
    const std::int64_t version = step.NeedWhole("sharewell_step", {1, 1'000'000});
    if (step.ok() && version != kVersion) {
      return core::UsageError(
          "{}: it is a told step of version {}, this program reads version {}; let the watcher of "
          "this program tell it again: sharewell watch -- COMMAND",
          name_, version, kVersion);
    }
    ToldStep out;
    Facts(step, out);
    Memory(step, out.memory);
    step.Number("measured_peak", out.measured_peak, {0, kMostBytes});
    step.Whole("dropped", out.dropped, {0, kMostCalls});
    Operators(step, out);
    step.RefuseOthers();
    if (!error_.empty()) {
      return core::UsageError(
          "{}; let the watcher tell it again: sharewell watch -- COMMAND (format: "
          "docs/formats/told-step.md)",
          error_);
    }
    return out;
  }

 private:
  void Word(json::Reader& step, std::string_view key, std::string& value,
            std::initializer_list<std::string_view> allowed) {
    step.Text(key, value, kMostLetters);
    if (value.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
    step.Fail(key, fmt::format("{} is none of {}", core::Quoted(value),
                               fmt::join(allowed.begin(), allowed.end(), ", ")));
  }

  static void Flag(json::Reader& step, std::string_view key, std::optional<bool>& value) {
    const Value member = step.Member(key);
    if (!member.is_null()) value = step.FlagOf(key, member);
  }

  void Facts(json::Reader& step, ToldStep& out) {
    step.Text("framework", out.framework, kMostLetters);
    step.Text("python", out.python, kMostLetters);
    step.Text("device", out.device, kMostLetters);
    step.Whole("batch", out.batch, {1, kMostSamples});
    step.Whole("accumulation", out.accumulation, {1, 1'000'000});
    step.Text("optimizer", out.optimizer, kMostLetters);
    step.Whole("optimizers", out.optimizers, {0, 1'000'000});
    Word(step, "optimizer_style", out.optimizer_style, {"foreach", "fused", "for-loop"});
    Word(step, "precision", out.precision, {"fp32", "bf16", "fp16", "tf32", "fp64"});
    Word(step, "autocast", out.autocast, {"bf16", "fp16"});
    Flag(step, "grad_scaler", out.grad_scaler);
    step.Whole("workers", out.workers, {0, 1024});
    Flag(step, "compiled", out.compiled);
    Flag(step, "channels_last", out.channels_last);
    Flag(step, "checkpointing", out.checkpointing);
    Flag(step, "cuda_graphs", out.cuda_graphs);
    step.Whole("world_size", out.world_size, {1, 10'000'000});
    Word(step, "parallel", out.parallel, {"ddp", "fsdp", "dp"});
    step.Number("parameters", out.parameters, {0, kMostElements});
    step.Number("trainable", out.trainable, {0, kMostElements});
    step.Text("modules", out.modules, kMostLetters);
  }

  void Memory(json::Reader& step, ToldMemory& memory) {
    if (!step.Has("memory")) return;
    json::Reader part = step.Part("memory");
    part.Number("parameters", memory.parameters, {0, kMostBytes});
    part.Number("gradients", memory.gradients, {0, kMostBytes});
    part.Number("optimizer", memory.optimizer, {0, kMostBytes});
    part.Number("peak", memory.peak, {0, kMostBytes});
    part.Number("saved", memory.saved, {0, kMostBytes});
    part.RefuseOthers();
  }

  void Operators(json::Reader& step, ToldStep& out) {
    const std::vector<Value> list = step.NeedList("operators", kMostToldOperators);
    out.operators.reserve(list.size());
    for (const Value item : list) {
      if (!error_.empty()) return;
      place_ = fmt::format("{}: operators[{}]", name_, out.operators.size());
      out.operators.push_back(Operator(item));
    }
  }

  ToldOperator Operator(Value item) {
    ToldOperator out;
    json::Reader op(item, place_ + ".", json::Trust::kSent, error_);
    op.Need("op");
    op.Text("op", out.op, kMostLetters);
    if (op.ok() && out.op.empty()) op.Fail("op", "it has no name");
    const std::string pass = op.NeedText("pass");
    if (const auto index = IndexOf(kPasses, pass)) {
      out.pass = static_cast<ToldPass>(*index);
    } else {
      op.Fail("pass", fmt::format("{} is none of forward, backward, update", core::Quoted(pass)));
    }
    op.Whole("count", out.count, {1, kMostCalls});
    op.Each("in", kMostOperands, [&](Value v) { out.in.push_back(Operand(op, "in", v)); });
    op.Each("out", kMostOperands, [&](Value v) { out.out.push_back(Operand(op, "out", v)); });
    Arguments(op, out);
    op.Flag("view", out.view);
    op.Flag("cl", out.channels_last);
    op.RefuseOthers();
    return out;
  }

  ToldOperand Operand(json::Reader& op, std::string_view key, Value value) {
    ToldOperand out;
    if (value.is_null()) return out;
    if (value.is_list()) {
      out.tensors.push_back(Tensor(op, key, value, false));
      return out;
    }
    const Value list = value["list"];
    if (!value.is_object() || value.size() != 1 || !list.is_list()) {
      op.Fail(key, fmt::format("{} is neither null, a [type, shape] nor a list of those",
                               value.Quoted()));
      return out;
    }
    if (list.size() > kMostEntries) {
      op.Fail(key, fmt::format("has a list of {} different tensors, and {} is the most",
                               list.size(), kMostEntries));
      return out;
    }
    out.is_list = true;
    for (const Value item : list.items()) {
      if (!error_.empty()) return out;
      out.tensors.push_back(Tensor(op, key, item, true));
    }
    return out;
  }

  ToldTensor Tensor(json::Reader& op, std::string_view key, Value value, bool in_list) {
    ToldTensor out;
    const std::size_t parts = value.size();
    if (!value.is_list() || parts < 2 || parts > (in_list ? 3U : 2U)) {
      op.Fail(key, in_list ? "a list's entry is no [type, shape, how many]"
                           : "a tensor is no [type, shape]");
      return out;
    }
    std::string_view type = value.At(0).Text().value_or("");
    if (type.starts_with("w:")) out.role = ToldRole::kTrained;
    if (type.starts_with("p:")) out.role = ToldRole::kFrozen;
    if (out.role != ToldRole::kOrdinary) type.remove_prefix(2);
    if (const auto index = IndexOf(kTypes, type)) {
      out.type = static_cast<ToldType>(*index);
    } else {
      op.Fail(key, fmt::format("{} is no type of a tensor; those are {}", value.At(0).Quoted(),
                               fmt::join(kTypes, ", ")));
    }
    const Value dims = value.At(1);
    if (!dims.is_list() || dims.size() > kMostToldDims) {
      op.Fail(key, fmt::format("a shape is no list of at most {} numbers", kMostToldDims));
      return out;
    }
    for (const Value dim : dims.items()) {
      const auto whole = op.WholeOf(key, dim, {0, kLargestToldDim});
      if (!whole) return out;
      out.dims.push_back(*whole);
    }
    if (out.Elements() > kMostElements) {
      op.Fail(key, "a tensor has more elements than any machine holds");
    }
    if (parts == 3) out.many = op.WholeOf(key, value.At(2), {1, kMostCalls}).value_or(1);
    return out;
  }

  void Arguments(json::Reader& op, ToldOperator& out) {
    const Value arg = op.Member("arg");
    if (arg.is_null()) return;
    if (!arg.is_object() || arg.size() > kMostArguments) {
      return op.Fail("arg", fmt::format("is no object of at most {} members", kMostArguments));
    }
    for (const auto& [name, value] : arg.members()) {
      if (!error_.empty()) return;
      if (value.is_null() || (value.is_list() && value.empty())) continue;  // as if not there
      if (name.size() > kMostLetters) return op.Fail("arg", "a name in it is too long");
      std::vector<double> numbers;
      if (value.is_list()) {
        if (value.size() > kMostNumbers) {
          return op.Fail("arg", fmt::format("a list in it has more than {} numbers", kMostNumbers));
        }
        for (const Value entry : value.items()) numbers.push_back(Number(op, entry));
      } else {
        numbers.push_back(Number(op, value));
      }
      out.arg.emplace_back(name, std::move(numbers));
    }
  }

  static double Number(json::Reader& op, Value value) {
    if (const auto flag = value.Bool()) return *flag ? 1 : 0;
    return op.NumberOf("arg", value, {-1e18, 1e18}).value_or(0);
  }

  std::string name_, place_, error_;
};

void Write(json::Writer& out, const ToldTensor& tensor, bool in_list) {
  constexpr std::array<std::string_view, 3> kRoles = {"", "w:", "p:"};
  out.List([&] {
    out.Value(
        fmt::format("{}{}", kRoles[static_cast<std::size_t>(tensor.role)], NameOf(tensor.type)));
    out.Value(tensor.dims);
    if (in_list) out.Value(tensor.many);
  });
}

void Write(json::Writer& out, const std::vector<ToldOperand>& operands) {
  out.List([&] {
    for (const ToldOperand& operand : operands) {
      if (operand.is_list) {
        out.Object([&] {
          out.Key("list");
          out.List([&] {
            for (const ToldTensor& tensor : operand.tensors) Write(out, tensor, true);
          });
        });
      } else if (operand.absent()) {
        out.Null();
      } else {
        Write(out, operand.tensors[0], false);
      }
    }
  });
}

void Write(json::Writer& out, const ToldOperator& op) {
  out.Object([&] {
    out.Field("op", op.op);
    out.Field("pass", NameOf(op.pass));
    out.Field("count", op.count);
    out.Key("in");
    Write(out, op.in);
    out.Key("out");
    Write(out, op.out);
    if (!op.arg.empty()) {
      out.Key("arg");
      out.Object([&] {
        for (const auto& [name, numbers] : op.arg) {
          if (numbers.size() == 1) {
            out.Field(name, numbers[0]);
          } else {
            out.Field(name, numbers);
          }
        }
      });
    }
    if (op.view) out.Field("view", true);
    if (op.channels_last) out.Field("cl", true);
  });
}

// Empty words are not known.
std::optional<std::string> Known(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(word);
}

}  // namespace

std::string_view NameOf(ToldType type) { return kTypes[static_cast<std::size_t>(type)]; }
std::string_view NameOf(ToldPass pass) { return kPasses[static_cast<std::size_t>(pass)]; }

int BytesOf(ToldType type) {
  constexpr std::array<int, kTypes.size()> kBytes = {8, 4, 2, 2, 4, 8, 4, 2, 1, 1, 1, 8, 16, 1, 4};
  return kBytes[static_cast<std::size_t>(type)];
}

bool IsFloat(ToldType type) { return type <= ToldType::kTf32 || type == ToldType::kF8; }

double ToldTensor::Elements() const {
  double elements = 1;
  for (const std::int64_t dim : dims) elements *= static_cast<double>(dim);
  return elements;
}

const std::vector<double>* ToldOperator::Arg(std::string_view name) const {
  for (const auto& [key, numbers] : arg) {
    if (key == name) return &numbers;
  }
  return nullptr;
}

bool IsToldStep(std::string_view json) {
  constexpr std::size_t kNear = 4096;
  const auto first = json.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && json[first] == '{' &&
         json.substr(first, kNear).find("\"sharewell_step\"") != std::string_view::npos;
}

core::Result<ToldStep> ReadToldStep(std::string_view json, const std::string& name) {
  if (json.size() > kLargestToldStep) {
    return core::UsageError(
        "{}: is {} bytes long, and a told step has at most {}; let the watcher tell it again: "
        "sharewell watch -- COMMAND",
        name, json.size(), kLargestToldStep);
  }
  const auto parsed = json::Document::Parse(json, kDeepest);
  if (!parsed) {
    return core::UsageError(
        "{}: {}; it may have been cut off: let the watcher tell it again: sharewell watch -- "
        "COMMAND",
        name, parsed.error().message);
  }
  if (!parsed->root().is_object()) {
    return core::UsageError(
        "{}: {} is no told step, which is an object with \"sharewell_step\": 1; `sharewell watch "
        "-- COMMAND` writes one",
        name, parsed->root().Quoted());
  }
  return StepReader(name).Read(parsed->root());
}

std::string WriteToldStep(const ToldStep& step) {
  return json::Write(json::Style::kBrief, [&](json::Writer& out) {
    out.Object([&] {
      out.Field("sharewell_step", kVersion);
      out.Field("framework", Known(step.framework));
      out.Field("python", Known(step.python));
      out.Field("device", Known(step.device));
      out.Field("batch", step.batch);
      out.Field("accumulation", step.accumulation);
      out.Field("optimizer", Known(step.optimizer));
      out.Field("optimizers", step.optimizers);
      out.Field("optimizer_style", Known(step.optimizer_style));
      out.Field("precision", Known(step.precision));
      out.Field("autocast", Known(step.autocast));
      out.Field("grad_scaler", step.grad_scaler);
      out.Field("workers", step.workers);
      out.Field("compiled", step.compiled);
      out.Field("channels_last", step.channels_last);
      out.Field("checkpointing", step.checkpointing);
      out.Field("cuda_graphs", step.cuda_graphs);
      out.Field("world_size", step.world_size);
      out.Field("parallel", Known(step.parallel));
      out.Field("parameters", step.parameters);
      out.Field("trainable", step.trainable);
      out.Field("modules", Known(step.modules));
      out.Key("memory");
      out.Object([&] {
        out.Field("parameters", step.memory.parameters);
        out.Field("gradients", step.memory.gradients);
        out.Field("optimizer", step.memory.optimizer);
        out.Field("peak", step.memory.peak);
        out.Field("saved", step.memory.saved);
      });
      out.Field("measured_peak", step.measured_peak);
      out.Key("operators");
      out.List([&] {
        for (const ToldOperator& op : step.operators) Write(out, op);
      });
      out.Field("dropped", step.dropped);
    });
  });
}

}  // namespace sharewell::graph
