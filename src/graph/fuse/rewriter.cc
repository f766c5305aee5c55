#include "graph/fuse/rewriter.h"

#include <algorithm>
#include <utility>

namespace sharewell::graph::fuse {
namespace {

std::size_t Index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

Rewriter::Rewriter(Graph& graph)
    : graph_(graph),
      maker_(graph.tensors.size(), kNoOp),
      readers_(graph.tensors.size()),
      output_(graph.tensors.size(), false),
      gone_(graph.ops.size(), false) {
  for (OpIndex i = 0; i < size(); ++i) {
    for (const TensorId id : At(i).outputs) {
      if (id != kAbsent) maker_[Index(id)] = i;
    }
    for (const TensorId id : At(i).inputs) {
      if (id != kAbsent) readers_[Index(id)].push_back(i);
    }
  }
  for (const TensorId id : graph.outputs) output_[Index(id)] = true;
}

OpIndex Rewriter::Maker(TensorId id) const { return id == kAbsent ? kNoOp : maker_[Index(id)]; }

const std::vector<OpIndex>& Rewriter::Readers(TensorId id) const { return readers_[Index(id)]; }

OpIndex Rewriter::OnlyReader(TensorId id) const {
  if (id == kAbsent || output_[Index(id)] || readers_[Index(id)].size() != 1) return kNoOp;
  return readers_[Index(id)][0];
}

bool Rewriter::IsNumber(TensorId id) const {
  if (id == kAbsent || !Of(id).dims || Elements(Of(id)) != 1 || Of(id).role == Role::kInput) {
    return false;
  }
  const OpIndex maker = Maker(id);
  return maker == kNoOp || At(maker).kind == Kind::kHost;
}

bool Rewriter::IsWeight(TensorId id) const { return id != kAbsent && Of(id).role == Role::kWeight; }

TensorId Rewriter::Other(OpIndex op, TensorId id) const {
  const auto& inputs = At(op).inputs;
  if (inputs.size() != 2 || inputs[0] == inputs[1]) return kAbsent;
  return inputs[0] == id ? inputs[1] : inputs[1] == id ? inputs[0] : kAbsent;
}

void Rewriter::Unread(OpIndex op) {
  gone_[Index(op)] = true;
  for (const TensorId id : At(op).inputs) {
    if (id == kAbsent) continue;
    auto& readers = readers_[Index(id)];
    readers.erase(std::remove(readers.begin(), readers.end(), op), readers.end());
  }
  for (const TensorId id : At(op).outputs) {
    if (id != kAbsent && maker_[Index(id)] == op) maker_[Index(id)] = kNoOp;
  }
}

// The maker of a value that nobody reads any more goes too, if it only prepared it.
void Rewriter::Sweep(TensorId start) {
  std::vector<TensorId> open = {start};
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    const OpIndex maker = Maker(id);
    if (maker == kNoOp || gone_[Index(maker)] || At(maker).macs > 0) continue;
    const Kind kind = At(maker).kind;
    if (kind != Kind::kView && kind != Kind::kHost && kind != Kind::kElementwise &&
        kind != Kind::kReduction) {
      continue;
    }
    const bool wanted =
        std::any_of(At(maker).outputs.begin(), At(maker).outputs.end(), [&](TensorId output) {
          return output != kAbsent && (output_[Index(output)] || !readers_[Index(output)].empty());
        });
    if (wanted) continue;
    const std::vector<TensorId> inputs = At(maker).inputs;
    Unread(maker);
    for (const TensorId input : inputs) {
      if (input != kAbsent) open.push_back(input);
    }
  }
}

bool Rewriter::RanApart(TensorId id) const {
  if (!graph_.traced || id == kAbsent) return false;
  constexpr std::string_view kElementary[] = {"add", "bmm", "div", "matmul",
                                              "mul", "sub", "to",  "where"};
  std::string_view stem = Of(id).name;
  stem = stem.substr(0, stem.find_first_of("_0123456789"));
  return std::find(std::begin(kElementary), std::end(kElementary), stem) != std::end(kElementary);
}

void Rewriter::Replace(std::span<const OpIndex> parts, OpIndex at, Op fused) {
  std::vector<TensorId> read;
  for (const OpIndex part : parts) {
    read.insert(read.end(), At(part).inputs.begin(), At(part).inputs.end());
    if (!gone_[Index(part)]) Unread(part);
  }
  if (!gone_[Index(at)]) {
    read.insert(read.end(), At(at).inputs.begin(), At(at).inputs.end());
    Unread(at);
  }
  gone_[Index(at)] = false;
  for (const TensorId id : fused.inputs) {
    if (id != kAbsent) readers_[Index(id)].push_back(at);
  }
  for (const TensorId id : fused.outputs) {
    if (id != kAbsent) maker_[Index(id)] = at;
  }
  graph_.ops[Index(at)] = std::move(fused);
  for (const TensorId id : read) {
    if (id != kAbsent && readers_[Index(id)].empty() && !output_[Index(id)]) Sweep(id);
  }
}

void Rewriter::DropUnread() {
  for (OpIndex i = size() - 1; i >= 0; --i) {
    if (gone_[Index(i)] || (At(i).kind != Kind::kView && At(i).kind != Kind::kHost)) continue;
    for (const TensorId id : At(i).outputs) {
      if (id != kAbsent && readers_[Index(id)].empty() && !output_[Index(id)]) Sweep(id);
    }
  }
}

void Rewriter::Finish() {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    if (gone_[i]) continue;
    if (kept != i) graph_.ops[kept] = std::move(graph_.ops[i]);
    ++kept;
  }
  graph_.ops.resize(kept);

  std::vector<bool> used(graph_.tensors.size(), false);
  for (const Op& op : graph_.ops) {
    for (const TensorId id : op.inputs) {
      if (id != kAbsent) used[Index(id)] = true;
    }
    for (const TensorId id : op.outputs) {
      if (id != kAbsent) used[Index(id)] = true;
    }
  }
  for (const TensorId id : graph_.inputs) used[Index(id)] = true;
  for (const TensorId id : graph_.outputs) used[Index(id)] = true;
  std::vector<TensorId> moved(graph_.tensors.size(), kAbsent);
  std::size_t next = 0;
  for (std::size_t i = 0; i < graph_.tensors.size(); ++i) {
    if (!used[i] && graph_.tensors[i].role != Role::kWeight) continue;
    moved[i] = static_cast<TensorId>(next);
    if (next != i) graph_.tensors[next] = std::move(graph_.tensors[i]);
    ++next;
  }
  graph_.tensors.resize(next);
  const auto follow = [&](std::vector<TensorId>& ids) {
    for (TensorId& id : ids) {
      if (id != kAbsent) id = moved[Index(id)];
    }
  };
  for (Op& op : graph_.ops) {
    follow(op.inputs);
    follow(op.outputs);
  }
  follow(graph_.inputs);
  follow(graph_.outputs);
}

}  // namespace sharewell::graph::fuse
