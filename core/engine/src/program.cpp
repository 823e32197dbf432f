// Program: life, text, and Programs for fewer gradients.

#include "tenora/program.h"

#include <mutex>

#include "tenora/tensor.h"

namespace tenora {

struct Program::Derived {  // list of restricted Programs, grown at the front, read without a lock
    uint64_t mask;
    ProgramRef program;
    Derived* next;
};

namespace {
std::mutex derive_lock;  // one writer of `derived_` lists at a time
}

Program::Program() { count_live_program(1); }

Program::~Program() {
    for (Derived* d = derived_.load(); d;) delete std::exchange(d, d->next);
    count_live_program(-1);
}

void Program::release() {
    if (count_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

namespace {

ProgramRef copy_with_outputs(const Program& p, uint64_t mask) {
    ProgramRef copy = ProgramRef::steal(new Program());
    copy->op = p.op;
    copy->n_tensors = p.n_tensors;
    copy->n_attrs = p.n_attrs;
    copy->code = p.code;
    copy->tensor_args = p.tensor_args;
    copy->attr_args = p.attr_args;
    copy->constants = p.constants;  // their data stays with `p`, which outlives what is derived from it
    copy->outputs = p.outputs;
    copy->n_slots = p.n_slots;
    copy->n_attr_slots = p.n_attr_slots;
    copy->needs = p.needs & mask;
    for (size_t i = 0; i < copy->outputs.size(); ++i)
        if (!needs_bit(mask, i)) copy->outputs[i] = -1;
    compile(*copy);
    return copy;
}

}  // namespace

const Program* Program::derive(uint64_t mask) const {
    for (Derived* d = derived_.load(std::memory_order_acquire); d; d = d->next)
        if (d->mask == mask) return d->program.get();
    std::lock_guard lock(derive_lock);
    for (Derived* d = derived_.load(std::memory_order_acquire); d; d = d->next)
        if (d->mask == mask) return d->program.get();
    auto* made = new Derived{mask, copy_with_outputs(*this, mask), derived_.load()};
    derived_.store(made, std::memory_order_release);
    return made->program.get();
}

namespace {

std::string text(const Scalar& s) {
    if (s.kind == Scalar::Kind::Float) return std::to_string(s.f);
    if (s.kind == Scalar::Kind::Complex) return std::to_string(s.f) + "+" + std::to_string(s.imag) + "j";
    return std::to_string(s.i);
}

std::string text(const TensorArg& a) {
    switch (a.kind) {
        case TensorArg::Kind::Slot:
            return "t" + std::to_string(a.slot);
        case TensorArg::Kind::AttrScalar:
            return "a" + std::to_string(a.slot);
        case TensorArg::Kind::Scalar:
            return text(a.scalar);
        default:
            return "None";
    }
}

std::string text(const Attr& a) {
    switch (a.kind) {
        case TNR_ATTR_NONE:
            return "None";
        case TNR_ATTR_F64:
            return std::to_string(a.value.f64);
        case TNR_ATTR_SCALAR:
            return a.dtype == TNR_F64 ? std::to_string(a.value.f64) : std::to_string(a.value.i64);
        case TNR_ATTR_BOOL:
            return a.value.i64 ? "True" : "False";
        case TNR_ATTR_DTYPE:
            return std::string(info(DType(a.value.i64)).name);
        case TNR_ATTR_STRING:
            return "'" + std::string(a.value.string, a.count) + "'";
        case TNR_ATTR_SPAN: {
            std::string s = "(";
            for (uint32_t i = 0; i < a.count; ++i) s += std::to_string(a.value.span[i]) + ", ";
            return s + ")";
        }
        default:
            return std::to_string(a.value.i64);
    }
}

}  // namespace

std::string Program::str() const {
    std::string s = op + ": " + std::to_string(n_tensors) + " tensors, " + std::to_string(n_attrs) +
                    " attributes" + (dynamic ? ", dynamic\n" : "\n");
    for (const Instruction& in : code) {
        s += std::string("  ") + (in.is_attr ? "a" : "t") + std::to_string(in.first_out) + " = " +
             std::string(in.is_attr ? name_of(in.code) : std::string_view(tenora::op(in.op).spec.name)) + "(";
        for (int i = 0; i < in.n_in; ++i)
            s += text(tensor_args[in.first_in + i]) + (i < 64 && (in.last_use >> i & 1) ? "! " : " ");
        s += ";";
        for (int i = 0; i < in.n_attr; ++i) {
            const AttrArg& a = attr_args[in.first_attr + i];
            s += " " +
                 (a.kind == AttrArg::Kind::Slot ? "a" + std::to_string(a.slot) : text(constants[a.constant]));
        }
        s += ")\n";
    }
    s += "  ->";
    for (int32_t o : outputs) s += o < 0 ? " None" : " t" + std::to_string(o);
    return s + "\n";
}

ProgramRef dynamic_program(std::string op, int n_tensors, int n_attrs, int n_outputs) {
    ProgramRef p = ProgramRef::steal(new Program());
    p->op = std::move(op);
    p->n_tensors = p->n_slots = n_tensors;
    p->n_attrs = p->n_attr_slots = n_attrs;
    p->dynamic = p->saves = true;
    p->outputs.assign(size_t(n_outputs), -1);
    p->reads_data.assign(size_t(n_tensors), 1);
    p->reads_meta.assign(size_t(n_tensors), 0);
    p->reads_attr.assign(size_t(n_attrs), 1);
    for (int i = 0; i < n_tensors; ++i) p->data_inputs.push_back(uint16_t(i));
    for (int i = 0; i < n_attrs; ++i) p->attr_inputs.push_back(uint16_t(i));
    return p;
}

}  // namespace tenora
