// Replay of a Program.
//   - Slots of results live on the stack (heap beyond kStackSlots)
//     and are dropped right after their last use, so that memory
//     does not pile up and a later instruction may write into them.
//   - An operand is overwritten only at its last use, if replay holds
//     the tensor and its storage alone, it is dense, and the kernel
//     allows an output that is an input. Never while recording.

#include "attr_code.h"
#include "geometry.h"
#include "tenora/error.h"
#include "tenora/modes.h"
#include "tenora/program.h"
#include "values.h"

namespace tenora {

bool overwrite_fast(const Op& op, std::span<const Operand> in);

namespace {

constexpr size_t kStackSlots = 16, kStackAttrs = 16, kStackOperands = 6;

bool overwritable(Tensor* t) {
    return t->use_count() == 1 && t->contiguous && is_differentiable(t->dtype) && t->storage &&
           t->storage->unique() && !t->storage->read_only && !t->storage->foreign_release &&
           !t->needs_grad() && t->storage->bytes <= 2 * size_t(t->numel) * size_of(t->dtype) + 64;
}

bool like(const Tensor* a, const Tensor* b) {
    return a->dtype == b->dtype && a->device == b->device && same_shape(a, b);
}

bool inplace_kernel(const Op& op, BackendId backend, DType dtype) {
    const KernelEntry* kernel = tenora::op(op.kernel_op).kernels[backend].load(std::memory_order_acquire);
    return kernel && !kernel->supports && (kernel->flags & TNR_KERNEL_INPLACE) &&
           (kernel->dtypes & TNR_MASK(int(dtype)));
}

bool fits(std::span<const Operand> ins, const Tensor* target) {
    for (const Operand& o : ins) {
        if (o.tensor ? !like(o.tensor, target) : !o.has_scalar) return false;
        if (!o.tensor && o.scalar.kind == Scalar::Kind::Complex && !is_complex(target->dtype)) return false;
    }
    return true;
}

class Replay {
  public:
    Replay(const Program& p, std::span<Tensor* const> tensors, std::span<const Attr> attrs,
           const ReplayOptions& options)
        : p_(p),
          tensors_(tensors),
          options_(options),
          results_(size_t(p.n_slots - p.n_tensors)),
          attrs_(size_t(p.n_attr_slots)) {
        for (size_t i = 0; i < attrs.size(); ++i) attrs_[i] = attrs[i];
        for (size_t i = attrs.size(); i < size_t(p.n_attrs); ++i) attrs_[i] = attr_none();
    }

    void run(std::span<TensorRef> outputs) {
        for (const Instruction& in : p_.code) {
            if (in.is_attr)
                attribute(in);
            else
                call(in);
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            int32_t slot = p_.outputs[i];
            if (slot < 0)
                outputs[i] = nullptr;
            else if (slot < p_.n_tensors)
                outputs[i] = TensorRef(tensor(uint32_t(slot)));
            else
                outputs[i] = result(uint32_t(slot));
        }
    }

  private:
    TensorRef& result(uint32_t slot) { return results_[slot - uint32_t(p_.n_tensors)]; }

    Tensor* tensor(uint32_t slot) {
        Tensor* t = slot < uint32_t(p_.n_tensors) ? tensors_[slot] : result(slot).get();
        if (!t) [[unlikely]]
            fail(ErrorKind::Runtime, "program", p_.op,
                 "its formula reads tensor " + std::to_string(slot) +
                     ", which does not exist in this call. Check the op's formula.");
        return t;
    }

    // The reference through which replay holds a slot, if it does.
    TensorRef* held(uint32_t slot) {
        if (slot >= uint32_t(p_.n_tensors)) return &result(slot);
        return options_.donated && options_.donated[slot] ? &options_.donated[slot] : nullptr;
    }

    const Attr& attr(const AttrArg& a) {
        return a.kind == AttrArg::Kind::Slot ? attrs_[a.slot] : p_.constants[a.constant];
    }

    void attribute(const Instruction& in) {
        Values<Attr, kStackOperands> args(in.n_attr);
        for (int i = 0; i < in.n_attr; ++i) args[size_t(i)] = attr(p_.attr_args[in.first_attr + i]);
        Tensor* t = in.n_in ? tensor(p_.tensor_args[in.first_in].slot) : nullptr;
        attrs_[in.first_out] = evaluate(in.code, t, {args.data(), in.n_attr}, arena_, p_.op);
        drop(in);
    }

    // Into an operand that is empty yet, member by member: a copy of one that was just made in pieces waits
    // for them.
    void fill(Operand& to, const TensorArg& a) {
        switch (a.kind) {
            case TensorArg::Kind::Slot:
                to.tensor = tensor(a.slot);
                break;
            case TensorArg::Kind::Scalar:
                set(to, a.scalar);
                break;
            case TensorArg::Kind::AttrScalar:
                if (const Attr& value = attrs_[a.slot]; value.kind != TNR_ATTR_NONE)
                    set(to, to_scalar(value));
                break;
            default:
                break;
        }
    }

    static void set(Operand& to, const Scalar& number) {
        to.scalar = number;
        to.has_scalar = true;
    }

    void call(const Instruction& in) {
        if (in.identity_if_one && identity(in)) return;
        Values<Operand, kStackOperands> operands(in.n_in);
        Values<Attr, kStackOperands> attrs(in.n_attr);
        for (int i = 0; i < in.n_in; ++i) fill(operands[size_t(i)], p_.tensor_args[in.first_in + i]);
        for (int i = 0; i < in.n_attr; ++i) attrs[size_t(i)] = attr(p_.attr_args[in.first_attr + i]);
        std::span<const Operand> ins{operands.data(), in.n_in};
        std::span<const Attr> values{attrs.data(), in.n_attr};
        TensorRef* out = &result(in.first_out);
        if (options_.recording)
            tenora::call(in.op, ins, values, out);
        else if (!accumulate(in, ins, values) && !overwrite(in, ins))
            call_raw(in.op, ins, values, out);
        drop(in);
    }

    // mul(x, 1): an op with a factor that is one by default costs nothing.
    bool identity(const Instruction& in) {
        const TensorArg* args = p_.tensor_args.data() + in.first_in;
        const Attr& factor = attrs_[args[1].slot];
        bool floating =
            factor.kind == TNR_ATTR_F64 || (factor.kind == TNR_ATTR_SCALAR && factor.dtype == TNR_F64);
        bool one = floating ? factor.value.f64 == 1.0 : factor.kind != TNR_ATTR_NONE && factor.value.i64 == 1;
        Tensor* x = tensor(args[0].slot);
        if (!one || factor.kind == TNR_ATTR_SPAN || !is_differentiable(x->dtype)) return false;
        if (factor.kind == TNR_ATTR_SCALAR && !factor.weak) return false;
        result(in.first_out) = TensorRef(x);
        drop(in);
        return true;
    }

    bool accumulate(const Instruction& in, std::span<const Operand> ins, std::span<const Attr> attrs) {
        if (in.final_output < 0 || !options_.accumulate_into) return false;
        TensorRef& buffer = options_.accumulate_into[in.final_output];
        if (!buffer || !call_accumulate(in.op, ins, attrs, buffer.get())) return false;
        result(in.first_out) = std::move(buffer);
        return true;
    }

    bool overwrite(const Instruction& in, std::span<const Operand> ins) {
        if (!in.reusable || !in.last_use) return false;
        for (size_t i = 0; i < ins.size(); ++i) {
            const TensorArg& a = p_.tensor_args[in.first_in + i];
            if (!(in.last_use >> i & 1) || a.kind != TensorArg::Kind::Slot) continue;
            TensorRef* mine = held(a.slot);
            if (!mine || !*mine || !overwrite_operand(op(in.op), ins, i, mine->get())) continue;
            TensorRef taken = std::move(*mine);
            result(in.first_out) = std::move(taken);
            return true;
        }
        return false;
    }

    void drop(const Instruction& in) {
        for (uint64_t mask = in.last_use; mask; mask &= mask - 1) {
            uint32_t slot = p_.tensor_args[in.first_in + uint32_t(__builtin_ctzll(mask))].slot;
            if (TensorRef* mine = held(slot)) *mine = nullptr;
        }
    }

    const Program& p_;
    std::span<Tensor* const> tensors_;
    const ReplayOptions& options_;
    Values<TensorRef, kStackSlots> results_;
    Values<Attr, kStackAttrs> attrs_;
    SpanArena arena_;
};

}  // namespace

bool overwrite_operand(const Op& callee, std::span<const Operand> in, size_t i, Tensor* target) {
    if (!overwritable(target) || !(callee.kept_dtypes >> int(target->dtype) & 1)) return false;
    if (i == 0 && overwrite_fast(callee, in)) return true;
    BackendId backend = current_backend(target->device.space);
    if (!fits(in, target) || !inplace_kernel(callee, backend, target->dtype)) return false;
    run_kernel(callee, backend, in, {}, {&target, 1});
    return true;
}

void replay(const Program& p, std::span<Tensor* const> tensors, std::span<const Attr> attrs,
            std::span<TensorRef> outputs, const ReplayOptions& options) {
    Replay(p, tensors, attrs, options).run(outputs);
}

}  // namespace tenora
