// compile(): dead code, last uses, read sets, and which instructions may write into an operand.

#include <algorithm>
#include <vector>

#include "tenora/program.h"

namespace tenora {

namespace {

struct Live {
    std::vector<uint8_t> tensors, attrs;
};

bool produces(const Instruction& in, const Live& live) {
    const auto& slots = in.is_attr ? live.attrs : live.tensors;
    for (int i = 0; i < in.n_out; ++i)
        if (slots[in.first_out + i]) return true;
    return false;
}

void remove_dead(Program& p) {
    Live live{std::vector<uint8_t>(size_t(p.n_slots)), std::vector<uint8_t>(size_t(p.n_attr_slots))};
    for (int32_t o : p.outputs)
        if (o >= 0) live.tensors[size_t(o)] = 1;
    std::vector<Instruction> kept;
    for (size_t i = p.code.size(); i-- > 0;) {
        const Instruction& in = p.code[i];
        if (!produces(in, live)) continue;
        for (int k = 0; k < in.n_in; ++k) {
            const TensorArg& a = p.tensor_args[in.first_in + k];
            if (a.kind == TensorArg::Kind::Slot) live.tensors[a.slot] = 1;
            if (a.kind == TensorArg::Kind::AttrScalar) live.attrs[a.slot] = 1;
        }
        for (int k = 0; k < in.n_attr; ++k) {
            const AttrArg& a = p.attr_args[in.first_attr + k];
            if (a.kind == AttrArg::Kind::Slot) live.attrs[a.slot] = 1;
        }
        kept.push_back(in);
    }
    std::reverse(kept.begin(), kept.end());
    p.code = std::move(kept);
}

// Backwards over the code: the first time a slot is met is its last use. Outputs are used after the end.
void mark_last_uses(Program& p) {
    std::vector<uint32_t> uses(size_t(p.n_slots));
    for (int32_t o : p.outputs)
        if (o >= 0) uses[size_t(o)]++;
    std::vector<uint32_t> output_uses = uses;
    for (size_t i = p.code.size(); i-- > 0;) {
        Instruction& in = p.code[i];
        in.last_use = 0;
        in.final_output = -1;
        if (!in.is_attr && in.n_out == 1 && uses[in.first_out] == 1 && output_uses[in.first_out] == 1)
            in.final_output = int16_t(std::find(p.outputs.begin(), p.outputs.end(), int32_t(in.first_out)) -
                                      p.outputs.begin());
        for (int k = in.n_in; k-- > 0;) {
            const TensorArg& a = p.tensor_args[in.first_in + k];
            if (a.kind == TensorArg::Kind::Slot && uses[a.slot]++ == 0 && k < 64)
                in.last_use |= uint64_t(1) << k;
        }
    }
}

void find_reads(Program& p) {
    p.reads_data.assign(size_t(p.n_tensors), 0);
    p.reads_meta.assign(size_t(p.n_tensors), 0);
    p.links.assign(size_t(p.n_tensors), 0);
    p.reads_attr.assign(size_t(p.n_attrs), 0);
    auto read_attr = [&](uint32_t slot) {
        if (slot < uint32_t(p.n_attrs)) p.reads_attr[slot] = 1;
    };
    for (const Instruction& in : p.code) {
        uint64_t shape_only = in.is_attr ? ~uint64_t(0) : tenora::op(in.op).spec.shape_only;
        for (int k = 0; k < in.n_in; ++k) {
            const TensorArg& a = p.tensor_args[in.first_in + k];
            if (a.kind == TensorArg::Kind::AttrScalar) read_attr(a.slot);
            if (a.kind != TensorArg::Kind::Slot || a.slot >= uint32_t(p.n_tensors)) continue;
            (k < 64 && (shape_only >> k & 1) ? p.reads_meta : p.reads_data)[a.slot] = 1;
            if (k == 1 && !in.is_attr && in.op == core_ops().constant_in) p.links[a.slot] = 1;
        }
        for (int k = 0; k < in.n_attr; ++k)
            if (const AttrArg& a = p.attr_args[in.first_attr + k]; a.kind == AttrArg::Kind::Slot)
                read_attr(a.slot);
    }
    for (int32_t o : p.outputs)
        if (o >= 0 && o < p.n_tensors) p.reads_data[size_t(o)] = 1;
    p.data_inputs.clear();
    p.meta_inputs.clear();
    p.attr_inputs.clear();
    for (int i = 0; i < p.n_tensors; ++i) {
        if (p.reads_data[size_t(i)])
            p.data_inputs.push_back(uint16_t(i));
        else if (p.reads_meta[size_t(i)])
            p.meta_inputs.push_back(uint16_t(i));
    }
    for (int i = 0; i < p.n_attrs; ++i)
        if (p.reads_attr[size_t(i)]) p.attr_inputs.push_back(uint16_t(i));
}

// Adjoints of views and matrix products can add into what is there already.
void find_accumulable(Program& p) {
    p.accumulable.clear();
    for (const Instruction& in : p.code) {
        if (in.is_attr || in.final_output < 0) continue;
        const Op& callee = tenora::op(in.op);
        if ((callee.prepare && callee.prepare->accumulates) || callee.spec.structural.starts_with("embed") ||
            callee.spec.name.starts_with("embed") || callee.spec.structural.starts_with("matmul"))
            p.accumulable.push_back(uint16_t(in.final_output));
    }
}

// Ops whose result has the dtype of floating operands of
// one dtype. Checked again at replay against real operands.
void mark_reusable(Program& p) {
    for (Instruction& in : p.code) {
        if (in.is_attr || in.n_out != 1) continue;
        const Op& callee = tenora::op(in.op);
        const OpSpec& spec = callee.spec;
        bool shapes = spec.shape_rule == "broadcast" || spec.shape_rule == "same";
        bool kernel = spec.implementation == Implementation::Kernel ||
                      (spec.implementation == Implementation::Composite && !spec.through);
        in.reusable = callee.pointwise && callee.kept_dtypes && shapes && kernel &&
                      !spec.reads_self_for_inplace && !spec.random && spec.n_attr == 0 &&
                      spec.shape_only == 0 && in.n_in <= 8;
        const TensorArg* args = p.tensor_args.data() + in.first_in;
        in.identity_if_one = in.op == core_ops().mul && in.n_in == 2 &&
                             args[0].kind == TensorArg::Kind::Slot &&
                             args[1].kind == TensorArg::Kind::AttrScalar;
    }
}

// One pointwise call whose result is all there is: of gradients of one-output ops, see backward_simple.cpp.
bool is_one_call(const Program& p) {
    if (p.dynamic || p.code.size() != 1 || !p.meta_inputs.empty()) return false;
    const Instruction& in = p.code[0];
    if (in.is_attr || !in.reusable || in.n_attr || in.n_in > 2) return false;
    for (int k = 0; k < in.n_in; ++k) {
        TensorArg::Kind kind = p.tensor_args[in.first_in + k].kind;
        if (kind != TensorArg::Kind::Slot && kind != TensorArg::Kind::Scalar) return false;
    }
    return std::all_of(p.outputs.begin(), p.outputs.end(),
                       [&](int32_t o) { return o < 0 || o == int32_t(in.first_out); });
}

// `n_out` is not known here: an operand that is handed on
// must have been saved, so only slot 0 counts as a gradient.
void find_shortcuts(Program& p) {
    p.hands_on = p.code.empty() && !p.dynamic;
    for (int32_t o : p.outputs) p.hands_on = p.hands_on && o <= 0;
    p.one_call = is_one_call(p);
    p.saves = !p.attr_inputs.empty() || !p.meta_inputs.empty() || p.data_inputs.size() > 1 ||
              (p.data_inputs.size() == 1 && p.data_inputs[0] != 0);
}

}  // namespace

void compile(Program& p) {
    remove_dead(p);
    mark_last_uses(p);
    find_reads(p);
    find_accumulable(p);
    mark_reusable(p);
    find_shortcuts(p);
}

}  // namespace tenora
