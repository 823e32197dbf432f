// The dispatcher: one entry for every op call from Python, from Programs and from structural plans.
//
//   call():     rules -> backend -> implementation -> tape (if gradients are on and an operand needs them)
//   call_raw(): the same without the tape
//   Fast path: pointwise op, dense operands of equal shape, dtype, device; kernel flat: no rule runs.
//   An op never returns its operand (asserted): a "nothing to do" op returns a copy, or an alias for views.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tenora/op.h"

namespace tenora {

struct CallResult {
    TensorRef out[kMaxOutputs];
    int count = 0;
};

// Attributes in signature order, defaults filled in. `out`: op.n_out results.
void call(OpId op, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out);
void call_raw(OpId op, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out);

// In place on `self` (operand 0). Leaf rules, version bump,
// history of views and bases: tape.h. Unchanged target on failure.
void call_inplace(OpId op, Tensor* self, std::span<const Operand> in, std::span<const Attr> attr);
// out=: result written into given tensors (resized like PyTorch
// when empty, else shape must match; dtype must be castable).
void call_out(OpId op, std::span<const Operand> in, std::span<const Attr> attr, std::span<Tensor* const> out);

// Writes `src` (tensor or scalar, broadcast, cast) into `dst`'s elements in place, recorded: copy_, x[i] = v.
void assign(Tensor* dst, const Operand& src, bool non_blocking = false);
void warn_of_byte_mask(std::string_view what);  // uint8 was the dtype of masks before bool was

// Runs the kernel of `op` on given, already allocated outputs; no rules, no tape. `accumulate` needs the
// kernel's flag (ask can_accumulate first). Used by structural plans and by the evaluator.
void run_kernel(const Op& op, BackendId backend, std::span<const Operand> in, std::span<const Attr> attr,
                std::span<Tensor* const> out, bool accumulate = false);
bool can_accumulate(const Op& op, BackendId backend);

// Adds the op's (only) result into `buffer`, which the caller owns alone; false when that cannot be done in
// one go and the caller must add by itself. No tape, no version bump.
bool call_accumulate(OpId op, std::span<const Operand> in, std::span<const Attr> attr, Tensor* buffer);
// Fused step over many tensors, in place: the kernel sees in = written + read,
// out = written. False: no such kernel on the current backend, run the composite.
// Versions of `written` are bumped; dense tensors of one device and dtype only.
bool call_step(OpId op, std::span<Tensor* const> written, std::span<Tensor* const> read,
               std::span<const Attr> attr);

// Ops the engine itself calls. Looked up once by name after tenora_ops has registered them.
struct CoreOps {  // kNoOp while not registered
    OpId copy = kNoOp, fill = kNoOp, add = kNoOp, mul = kNoOp, div = kNoOp, neg = kNoOp, sum = kNoOp,
         matmul = kNoOp, conj = kNoOp, iota = kNoOp, zeros_like = kNoOp, as_strided = kNoOp,
         as_strided_scatter = kNoOp, expand = kNoOp, sum_to = kNoOp, clone = kNoOp, isfinite = kNoOp,
         all = kNoOp, nonzero = kNoOp, alias = kNoOp, view_as_real = kNoOp, view_as_complex = kNoOp,
         constant_in = kNoOp;
};
const CoreOps& core_ops();

TensorRef contiguous(Tensor* t,
                     const char* why);   // alias-free dense copy unless dense already (then a new ref)
TensorRef cast(Tensor* t, DType dtype);  // hidden-copy event when implicit
TensorRef to_device(Tensor* t, Device device, bool non_blocking);
bool can_pin(Device device);  // whether its backend has pinned memory
// On the host, not filled, in memory that devices of `device`'s type read by themselves; dense.
TensorRef new_pinned(std::span<const int64_t> shape, DType dtype, Device device);
void fill(Tensor* t, const Scalar& value);  // raw, no tape, no version bump

// Which kernel would run and why: `tenora explain`.
struct Explanation {
    std::string implementation, backend, reason;
};
Explanation explain(OpId op, Device device, DType dtype);

// Fallback counts: (op, backend) -> calls on the reference through the host.
struct FallbackCount {
    std::string op, backend;
    uint64_t calls;
};
std::vector<FallbackCount> fallback_counts();
void reset_fallback_counts();
bool device_lost(Device device);  // sticky, set by a kernel's TNR_DEVICE_LOST

}  // namespace tenora
