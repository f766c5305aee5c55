// Graph: what a model computes in one forward pass, whatever file it came from. Readers (onnx/,
// pt2/, huggingface/, layers/) lower their format's operators to the kinds below with every
// dimension known; cost.h and memory.h need nothing else. Weights' values are never read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/step/told_step.h"

namespace sharewell::graph {

enum class DType : std::uint8_t { kUnknown, kFloat, kHalf, kDouble, kInt64, kInt32, kByte };
int BytesOf(DType type);  // 4 for kUnknown

using Dims = std::vector<std::int64_t>;  // all known, each >= 0

enum class Role : std::uint8_t {
  kInput,       // what the loader brings
  kWeight,      // trained: has a gradient and optimizer state
  kConstant,    // buffers and constants: neither
  kActivation,  // made by an operator
};

struct Tensor {
  std::string name;
  DType dtype = DType::kFloat;
  Role role = Role::kActivation;
  std::optional<Dims> dims;  // absent: could not be inferred
};

// Elements of the tensor; 0 where the shape is not known. Saturates instead of overflowing.
double Elements(const Tensor& tensor);

using TensorId = std::int32_t;           // index into Graph::tensors
inline constexpr TensorId kAbsent = -1;  // an optional operand that is not there

enum class Kind : std::uint8_t {
  kConv,       // 1 to 3 spatial dimensions; inputs: x, weight, bias?
  kDeconv,     // transposed convolution
  kMatMul,     // linear, gemm, batched product; a weight operand has role kWeight
  kAttention,  // softmax(q k^T) v in one: inputs q, k, v, mask?
  kRecurrent,  // one LSTM, GRU or RNN layer over a whole sequence
  kNorm,       // batch, layer, group, instance, RMS normalisation
  kSoftmax,
  kActivation,   // pointwise non-linearity of one input
  kElementwise,  // pointwise of one or more inputs
  kReduction,    // sums, means, arg max
  kPool,
  kResample,   // interpolate, grid sample
  kEmbedding,  // rows of a weight by integer index
  kMove,       // a copy: concat, transpose that is materialised, pad, gather, slice by step
  kDropout,
  kView,     // no kernel: reshape, squeeze, transpose read in place, slice, split
  kHost,     // shape arithmetic, constants: never reaches the GPU
  kUnknown,  // could not be costed; reported
};
std::string_view NameOf(Kind kind);  // "conv", "matmul", ...

// How an operator runs that a job told of (step/lower.h): in one pass, so often a step.
struct ToldUse {
  enum class As : std::uint8_t {
    kForward,   // in the forward pass
    kAgain,     // a forward operator within the backward pass: recomputed
    kPlain,     // pointwise and the like within the backward pass, of some derivative
    kBackward,  // the backward pass of its kind; operands are those of the forward operator
  };
  As as = As::kForward;
  double count = 1;          // calls a step
  double gradients = 1;      // kBackward of a product: gradients that a call computes
  double casts = 0;          // copies to and from half precision that come with a call,
  double cast_elements = 0;  // and their elements
  double nodes = 0;          // kForward: what autograd keeps of a call, and the host visits again
  bool half = false;         // on half-precision operands
  bool in_place = false;     // its result takes the place of an operand
  bool channels_last = false;
};

struct Op {
  Kind kind = Kind::kUnknown;
  std::string type;  // as the file names it: "Conv", "aten.conv2d"
  std::string name;  // the node's or layer's own name; may be empty
  std::vector<TensorId> inputs, outputs;
  double macs = 0;            // multiply-accumulates of the forward pass, at this batch
  std::int64_t groups = 1;    // convolutions
  std::int64_t kernel = 1;    // spatial elements of a convolution's or pool's window
  std::int64_t steps = 1;     // a recurrent layer's time steps: kernels that cannot overlap
  bool restored = false;      // an exporter had folded it away; training runs it (restore.h)
  bool folded_norm = false;   // a convolution that an exporter folded a batch norm into
  std::string why_unknown;    // for kUnknown: what is missing
  std::int64_t dilation = 1;  // convolutions: how far apart the window's elements lie
  std::optional<ToldUse> told;
};

// What a graph holds that was made of a told step, beside its operators.
struct ToldGraph {
  ToldStep step;
  double trained = 0, trained_tensors = 0;  // numbers; tensors
  // The optimizer's: FLOPs, bytes, launches, and calls that are not one for many tensors.
  double update_flops = 0, update_bytes = 0, update_kernels = 0, update_calls = 0;
  double half_copies = 0;  // bytes of half-precision copies of weights
};

struct Graph {
  std::string format;    // "ONNX opset 20", "torch.export", "Hugging Face bert", "layer list"
  std::string producer;  // "pytorch 2.11.0"; may be empty
  // Values are named after the framework operator that made them (PyTorch's tracing exporter), so a
  // fused kernel can be told from operators that run one by one.
  bool traced = false;
  std::int64_t batch = 1;
  std::vector<Tensor> tensors;
  std::vector<TensorId> inputs, outputs;
  std::vector<Op> ops;       // in an order they can run in
  double hidden_params = 0;  // weights that no tensor of the file holds (restored layers)
  // Made of a told step: operators are of all passes, each with Op::told and tensors of its own.
  std::optional<ToldGraph> told;
};

// What to put where a file leaves dimensions open.
struct Binding {
  std::int64_t batch = 1;
  std::vector<std::pair<std::string, std::int64_t>> named;  // --bind seq=128
  bool any_batch = false;  // a file that is of one batch may have its own: nobody asked for another
};

// Nothing larger is read: a hostile file must not cost more than this.
inline constexpr std::size_t kMostNodes = 1'000'000;
inline constexpr std::int64_t kLargestDim = std::int64_t{1} << 40;
inline constexpr std::size_t kMostDims = 16;

}  // namespace sharewell::graph
