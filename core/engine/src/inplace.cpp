// Writing into given tensors: in-place ops, out=, assignment, fused steps.
//   - Checks come first; the target is unchanged when a call fails.
//   - The result dtype must be castable to the target's without
//     losing a category, its shape must be the target's;
//     out= takes the result's shape once the call has succeeded.
//   - A target that overlaps itself is refused; one that overlaps
//     another operand in part is refused where that is certain.
//   - After the write: version bump, then history.
#include <algorithm>

#include "internal.h"
#include "storage_internal.h"
#include "tenora/hooks.h"
#include "tenora/tape.h"

namespace tenora {

BackendId call_target(const Op& op, std::span<const Operand> in, std::span<const Attr> attr,
                      std::span<Tensor* const> target);
bool accumulate_embed(Call& c, Tensor* buffer);

bool can_cast(DType from, DType to) {
    if (is_complex(from) && !is_complex(to)) return false;
    if (is_floating(from) && !is_differentiable(to)) return false;
    return from == DType::Bool || to != DType::Bool;
}

namespace {

void check_writable(std::string_view op, const Tensor* t) {
    if (t->storage && t->storage->read_only)
        fail(ErrorKind::Runtime, "read_only", op,
             text("target is read-only: got ", describe(t),
                  " over foreign read-only memory, expected writable memory. Clone it first."));
    if (overlaps_itself(t))
        fail(ErrorKind::Runtime, "overlap", op,
             text("more than one element of the written-to tensor refers to a single memory location: got ",
                  describe(t), " with strides ", t->strides(),
                  ", expected separate elements. Clone it first."));
}

bool surely_share(const Tensor* a, const Tensor* b) {
    return a->storage == b->storage && share_memory(a, b) && non_overlapping_dense(a) &&
           non_overlapping_dense(b);
}

// PyTorch's rule: certain partial overlap of dense windows
// is an error; what is not certain goes through a copy.
void check_whole(const Op& op, const Tensor* target, std::span<const Operand> in) {
    for (const Operand& o : in) {
        const Tensor* t = o.tensor;
        if (!t || t == target || !surely_share(t, target) || same_window(t, target)) continue;
        fail(ErrorKind::Runtime, "overlap", op.display(),
             text("input and written-to tensor share some of their memory: got ", describe(t), " and ",
                  describe(target), ", expected the same elements or none. Clone one of them first."));
    }
}

void check_overlap(const Op& op, const Tensor* target, std::span<const Operand> in) {
    if (op.pointwise) check_whole(op, target, in);
}

// What is read here and there is refused as out= even where all of it is the target; other operands of such
// an op where a part of them is.
void check_apart(const Op& op, const Tensor* target, std::span<const Operand> in) {
    for (size_t i = 0; i < in.size(); ++i) {
        const Tensor* t = in[i].tensor;
        if (!t || !needs_bit(op.spec.apart, std::min(i, size_t(op.spec.n_in))) || !surely_share(t, target))
            continue;
        fail(ErrorKind::Runtime, "overlap", op.display(),
             text("out= shares memory with what is read: got ", describe(t), " and ", describe(target),
                  ", expected memory of its own. Leave out= out, or clone the input first."));
    }
    check_whole(op, target, in);
}

void check_castable(const Op& op, DType from, DType to) {
    if (op.spec.exact_target ? from == to : can_cast(from, to)) return;
    fail(ErrorKind::Runtime, "dtype", op.display(),
         text("result type cannot be cast to the target: got ", from, ", expected what fits into ", to,
              ". Cast the operand or the target."));
}

// Whole numbers beside other results are indices: they go into no other dtype than theirs. Other results are
// cast to their out=.
void check_out_dtype(const Op& op, DType result, DType target) {
    check_castable(op, result, target);
    if (op.spec.n_out > 1 && is_integral(result) && result != target)
        fail(ErrorKind::Runtime, "dtype", op.display(),
             text("out= has another dtype than the result: got ", target, ", expected ", result,
                  ". Pass one of that dtype."));
}

// Pointwise results are cast to the target; others must have
// its dtype already, and a complex target keeps no real result.
void check_inplace_dtype(const Op& op, DType result, DType target) {
    check_castable(op, result, target);
    if (result == target || result == DType::Bool) return;
    if (op.pointwise && !(is_complex(target) && op.spec.n_in == 1)) return;
    fail(ErrorKind::Runtime, "dtype", op.display(),
         text("result dtype is not the target's: got ", result, ", expected ", target,
              ". Use the functional form."));
}

void bump(Tensor* t) {
    if (t->storage && !t->inference) t->storage->version.fetch_add(1, std::memory_order_release);
}

uint64_t needs_of(std::span<const Operand> in) {
    return modes().grad && !modes().inference ? needs_mask(in) : 0;
}

bool same_shape(const Tensor* t, std::span<const int64_t> shape) {
    return std::equal(t->shape().begin(), t->shape().end(), shape.begin(), shape.end());
}

// What the op would give: dtype and shape of result i, for ops with rules.
struct Inferred {
    std::vector<Operand> replaced;
    std::vector<TensorRef> kept;
    SmallArray<Attr, 12> attr;
    TensorRef none[kMaxOutputs];
    std::unique_ptr<Call> call;
    Inferred(const Op& op, std::span<const Operand> in, std::span<const Attr> given) : attr(given.size()) {
        std::copy(given.begin(), given.end(), attr.data());
        if (op.first_index) in = resolve_masks(op, in, op.first_index, replaced, kept);
        call = std::make_unique<Call>(op, in, attr, none);
        run_rules(*call);
    }
};

// The common case of x op= y: same dtype, dense, equal shape
// or a number; rules would find nothing to complain about.
bool obviously_fits(const Op& op, const Tensor* self, std::span<const Operand> in) {
    if (!(op.fast_dtypes >> int(self->dtype) & 1) || op.fast_out != DType::None) return false;
    for (size_t i = 1; i < in.size(); ++i) {
        const Operand& o = in[i];
        if (o.has_scalar) {
            if (!o.scalar.weak || o.scalar.kind == Scalar::Kind::Complex || !is_differentiable(self->dtype))
                return false;
        } else if (!o.tensor || o.tensor->dtype != self->dtype || !(o.tensor->device == self->device) ||
                   !same_shape(o.tensor, self->shape())) {
            return false;
        }
    }
    return true;
}

// Runs op into `target`, through a fresh result when dtypes differ.
BackendId write_result(const Op& op, std::span<const Operand> in, std::span<const Attr> attr, Tensor* target,
                       DType result) {
    if (result == target->dtype) return call_target(op, in, attr, {&target, 1});
    TensorRef out[kMaxOutputs];
    call_raw(op.id, in, attr, out);
    BackendId id = current_backend(target->device.space);
    copy_into(target, out[0].get(), id);
    return id;
}

// Operands as the tape sees them: those that the write changes are recorded copies, made before it. Of the
// others a write takes the data that is saved, and from a view its history.
class Recorded {
  public:
    explicit Recorded(std::span<const Operand> in) : given_(in) {}

    void keep(std::string_view op, Tensor* self, bool itself) {
        for (size_t i = 0; i < given_.size(); ++i) {
            Tensor* t = given_[i].tensor;
            if (!t || (t == self ? !itself : !share_memory(t, self))) continue;
            if (copied_.empty()) copied_.assign(given_.begin(), given_.end());
            kept_.emplace_back();
            Operand from(t);
            call(need_core(core_ops().clone, "clone", op), {&from, 1}, {}, &kept_.back());
            copied_[i] = Operand(kept_.back().get());
        }
    }

    std::span<const Operand> operands() const {
        return copied_.empty() ? given_ : std::span<const Operand>(copied_);
    }

  private:
    std::span<const Operand> given_;
    std::vector<Operand> copied_;
    std::vector<TensorRef> kept_;
};

// An op without a gradient of its own: the value is recorded, then assigned. Its parts may save what they
// read, so they read a copy of the target.
void call_through(const Op& op, Tensor* self, std::span<const Operand> in, std::span<const Attr> attr) {
    check_inplace(op.display(), self, true);
    TensorRef out[kMaxOutputs];
    Recorded recorded(in);
    recorded.keep(op.display(), self, true);
    call(op.id, recorded.operands(), attr, out);
    check_castable(op, out[0]->dtype, self->dtype);
    assign(self, Operand(out[0].get()));
}

// Drawn numbers and the like, which read nothing of the target: its gradient ends there, as after a copy.
bool only_fills(const Op& op) { return !op.spec.differentiable && (op.spec.shape_only & 1); }

void call_fill(const Op& op, Tensor* self, std::span<const Operand> in, std::span<const Attr> attr) {
    check_inplace(op.display(), self, true);
    TensorRef out;
    call_raw(op.id, in, attr, &out);
    assign(self, Operand(out.get()));
}

}  // namespace

void call_inplace(OpId id, Tensor* self, std::span<const Operand> in, std::span<const Attr> attr) {
    Op& o = op(id);
    o.calls.store(o.calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    if (o.spec.implementation == Implementation::View) return call_view_inplace(o, self, in, attr);
    check_writable(o.display(), self);
    uint64_t needs = needs_of(in);
    if (o.copies)
        return assign(self, in.size() > 1 ? in[1] : Operand(), !attr.empty() && attr[0].value.i64 != 0);
    if (o.spec.through && needs) return call_through(o, self, in, attr);
    if (needs && only_fills(o)) return call_fill(o, self, in, attr);
    DType result = self->dtype;
    if (!obviously_fits(o, self, in)) {
        if (o.has_rules) {
            Inferred inferred(o, in, attr);
            const OutMeta& m = inferred.call->meta[0];
            if (!same_shape(self, {m.shape, size_t(m.rank)}))
                fail(ErrorKind::Runtime, "shape", o.display(),
                     text("result does not have the shape of the target: got ", inferred.call->shape(),
                          ", expected ", self->shape(),
                          ". Operands may broadcast to the target, not the other way round."));
            check_inplace_dtype(o, m.dtype, self->dtype);
            result = m.dtype;
        }
        check_overlap(o, self, in);
    } else if (in.size() > 1) {
        check_overlap(o, self, in);
    }
    TensorRef old = begin_inplace(o, self, needs, in, attr);
    Recorded recorded(in);
    if (old) recorded.keep(o.display(), self, false);
    BackendId used;
    if (!o.has_rules) {
        TensorRef out[kMaxOutputs];
        call_raw(id, in, attr, out);
        check_castable(o, out[0]->dtype, self->dtype);
        if (!same_shape(self, out[0]->shape()))
            fail(ErrorKind::Runtime, "shape", o.display(),
                 text("result does not have the shape of the target: got ", describe(out[0].get()),
                      ", expected ", self->shape(),
                      ". Operands may broadcast to the target, not the other way round."));
        used = current_backend(self->device.space);
        copy_into(self, out[0].get(), used);
    } else {
        used = write_result(o, in, attr, self, result);
    }
    bump(self);
    if (old) record_inplace(o, used, self, old.get(), needs, recorded.operands(), attr);
}

namespace {

// Where the results of out= go: its tensors, or the windows that they get once the call has succeeded.
//   - Another shape is PyTorch's resize_: on the tensor's own memory where that has room, else on new memory.
//   - What held elements is told by a warning; foreign memory cannot grow.
class Targets {
  public:
    Targets(const Op& op, std::span<const Operand> in, std::span<Tensor* const> out)
        : op_(op), in_(in), out_(out) {}

    void warn(size_t i, std::span<const int64_t> shape) const {
        Tensor* t = out_[i];
        if (same_shape(t, shape)) return;
        for (const Operand& o : in_)
            if (o.tensor == t && op_.pointwise)
                fail(ErrorKind::Runtime, "shape", op_.display(),
                     text("out= is an operand and cannot be resized: got ", describe(t), ", expected ", shape,
                          ". Pass a tensor of its own."));
        if (t->numel == 0 || !hooks().warn) return;
        hooks().warn(
            "UserWarning",
            text("[", op_.display(), "] an output with one or more elements is resized: got ", describe(t),
                 ", expected ", shape,
                 ". Empty it with resize_(0) if it is to be used again, or pass one of that shape."));
    }

    void fit(size_t i, std::span<const int64_t> shape) {
        Tensor* t = out_[i];
        at_[i] = t;
        if (!same_shape(t, shape)) at_[i] = (window_[i] = resized(t, shape)).get();
        check_overlap(op_, at_[i], in_);
        if (op_.spec.apart) check_apart(op_, at_[i], in_);
    }

    std::span<Tensor* const> all() const { return {at_, out_.size()}; }

    // Whether some operand must be read before a target is written.
    bool overlap_operands() const {
        for (const Operand& o : in_)
            for (Tensor* t : all())
                if (o.tensor && overlaps(o.tensor, t)) return true;
        return false;
    }

    void fill(size_t i, TensorRef result) {
        BackendId id = current_backend(at_[i]->device.space);
        if (overlaps(result.get(), at_[i])) result = dense_copy(result.get(), id);
        copy_into(at_[i], result.get(), id);
    }

    void commit() {
        for (size_t i = 0; i < out_.size(); ++i) {
            Tensor* t = out_[i];
            if (Tensor* w = window_[i].get()) {
                if (w->storage != t->storage) {
                    if (t->storage) w->storage->version.store(t->version(), std::memory_order_relaxed);
                    forget_view(t);
                }
                set_window(t, w->storage, w->shape(), w->strides(), w->offset, w->dtype);
            }
            bump(t);
        }
    }

  private:
    static bool overlaps(const Tensor* a, const Tensor* b) {
        return share_memory(a, b) && !same_window(a, b);
    }

    TensorRef resized(const Tensor* t, std::span<const int64_t> shape) const {
        int64_t strides[kMaxRank];
        dense_strides(shape, strides);
        int64_t numel = checked_numel(shape, op_.display());
        int64_t room = t->storage ? int64_t(t->storage->bytes / size_of(t->dtype)) - t->offset : 0;
        if (numel <= room)
            return new_window(t->storage, shape, {strides, shape.size()}, t->offset, t->dtype, t->device);
        if (t->storage && t->storage->kind == kForeignStorage)
            fail(ErrorKind::Runtime, "storage", op_.display(),
                 text("out= lies on foreign memory, which cannot grow: got ", describe(t), ", expected ",
                      shape, ". Pass one of that shape."));
        return new_tensor(shape, t->dtype, t->device);
    }

    const Op& op_;
    std::span<const Operand> in_;
    std::span<Tensor* const> out_;
    TensorRef window_[kMaxOutputs];
    Tensor* at_[kMaxOutputs] = {};
};

void check_out(const Op& op, std::span<const Operand> in, std::span<Tensor* const> out) {
    if (out.size() != size_t(op.spec.n_out))
        fail(ErrorKind::Type, "argument", op.display(),
             text("wrong number of out= tensors: got ", out.size(), ", expected ", op.spec.n_out,
                  ". Pass one per result."));
    bool grad = modes().grad && !modes().inference;
    bool needs = needs_of(in) != 0;
    for (Tensor* t : out) {
        check_writable(op.display(), t);
        if (grad && (needs || tracked(t)))
            fail(ErrorKind::Runtime, "gradient", op.display(),
                 "out= does not support gradients: got an argument that requires grad, expected none. "
                 "Use it under no_grad() or without out=.");
    }
}

void check_out_device(const Op& op, Device made, Device out) {
    if (out == made) return;
    fail(ErrorKind::Runtime, "device", op.display(),
         text("out= is on another device: got ", out, ", expected ", made, ". Move it."));
}

}  // namespace

void call_out(OpId id, std::span<const Operand> in, std::span<const Attr> attr,
              std::span<Tensor* const> out) {
    Op& o = op(id);
    check_out(o, in, out);
    Targets targets(o, in, out);
    bool direct = o.has_rules;
    if (o.has_rules) {
        Inferred inferred(o, in, attr);
        for (size_t i = 0; i < out.size(); ++i) {
            const OutMeta& m = inferred.call->meta[i];
            check_out_dtype(o, m.dtype, out[i]->dtype);
            check_out_device(o, inferred.call->infer.device, out[i]->device);
            direct = direct && m.dtype == out[i]->dtype;
        }
        for (size_t i = 0; i < out.size(); ++i) targets.warn(i, inferred.call->shape(int(i)));
        for (size_t i = 0; i < out.size(); ++i) targets.fit(i, inferred.call->shape(int(i)));
    }
    if (direct && !targets.overlap_operands()) {
        call_target(o, in, attr, targets.all());
    } else {
        TensorRef made[kMaxOutputs];
        call_raw(id, in, attr, made);
        for (size_t i = 0; i < out.size(); ++i) {
            check_out_dtype(o, made[i]->dtype, out[i]->dtype);
            check_out_device(o, made[i]->device, out[i]->device);
        }
        for (size_t i = 0; i < out.size() && !o.has_rules; ++i) targets.warn(i, made[i]->shape());
        for (size_t i = 0; i < out.size() && !o.has_rules; ++i) targets.fit(i, made[i]->shape());
        for (size_t i = 0; i < out.size(); ++i) targets.fill(i, made[i]);
    }
    targets.commit();
}

void assign(Tensor* dst, const Operand& src, bool non_blocking) {
    const Op& copy = op(need_core(core_ops().copy, "copy", "copy"));
    check_writable("copy", dst);
    if (!src.tensor && !src.has_scalar)
        fail(ErrorKind::Type, "argument", "copy",
             "no source: got None, expected a tensor or a number. Pass one.");
    Operand in[] = {dst, src};
    uint64_t needs = needs_of(in);
    TensorRef copied;
    if (src.tensor && src.tensor != dst && share_memory(src.tensor, dst) && !same_window(src.tensor, dst)) {
        copied = dense_copy(src.tensor, current_backend(dst->device.space));
        in[1] = copied.get();
    }
    TensorRef out;
    Operand original[] = {dst, src};
    Recorded recorded(original);
    SmallArray<Attr, 1> attr(1);
    attr[0] = attr_bool(non_blocking);
    Call c(copy, in, attr, &out);
    Tensor* target[] = {dst};
    c.target = target;
    run_rules(c);
    c.backend = current_backend(dst->device.space);
    TensorRef old = begin_inplace(copy, dst, needs, original, attr);
    if (old) recorded.keep("copy", dst, false);
    if (!src.tensor || src.tensor != dst) copy.prepare->run(c);
    bump(dst);
    if (old) record_inplace(copy, c.backend, dst, old.get(), needs, recorded.operands(), attr);
}

bool call_accumulate(OpId id, std::span<const Operand> in, std::span<const Attr> attr, Tensor* buffer) {
    Op& o = op(id);
    if (BackendId used; o.shortcut && o.shortcut(o, in, nullptr, buffer, &used)) return true;
    SmallArray<Attr, 12> own(attr.size());
    std::copy(attr.begin(), attr.end(), own.data());
    TensorRef out;
    if (o.plan) {
        Call c(o, in, own, &out);
        return accumulate_embed(c, buffer);
    }
    if (o.spec.implementation != Implementation::Kernel || o.spec.n_out != 1 || !buffer->contiguous)
        return false;
    BackendId used = current_backend(buffer->device.space);
    if (!can_accumulate(o, used) || !o.prepare || !o.prepare->accumulates) return false;
    Call c(o, in, own, &out);
    run_rules(c);
    if (c.meta[0].dtype != buffer->dtype || !same_shape(buffer, c.shape()) ||
        !(c.infer.device == buffer->device))
        return false;
    Tensor* target[] = {buffer};
    c.target = target;
    c.backend = used;
    c.accumulate = true;
    try {
        o.prepare->run(c);
    } catch (const Declined&) {
        return false;
    }
    return true;
}

bool call_step(OpId id, std::span<Tensor* const> written, std::span<Tensor* const> read,
               std::span<const Attr> attr) {
    Op& o = op(id);
    if (written.empty()) return true;
    Device device = written[0]->device;
    BackendId used = current_backend(device.space);
    const KernelEntry* entry = kernel_entry(o, used);
    if (!entry || !(entry->flags & TNR_KERNEL_INPLACE)) return false;
    // Lists of one tensor a parameter, one after the other: the kernel trusts that those of a parameter
    // agree.
    size_t parameters = read.size();
    if (parameters == 0 || written.size() % parameters != 0) return false;
    std::vector<Operand> in;
    for (Tensor* t : written) in.emplace_back(t);
    for (Tensor* t : read) in.emplace_back(t);
    for (size_t i = 0; i < in.size(); ++i) {
        Tensor* t = in[i].tensor;
        if (!t->contiguous || t->dtype != written[0]->dtype || !(t->device == device) ||
            !same_shape(t, written[i % parameters]->shape()))
            return false;
    }
    for (Tensor* t : written) {
        check_writable(o.display(), t);
        check_inplace(o.display(), t, modes().grad && !modes().inference && tracked(t));
    }
    try {
        launch({.op = o,
                .backend = used,
                .in = in,
                .attr = attr,
                .out = written,
                .device = device,
                .fresh = true});
    } catch (const Declined&) {
        return false;
    }
    for (Tensor* t : written) bump(t);
    return true;
}

}  // namespace tenora
