// ProgramBuilder: checks what a tracer emits, merges equal instructions, keeps constants.

#include <cstring>

#include "attr_code.h"
#include "tenora/error.h"
#include "tenora/program.h"

namespace tenora {

ProgramBuilder::ProgramBuilder(std::string op, int n_tensors, int n_attrs)
    : program_(ProgramRef::steal(new Program())) {
    if (n_tensors < 0 || n_attrs < 0 || n_tensors > 0xffff || n_attrs > 0xffff)
        fail(ErrorKind::Value, "program", op,
             "formula inputs: got " + std::to_string(n_tensors) + " tensors and " + std::to_string(n_attrs) +
                 " attributes, expected between 0 and 65535 of each.");
    program_->op = std::move(op);
    program_->n_tensors = program_->n_slots = n_tensors;
    program_->n_attrs = program_->n_attr_slots = n_attrs;
}

void ProgramBuilder::check(std::span<const TensorArg> in, std::span<const AttrArg> attr,
                           std::string_view callee) const {
    auto bad = [&](const std::string& what) {
        fail(ErrorKind::Value, "program", program_->op,
             "call of " + std::string(callee) + " in its formula: " + what);
    };
    if (in.size() > 0xffff || attr.size() > 0xffff) bad("got more than 65535 arguments.");
    for (const TensorArg& a : in) {
        bool tensor = a.kind == TensorArg::Kind::Slot, number = a.kind == TensorArg::Kind::AttrScalar;
        int limit = tensor ? program_->n_slots : program_->n_attr_slots;
        if ((tensor || number) && a.slot >= uint32_t(limit))
            bad("got slot " + std::to_string(a.slot) + ", expected one below " + std::to_string(limit) + ".");
    }
    for (const AttrArg& a : attr) {
        bool slot = a.kind == AttrArg::Kind::Slot;
        size_t limit = slot ? size_t(program_->n_attr_slots) : program_->constants.size();
        if ((slot ? a.slot : a.constant) >= limit)
            bad(std::string("got ") + (slot ? "attribute slot " : "constant ") +
                std::to_string(slot ? a.slot : a.constant) + ", expected one below " + std::to_string(limit) +
                ".");
    }
}

namespace {

void add_key(std::vector<uint64_t>& key, const TensorArg& a) {
    key.push_back(uint64_t(a.kind) << 32 | (a.kind == TensorArg::Kind::Scalar ? 0 : a.slot));
    if (a.kind != TensorArg::Kind::Scalar) return;
    uint64_t imag;
    std::memcpy(&imag, &a.scalar.imag, 8);
    key.insert(key.end(), {uint64_t(a.scalar.kind) << 1 | a.scalar.weak, uint64_t(a.scalar.i), imag});
}

}  // namespace

int ProgramBuilder::append(Instruction instruction, std::span<const TensorArg> in,
                           std::span<const AttrArg> attr, bool merge) {
    std::vector<uint64_t> key{
        uint64_t(instruction.is_attr) << 32 | uint64_t(instruction.code) << 16 | instruction.op, in.size()};
    for (const TensorArg& a : in) add_key(key, a);
    for (const AttrArg& a : attr)
        key.push_back(a.kind == AttrArg::Kind::Slot ? uint64_t(a.slot) << 1 : uint64_t(a.constant) << 1 | 1);
    if (merge)
        if (auto it = seen_.find(key); it != seen_.end()) return int(it->second);
    instruction.n_in = uint16_t(in.size());
    instruction.n_attr = uint16_t(attr.size());
    instruction.first_in = uint32_t(program_->tensor_args.size());
    instruction.first_attr = uint32_t(program_->attr_args.size());
    int& slots = instruction.is_attr ? program_->n_attr_slots : program_->n_slots;
    instruction.first_out = uint32_t(slots);
    slots += instruction.n_out;
    program_->tensor_args.insert(program_->tensor_args.end(), in.begin(), in.end());
    program_->attr_args.insert(program_->attr_args.end(), attr.begin(), attr.end());
    program_->code.push_back(instruction);
    if (merge) seen_.emplace(std::move(key), instruction.first_out);
    return int(instruction.first_out);
}

std::vector<int> ProgramBuilder::call(OpId id, std::span<const TensorArg> in, std::span<const AttrArg> attr) {
    if (id >= op_count())
        fail(ErrorKind::Value, "program", program_->op,
             "unknown op number " + std::to_string(id) + " in its formula.");
    const OpSpec& spec = tenora::op(id).spec;
    check(in, attr, spec.name);
    bool count_ok = spec.variadic ? int(in.size()) >= spec.n_in : int(in.size()) == spec.n_in;
    if (!count_ok || int(attr.size()) != spec.n_attr)
        fail(ErrorKind::Value, "program", program_->op,
             "call of " + spec.name + " in its formula: got " + std::to_string(in.size()) + " operands and " +
                 std::to_string(attr.size()) + " attributes, expected " + std::to_string(spec.n_in) +
                 (spec.variadic ? " or more and " : " and ") + std::to_string(spec.n_attr) + ".");
    Instruction instruction;
    instruction.op = id;
    instruction.n_out = uint16_t(spec.n_out);
    int first = append(instruction, in, attr, !spec.random);
    std::vector<int> slots;
    for (int i = 0; i < spec.n_out; ++i) slots.push_back(first + i);
    return slots;
}

int ProgramBuilder::attribute(AttrCode code, std::span<const TensorArg> tensors,
                              std::span<const AttrArg> attrs) {
    if (code >= AttrCode::Count)
        fail(ErrorKind::Value, "program", program_->op, "unknown attribute instruction.");
    const AttrCodeInfo& expected = info_of(code);
    check(tensors, attrs, expected.name);
    bool slots = tensors.empty() || tensors[0].kind == TensorArg::Kind::Slot;
    if (int(tensors.size()) != expected.n_tensors || !slots ||
        (expected.n_attrs >= 0 && int(attrs.size()) != expected.n_attrs))
        fail(ErrorKind::Value, "program", program_->op,
             "attribute instruction " + std::string(expected.name) + ": got " +
                 std::to_string(tensors.size()) + " tensors and " + std::to_string(attrs.size()) +
                 " attributes, expected " + std::to_string(expected.n_tensors) + " and " +
                 std::to_string(expected.n_attrs) + ".");
    Instruction instruction;
    instruction.is_attr = true;
    instruction.code = code;
    instruction.n_out = 1;
    return append(instruction, tensors, attrs, true);
}

namespace {

bool same(const Attr& a, const Attr& b) {
    if (a.kind != b.kind || a.count != b.count || a.weak != b.weak || a.dtype != b.dtype) return false;
    if (a.kind == TNR_ATTR_SPAN)
        return std::memcmp(a.value.span, b.value.span, a.count * sizeof(int64_t)) == 0;
    if (a.kind == TNR_ATTR_STRING) return std::memcmp(a.value.string, b.value.string, a.count) == 0;
    return a.kind == TNR_ATTR_NONE || a.value.i64 == b.value.i64;
}

}  // namespace

AttrArg ProgramBuilder::constant(const Attr& a) {
    AttrArg arg{AttrArg::Kind::Constant, 0, 0};
    for (; arg.constant < program_->constants.size(); ++arg.constant)
        if (same(program_->constants[arg.constant], a)) return arg;
    Attr kept = a;
    bool span = a.kind == TNR_ATTR_SPAN;
    if (span || a.kind == TNR_ATTR_STRING) {
        size_t bytes = a.count * (span ? sizeof(int64_t) : 1);
        auto data = std::make_unique<char[]>(bytes + 8);
        if (bytes) std::memcpy(data.get(), a.value.string, bytes);
        kept.value.string = data.get();
        program_->constant_data.push_back(std::move(data));
    }
    program_->constants.push_back(kept);
    return arg;
}

ProgramRef ProgramBuilder::finish(std::span<const int> outputs) {
    for (int o : outputs) {
        if (o < -1 || o >= program_->n_slots)
            fail(ErrorKind::Value, "program", program_->op,
                 "result of its formula: got slot " + std::to_string(o) + ", expected one below " +
                     std::to_string(program_->n_slots) + " or None.");
        program_->outputs.push_back(o);
    }
    for (size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i] >= 0) program_->needs |= operand_bit(i);
    compile(*program_);
    seen_.clear();
    return std::exchange(program_, ProgramRef());
}

}  // namespace tenora
