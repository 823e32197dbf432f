// Programs: a linear list of op calls over numbered slots,
// traced once from a readable Python formula, replayed natively.
//   - Tensor slots: inputs first, then one per instruction output. Attribute slots:
//     inputs first, then results of attribute instructions. Inputs of a gradient Program:
//     n_out gradients, the operands, n_out results; attribute inputs: the op's attributes
//     in order, then one per operand (its number, where the operand is a scalar).
//   - compile() removes dead code, computes last uses, and the sets of inputs
//     read as data and as metadata only. A Program for fewer gradients is
//     derived from a larger one by dead-code elimination: no second trace.
//   - Replay allocates nothing of its own for ordinary sizes
//     (slots on the stack) and writes pointwise results into
//     an operand at its last use when nobody else holds it.
//   - Programs in a cache are immortal, as ops are; tape nodes point at them without a count.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenora/dispatch.h"

namespace tenora {

enum class AttrCode : uint8_t {  // attribute instructions
    Add,
    Sub,
    Mul,
    FloorDiv,
    TrueDiv,
    Mod,
    Min,
    Max,
    Neg,
    Pow,    // numbers
    Shape,  // (tensor slot) -> span
    Size,   // (tensor slot, dim) -> int
    Numel,
    Ndim,                // (tensor slot) -> int
    DTypeOf,             // (tensor slot) -> dtype
    DeviceOf,            // (tensor slot) -> device code (space << 8 | index)
    Item,                // (span, index) -> int
    Length,              // (span) -> int
    MakeSpan,            // (ints...) -> span
    Concat,              // (spans...) -> span
    InversePermutation,  // (span) -> span
    NormalDims,          // (span or none or int, ndim) -> ascending span of non-negative dims; none = all
    AsInt,
    AsFloat,
    AsScalar,  // number -> I64, F64, SCALAR
    Slice,     // (span, start, stop) -> span, Python's rules for negative and large bounds
    Product,   // (span) -> int
    Take,      // (span, span of indices) -> span
    Replace,   // (span, index, value) -> span
    Range,     // (n) -> span 0 .. n-1
    Count
};
std::string_view name_of(AttrCode code);    // "floor_div"
int find_attr_code(std::string_view name);  // -1 when unknown

struct TensorArg {
    enum class Kind : uint8_t { Slot, Scalar, AttrScalar, None } kind = Kind::None;
    uint32_t slot = 0;  // tensor slot, or attribute slot for AttrScalar
    Scalar scalar;
};
struct AttrArg {
    enum class Kind : uint8_t { Slot, Constant } kind = Kind::Slot;
    uint32_t slot = 0;
    uint32_t constant = 0;
};

struct Instruction {
    bool is_attr = false;
    bool reusable = false;         // pointwise, result of the operands' dtype: may be written into an operand
    bool identity_if_one = false;  // mul(x, number): x itself when the number is 1
    OpId op = 0;
    AttrCode code{};
    uint16_t n_in = 0, n_attr = 0, n_out = 0;
    int16_t final_output = -1;  // this output of the Program is all that the result is used for
    uint32_t first_in = 0, first_attr = 0, first_out = 0;  // into the Program's tables
    uint64_t last_use = 0;  // bit i: tensor argument i is used here for the last time
};

class Program {
  public:
    void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
    void release();
    Program();
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    std::string op;     // the user-facing op this belongs to
    int n_tensors = 0;  // tensor inputs
    int n_attrs = 0;    // attribute inputs
    std::vector<Instruction> code;
    std::vector<TensorArg> tensor_args;
    std::vector<AttrArg> attr_args;
    std::vector<Attr> constants;  // owned spans and strings in `constant_data`
    std::vector<std::unique_ptr<char[]>> constant_data;
    std::vector<int32_t> outputs;                 // tensor slot or -1 (None) per output
    std::vector<uint8_t> reads_data, reads_meta;  // per tensor input
    std::vector<uint8_t> links;                   // what outputs are constant in: a history is read
    std::vector<uint8_t> reads_attr;              // per attribute input
    std::vector<uint16_t> data_inputs, meta_inputs,
        attr_inputs;                    // the same as lists; meta: read as metadata only
    std::vector<uint16_t> accumulable;  // outputs that may be added into a buffer by what computes them
    int n_slots = 0, n_attr_slots = 0;
    bool hands_on = false;    // no code, outputs are gradients: nothing but hand them on
    bool one_call = false;    // one pointwise call of gradient 0, saved tensors and constants
    bool saves = false;       // reads more than gradients
    bool dynamic = false;     // no code: call hooks().call_formula instead
    uint64_t needs = 0;       // gradient Programs: mask it was made for (see needs_bit)
    std::string str() const;  // the code, for people

    // This Program with only the outputs of `mask` (bit per output, 63 = all from 63 on). Made once per mask.
    const Program* restricted(uint64_t mask) const {
        return dynamic || (mask & needs) == needs ? this : derive(mask);
    }

  private:
    friend class ProgramBuilder;
    struct Derived;
    const Program* derive(uint64_t mask) const;
    std::atomic<uint32_t> count_{1};
    mutable std::atomic<Derived*> derived_{nullptr};
};
using ProgramRef = Ref<Program>;

inline bool needs_bit(uint64_t needs, size_t i) { return needs & operand_bit(i); }

// Dead code, last uses, read sets. Called by finish() and restricted().
void compile(Program& program);

// Tracer's side. Arguments are checked: unknown op, wrong
// count, slot out of range are errors naming the formula's op.
class ProgramBuilder {
  public:
    ProgramBuilder(std::string op, int n_tensors, int n_attrs);
    std::vector<int> call(OpId op, std::span<const TensorArg> in,
                          std::span<const AttrArg> attr);  // equal calls merge
    int attribute(AttrCode code, std::span<const TensorArg> tensors, std::span<const AttrArg> attrs);
    AttrArg constant(const Attr& a);                  // copies
    ProgramRef finish(std::span<const int> outputs);  // compiles; -1 = None. The builder is empty afterwards.
    const std::string& op() const { return program_->op; }

  private:
    void check(std::span<const TensorArg> in, std::span<const AttrArg> attr, std::string_view callee) const;
    int append(Instruction instruction, std::span<const TensorArg> in, std::span<const AttrArg> attr,
               bool merge);
    ProgramRef program_;
    std::map<std::vector<uint64_t>, uint32_t> seen_;  // instruction -> its first result
};
// A Program without code: its gradient is computed by hooks().call_formula.
ProgramRef dynamic_program(std::string op, int n_tensors, int n_attrs, int n_outputs);

// -------------------------------------------------------------------------------------------------
// Keys and caches
// What a tracer may know of an operand: 0 same shape and
// dtype as result 0, 1 other tensor, 2 number, 3 absent; | 4 complex;
// | 8 a tensor with gradients of another dtype than result 0's: its gradient has to be cast.
enum OperandKind : uint8_t {
    kSame = 0,
    kTensor = 1,
    kScalar = 2,
    kAbsent = 3,
    kComplexBit = 4,
    kOtherDType = 8
};
uint8_t operand_kind(const Operand& operand, const Tensor* result);

// Which part of a call is structure. Exact: what does not fit into the words is interned, never hashed.
//   operands: their number, needs mask, 4 bits each (operand_kind)
//   attributes: 8 bits each: none / number / span / false / true / dtype / interned string
ProgramKey make_key(const Op& op, uint64_t needs, std::span<const Operand> in, const Tensor* result,
                    std::span<const Attr> attr);

// Per op and kind: open addressing over immortal entries; a
// look-up takes no lock, growth publishes a larger table.
class ProgramCache {
  public:
    ProgramCache();
    const Program* find(const ProgramKey& key) const {
        const Table* table = table_.load(std::memory_order_acquire);
        if (!table) return nullptr;
        for (size_t i = place(key) & table->mask;; i = (i + 1) & table->mask) {
            const Entry* entry = table->cells[i].load(std::memory_order_acquire);
            if (!entry) return nullptr;
            if (entry->key == key) return entry->program;
        }
    }
    const Program* insert(const ProgramKey& key, ProgramRef program);  // the Program that is there first wins

  private:
    struct Entry {
        ProgramKey key;
        const Program* program;
    };
    struct Table {
        size_t mask;
        std::unique_ptr<std::atomic<const Entry*>[]> cells;
        const Table* outgrown;  // kept: readers without a lock may still be in it
    };
    static size_t place(const ProgramKey& key) {
        return size_t((key.operands * 0x9e3779b97f4a7c15u ^ key.attributes * 0xc2b2ae3d27d4eb4fu) >> 32);
    }
    std::atomic<const Table*> table_;
    size_t used_ = 0;  // under the lock of program_key.cpp
};

// Replays with inputs (null where the Program does not read), into owned outputs (null
// for None). `recording`: through call() instead of call_raw(), for create_graph.
// accumulate_into[i] (may be null): a buffer owned alone that output i may be added into;
// outputs[i] is then that buffer and accumulate_into[i] is empty. donated[i] (may be
// null): the caller's own reference to input i, which replay may take over and overwrite.
struct ReplayOptions {
    bool recording = false;
    TensorRef* accumulate_into = nullptr;
    TensorRef* donated = nullptr;
};
void replay(const Program& p, std::span<Tensor* const> tensors, std::span<const Attr> attrs,
            std::span<TensorRef> outputs, const ReplayOptions& options);
inline void replay(const Program& p, std::span<Tensor* const> tensors, std::span<const Attr> attrs,
                   bool recording, std::span<TensorRef> outputs, TensorRef* accumulate_into = nullptr) {
    replay(p, tensors, attrs, outputs, ReplayOptions{recording, accumulate_into, nullptr});
}

// Runs a pointwise call into its operand `i`, if replay holds it alone, the kernel may and the result fits.
bool overwrite_operand(const Op& callee, std::span<const Operand> in, size_t i, Tensor* target);

// Attribute inputs of a composite Program for a call: `slots`
// (attr.size() + in.size()) = attributes, then operand numbers.
void program_attributes(std::span<const Operand> in, std::span<const Attr> attr, Attr* slots);

// Look-up, tracing through hooks().trace on a miss. A formula
// that reads the needs of no input gives an error naming op.
const Program* vjp_program(const Op& op, const ProgramKey& key, uint64_t needs, std::span<const Operand> in,
                           const Tensor* result, std::span<const Attr> attr);
const Program* composite_program(const Op& op, const ProgramKey& key, std::span<const Operand> in,
                                 std::span<const Attr> attr);
uint64_t trace_count();  // how many Programs were traced, for the test that counts

}  // namespace tenora
