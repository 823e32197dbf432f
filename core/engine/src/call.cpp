// The dispatcher.
//   - Fast path: a pointwise kernel, dense operands of one shape, dtype and
//     device, numbers of no higher category. No rule runs and nothing is
//     allocated but the result. Whatever does not fit goes the slow way.
//   - Shortcuts: the plain case of another op, as the product of two matrices.
//   - Slow path: device, rules, implementation by kind. A kernel that
//     declines gives way to the composite or structural plan, then to the
//     fallback on the host if the user allowed it, then to NotSupported.
//   - The tape is told last, once the results exist.
#include <algorithm>
#include <bit>

#include "fast_path.h"
#include "internal.h"
#include "tape_internal.h"
#include "tenora/hooks.h"
#include "tenora/tape.h"

namespace tenora {

namespace {

// A Python number that does not raise the category of `dtype`.
bool fits(const Scalar& s, DType dtype) {
    if (!s.weak || s.wide) return false;
    switch (s.kind) {
        case Scalar::Kind::Bool:
            return false;  // rare, and the rule of sub refuses them
        case Scalar::Kind::Int:
            return dtype != DType::Bool;
        case Scalar::Kind::Float:
            return is_differentiable(dtype);
        case Scalar::Kind::Complex:
            return is_complex(dtype);
    }
    return false;
}

bool same_dense(const Tensor* a, const Tensor* b) {
    if (!b->contiguous || a->dtype != b->dtype || !(a->device == b->device) || a->dl.ndim != b->dl.ndim)
        return false;
    for (int i = 0; i < a->dl.ndim; ++i)
        if (a->dl.shape[i] != b->dl.shape[i]) return false;
    return true;
}

struct FastScalar {
    alignas(16) unsigned char data[16];
    int64_t dims[2];
    DLTensor dl;
    void set(const Scalar& s, DType dtype) {
        if (dtype == DType::F32)
            *reinterpret_cast<uint32_t*>(data) = std::bit_cast<uint32_t>(
                static_cast<decltype(0.0f)>(s.kind == Scalar::Kind::Float ? s.f : double(s.i)));
        else
            store_scalar(s, dtype, data);
        dims[0] = dims[1] = 0;
        dl = DLTensor{data, {1, 0}, 0, info(dtype).dl, dims, dims + 1, 0};
    }
};

// The dense tensor whose shape, dtype and device every operand has; null: not a case for the fast path.
const Tensor* fast_operands(const Op& op, std::span<const Operand> in, FastScalar& number,
                            const DLTensor** descriptors, uint64_t* host_scalars) {
    const Tensor* x = in[0].tensor ? in[0].tensor : in.size() > 1 ? in[1].tensor : nullptr;
    if (!x || !x->contiguous || !(op.fast_dtypes >> int(x->dtype) & 1) || x->numel * 16 > kFastBytes)
        return nullptr;
    *host_scalars = 0;
    for (size_t i = 0; i < in.size(); ++i) {
        if (const Tensor* t = in[i].tensor) {
            if (t != x && !same_dense(x, t)) return nullptr;
            descriptors[i] = &t->dl;
        } else {
            if (!in[i].has_scalar || !fits(in[i].scalar, x->dtype)) return nullptr;
            number.set(in[i].scalar, x->dtype);
            descriptors[i] = &number.dl;
            *host_scalars = 1ull << i;
        }
    }
    return x;
}

// The kernel may write into operand 0, which no other operand overlaps in part.
bool fast_target(const Op& op, const KernelEntry* entry, std::span<const Operand> in, const Tensor* target,
                 DType dtype, bool alone) {
    if (!(entry->flags & TNR_KERNEL_INPLACE) || dtype != target->dtype || op.spec.checks_data ||
        op.spec.reads_self_for_inplace)
        return false;
    const Tensor* other = in.size() > 1 ? in[1].tensor : nullptr;
    return !other || other == target || alone || !share_memory(other, target);
}

// Result in *out, or in `target` (operand 0 itself) for in-place calls; `alone`: nobody else has its memory.
// False: not a case for the fast path.
bool fast_call(const Op& op, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out,
               Tensor* target, BackendId* used, bool alone = false) {
    FastScalar number;
    const DLTensor* descriptors[2];
    tnr_call call;
    const Tensor* x = fast_operands(op, in, number, descriptors, &call.host_scalar_mask);
    if (!x) return false;
    *used = current_backend(x->device.space);
    const KernelEntry* entry = fast_entry(op, *used, x->dtype);
    DType dtype = op.fast_out == DType::None ? x->dtype : op.fast_out;
    if (!entry || (target && !fast_target(op, entry, in, target, dtype, alone))) return false;
    Tensor* result = target;
    if (!target) {
        *out = new_tensor(x->shape(), dtype, x->device);
        result = out->get();
    }
    call.flat = 1;
    int32_t status = run_fast(entry, call, in, attr, descriptors, result, op);
    if (status == TNR_OK) [[likely]]
        return true;
    if (!target) *out = nullptr;
    return false;
}

constexpr int kFastRank = 6;

// An operand seen with the shape of the result.
struct Expanded {
    int64_t strides[kFastRank];
    DLTensor dl;
};

// Writes the common shape of two operands; 0 = they do not
// broadcast (the slow path says why) or are too many dimensions.
int common_shape(const Tensor* a, const Tensor* b, int64_t* shape) {
    if (a->rank() < b->rank()) std::swap(a, b);
    int rank = a->rank(), lead = rank - b->rank();
    if (rank > kFastRank) return 0;
    for (int i = 0; i < rank; ++i) {
        int64_t x = a->dl.shape[i], y = i < lead ? 1 : b->dl.shape[i - lead];
        if (x != y && x != 1 && y != 1) return 0;
        shape[i] = x == 1 ? y : x;
    }
    return rank;
}

bool expand_fast(const Tensor* t, std::span<int64_t> shape, Expanded& e, const DLTensor** descriptor,
                 bool* same) {
    int rank = int(shape.size()), lead = rank - t->rank();
    *same = lead == 0;
    for (int i = 0; i < rank; ++i) {
        bool own = i >= lead && t->dl.shape[i - lead] == shape[size_t(i)];
        *same = *same && own;
        e.strides[i] = own ? t->dl.strides[i - lead] : 0;
        if (e.strides[i] < 0) return false;
    }
    *descriptor = &t->dl;
    if (*same) return true;
    e.dl = t->dl;
    e.dl.ndim = rank;
    e.dl.shape = shape.data();
    e.dl.strides = e.strides;
    *descriptor = &e.dl;
    return true;
}

// Two tensors of one dtype and device, strided or of shapes
// that broadcast, and a kernel that reads any stride.
bool strided_call(const Op& op, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out,
                  BackendId* used) {
    const Tensor *a = in[0].tensor, *b = in.size() == 2 ? in[1].tensor : nullptr;
    if (!a || !b || a->dtype != b->dtype || !(a->device == b->device) ||
        !(op.fast_dtypes >> int(a->dtype) & 1))
        return false;
    int64_t shape[kFastRank];
    int rank = common_shape(a, b, shape);
    if (!rank || a->rank() == 0 || b->rank() == 0) return false;
    *used = current_backend(a->device.space);
    const KernelEntry* entry = fast_entry(op, *used, a->dtype);
    if (!entry || !(entry->flags & TNR_KERNEL_STRIDED)) return false;
    Expanded expanded[2];
    const DLTensor* descriptors[2];
    std::span<int64_t> common{shape, size_t(rank)};
    bool same_a, same_b;
    if (!expand_fast(a, common, expanded[0], &descriptors[0], &same_a) ||
        !expand_fast(b, common, expanded[1], &descriptors[1], &same_b))
        return false;
    double elements = 1;
    for (int64_t size : common) elements *= double(size);
    if (elements * 16 > double(kFastBytes)) return false;
    *out = new_tensor(common, op.fast_out == DType::None ? a->dtype : op.fast_out, a->device);
    tnr_call call;
    call.host_scalar_mask = 0;
    call.flat = same_a && same_b && a->contiguous && b->contiguous;
    if (run_fast(entry, call, in, attr, descriptors, out->get(), op) == TNR_OK) return true;
    *out = nullptr;
    return false;
}

void check_masks(const Op& op, std::span<const Operand> in) {
    for (size_t i = 0; i < in.size(); ++i)
        if (Tensor* t = in[i].tensor; t && needs_bit(op.spec.masks, i) && t->dtype != DType::Bool)
            fail(ErrorKind::Runtime, "dtype", op.display(),
                 text("wrong dtype of the mask: got ", t->dtype,
                      ", expected bool. Compare it with something, e.g. `mask != 0`."));
}

// The general way. Results in out; returns the backend that computed.
BackendId slow_call(const Op& op, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out,
                    std::span<Tensor* const> target, uint64_t* needs) {
    std::vector<Operand> replaced;
    std::vector<TensorRef> kept;
    std::span<const Operand> operands = in;
    if (op.spec.masks) check_masks(op, in);
    if (op.first_index) operands = resolve_masks(op, in, op.first_index, replaced, kept);
    SmallArray<Attr, 12> own(attr.size());
    std::copy(attr.begin(), attr.end(), own.data());
    Call c(op, operands, own, out);
    c.target = target;
    c.taped = needs != nullptr;
    run_rules(c);
    execute(c, needs ? *needs : 0);
    if (needs && op.spec.through && *needs) *needs = 0;  // its parts are on the tape
    for (int i = 0; i < op.spec.n_out; ++i) {
        if (size_t(i) < target.size() && target[size_t(i)] && out[i].get() != target[size_t(i)])
            copy_into(target[size_t(i)], out[i].get(), current_backend(target[size_t(i)]->device.space));
        else if (out[i] && modes().inference)
            out[i]->inference = true;
    }
    return c.backend;
}

}  // namespace

Device common_device(const Op& op, std::span<const Operand> in) {
    Device device;
    const Tensor* chosen = nullptr;
    for (const Operand& o : in) {
        Tensor* t = o.tensor;
        if (!t) continue;
        bool roams = t->device.space == 0 && t->rank() == 0;  // a number in effect
        if (!chosen || (chosen->rank() == 0 && chosen->device.space == 0 && !roams)) {
            chosen = t;
            device = t->device;
            continue;
        }
        if (t->device == device || (roams && (op.pointwise || !op.has_rules || op.spec.variadic))) continue;
        fail(ErrorKind::Runtime, "device", op.display(),
             text("operands on different devices: got ", device, " and ", t->device,
                  ", expected one device. Move one of them with .to(...)."));
    }
    return device;
}

void run_rules(Call& c) {
    const Op& op = c.op;
    if (c.infer.attr.size() < size_t(op.spec.n_attr))
        fail(ErrorKind::Type, "argument", op.display(),
             text("wrong number of attributes: got ", c.infer.attr.size(), ", expected ", op.spec.n_attr,
                  ". Check the call."));
    if (c.in.size() < size_t(op.spec.n_in) && !op.spec.variadic)
        fail(ErrorKind::Type, "argument", op.display(),
             text("wrong number of operands: got ", c.in.size(), ", expected ", op.spec.n_in,
                  ". Check the call."));
    // The parts of a function look at their operands themselves; where it has rules a kernel may take its
    // place.
    bool parts_look = op.spec.implementation == Implementation::Function && !op.has_rules;
    bool own_devices = (parts_look || op.copies) && !c.in.empty() && c.in[0].tensor;
    c.infer.device = own_devices ? c.in[0].tensor->device : common_device(op, c.in);
    if (!op.has_rules) return;
    if (op.dtype_rule)
        op.dtype_rule(c.infer);
    else
        op.spec.python_dtype_rule(c.infer);
    if (op.shape_rule)
        op.shape_rule(c.infer);
    else
        op.spec.python_shape_rule(c.infer);
}

void call(OpId id, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out) {
    Op& o = op(id);
    o.calls.store(o.calls.load(std::memory_order_relaxed) + 1,
                  std::memory_order_relaxed);  // statistics: races lose counts
    uint64_t needs = modes_storage.grad && !modes_storage.inference ? needs_mask(in) : 0;
    BackendId used = kNoBackend;
    bool pointwise = o.fast_dtypes && in.size() == size_t(o.spec.n_in);
    bool uniform = pointwise && fast_call(o, in, attr, out, nullptr, &used);
    bool done = uniform || (pointwise && strided_call(o, in, attr, out, &used)) ||
                (o.shortcut && o.shortcut(o, in, out, nullptr, &used));
    if (!done) used = slow_call(o, in, attr, out, {}, &needs);
    bool recorded_itself = o.spec.implementation == Implementation::Function && !o.has_rules;
    if (!needs || !o.spec.differentiable || recorded_itself) return;
    if (uniform && o.fast_out == DType::None)
        record_uniform(o, used, needs, in, attr, out->get());
    else
        record(o, used, needs, in, attr, out, o.spec.n_out);
}

void call_raw(OpId id, std::span<const Operand> in, std::span<const Attr> attr, TensorRef* out) {
    Op& o = op(id);
    o.calls.store(o.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    BackendId used;
    bool pointwise = o.fast_dtypes && in.size() == size_t(o.spec.n_in);
    bool done = (pointwise &&
                 (fast_call(o, in, attr, out, nullptr, &used) || strided_call(o, in, attr, out, &used))) ||
                (o.shortcut && o.shortcut(o, in, out, nullptr, &used));
    if (!done) slow_call(o, in, attr, out, {}, nullptr);
}

// Into operand 0, whose memory nobody else has. False: not a case for the fast path.
bool overwrite_fast(const Op& op, std::span<const Operand> in) {
    BackendId used;
    return op.fast_dtypes && in.size() == size_t(op.spec.n_in) &&
           fast_call(op, in, {}, nullptr, in[0].tensor, &used, true);
}

// -------------------------------------------------------------------------------------------------
// Writing into given tensors: inplace.cpp decides what is allowed

BackendId call_target(const Op& op, std::span<const Operand> in, std::span<const Attr> attr,
                      std::span<Tensor* const> target) {
    BackendId used;
    if (op.fast_dtypes && target.size() == 1 && in.size() == size_t(op.spec.n_in) &&
        in[0].tensor == target[0] && fast_call(op, in, attr, nullptr, target[0], &used))
        return used;
    TensorRef out[kMaxOutputs];
    return slow_call(op, in, attr, out, target, nullptr);
}

}  // namespace tenora
