// One call on its way through the slow path, and one launch of a kernel.
//   - Call: what the user gave, what the rules said, where
//     results go. Prepare functions and plans work on it.
//   - Launch: what a kernel sees before fix-ups by its flags.
//   - Declined: a kernel or backend cannot do this call;
//     the dispatcher then tries composite, fallback, error.
#pragma once

#include <vector>

#include "small_array.h"
#include "tenora/dispatch.h"

namespace tenora {

struct Call {
    Call(const Op& op, std::span<const Operand> in, std::span<Attr> attr, TensorRef* out)
        : op(op),
          in(in),
          infer{.op = op, .in = in, .attr = attr, .out = meta, .device = {}, .scratch_blocks = {}},
          result(out) {}

    const Op& op;
    std::span<const Operand> in;
    Infer infer;
    TensorRef* result;                // op.n_out of them
    std::span<Tensor* const> target;  // in place, out=: where results go; empty otherwise
    BackendId backend = kNoBackend;
    bool recording = false;       // parts are on the tape already
    bool taped = false;           // results are a user's: views remember their base
    bool accumulate = false;      // add into the target; the kernel can
    std::vector<TensorRef> kept;  // temporaries that live as long as the call
    OutMeta meta[kMaxOutputs];

    std::span<const int64_t> shape(int i = 0) const { return {meta[i].shape, size_t(meta[i].rank)}; }
    Tensor* output(int i = 0);  // the target, or a fresh tensor as the rules say; also stored in result
    Tensor* keep(TensorRef t) {
        kept.push_back(std::move(t));
        return kept.back().get();
    }
};

// A tensor on the stack: another window on somebody's memory, never retained by anyone.
class LocalView {
  public:
    LocalView() = default;
    LocalView(const LocalView&) = delete;
    void reset(const Tensor* base, std::span<const int64_t> shape, std::span<const int64_t> strides,
               int64_t shift = 0);
    Tensor* get() { return &tensor_; }

  private:
    Tensor tensor_;
    int64_t dims_[2 * kMaxRank];
};

// A number as a 0-d tensor on the host.
class LocalScalar {
  public:
    void reset(const Scalar& value, DType dtype);
    Tensor* get() { return &tensor_; }

  private:
    Tensor tensor_;
    alignas(16) unsigned char data_[16];
    int64_t dims_[2];
};

void store_scalar(const Scalar& value, DType dtype, void* data);

struct Launch {
    const Op& op;
    BackendId backend;
    std::span<const Operand> in;
    std::span<const Attr> attr;
    std::span<Tensor* const> out;
    Device device;
    DType scalar_dtype =
        DType::None;         // numbers become 0-d descriptors of this dtype; None: of the first tensor
    double work = 0;         // nanoseconds; 0 = by bytes
    bool fresh = false;      // outputs were just allocated: they overlap nothing
    bool preloaded = false;  // outputs hold values the kernel needs
    bool accumulate = false;
};

struct Declined {
    std::string reason;
};

void launch(const Launch& l);  // throws Declined or Error

// Low-level copies with the backend of the destination. No tape, no version bump.
void copy_into(Tensor* dst, Tensor* src, BackendId backend);
TensorRef dense_copy(Tensor* t, BackendId backend);

void check_status(const Op& op, BackendId backend, Device device, int32_t status, const char* error);
// Answer of the kernel's `supports`, cached by signature; throws Declined.
void check_supports(const Op& op, BackendId backend, const KernelEntry& entry, const tnr_call& call);
void hidden_event(int kind, const Op* op, BackendId backend, uint64_t bytes, const char* detail);

Device common_device(const Op& op, std::span<const Operand> in);
void run_rules(Call& c);                // device, dtype rule, shape rule
void execute(Call& c, uint64_t needs);  // implementation by kind, with composite and fallback
void run_program(Call& c, bool recording);
void run_fallback(Call& c, const Declined& why);
bool can_cast(DType from, DType to);  // out= and in place: no category is lost

// Operands as the kernel wants them: cast to the compute
// dtype, numbers and 0-d host tensors left as they are.
void cast_operands(Call& c, std::span<Operand> out);
// bool masks become index tensors; `storage` and `kept` own what is made.
std::span<const Operand> resolve_masks(const Op& op, std::span<const Operand> in, size_t first,
                                       std::vector<Operand>& storage, std::vector<TensorRef>& kept);

extern std::atomic<bool> any_device_lost;

}  // namespace tenora
