// Ops: interned names, what the engine must know of each, and the table op x backend -> kernel.
//   - An op's record lives in Python (tenora_ops); the record
//     pushes an OpSpec in. The engine knows no op by heart except
//     the few it calls itself (`copy`, `fill`: see `core_ops`).
//   - Numbers (OpId) are process-local and never reused.
//     Tables are read without a lock; registration takes one.
//   - Rules are small native functions shared by a family,
//     found by name; a plugin may give a Python rule instead.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenora/tensor.h"
#include "tenora/value.h"

namespace tenora {

using OpId = uint16_t;
inline constexpr OpId kNoOp = 0xffff;
using BackendId = uint8_t;
inline constexpr BackendId kNoBackend = 255;
inline constexpr int kMaxOps = 4096;
inline constexpr int kMaxBackends = 32;
inline constexpr int kMaxOutputs = 8;

// What a rule sees and fills in. Operands are what the user gave; the rule may normalise attributes in place
// (negative dims, None dims -> all) and describe the operands as the kernel wants to see them.
struct OutMeta {
    DType dtype = DType::None;
    int rank = 0;
    int64_t shape[kMaxRank];
    int64_t strides[kMaxRank];  // views only
    int64_t offset = 0;         // views only, absolute, in elements of the storage
};
struct Infer {
    const struct Op& op;
    std::span<const Operand> in;
    std::span<Attr> attr;  // private copy; spans that a rule normalises live in `scratch`
    OutMeta* out;          // op.n_out of them
    DType compute =
        DType::None;  // operands in cast_mask are cast to this before the kernel (None: left alone)
    uint64_t cast_mask = ~0ull;      // by operand_bit()
    DType result = DType::None;      // set by the dtype rule, read by the shape rule
    Device device;                   // where the op runs; filled by the dispatcher before the rules
    double work = 0;                 // estimated nanoseconds on one core, for the GIL rule; 0 = by bytes
    int64_t* scratch(size_t count);  // memory that lives as long as the call
    std::vector<std::unique_ptr<int64_t[]>> scratch_blocks;
    size_t scratch_used = 0;
    int64_t scratch_inline[16];  // what ordinary ranks need
};
using DTypeRule = void (*)(Infer&);
using ShapeRule = void (*)(Infer&);
using Rule = std::function<void(Infer&)>;  // Python rules of plugins

enum class Implementation : uint8_t {
    Kernel,      // ring 0: a backend must have it
    View,        // the shape rule gives geometry; shares the input's storage
    Structural,  // native plan over other ops (cat, pad, embed, ...), found by name; a backend kernel
                 // overrides it
    Composite,   // a Program traced from the record's formula; a backend kernel overrides it
    Function  // a Python function, where the result's size or the path depends on data; with rules a backend
              // kernel overrides it
};

// How the kernel sees operands. Prepare functions turn
// (operands, rule result) into kernel descriptors; by name.
//   "pointwise" inputs expanded to the output's shape; "reduce" output with reduced dims of size 1;
//   "matmul" everything (B..., M, K) x (B..., K, N); "preload" output already holds a copy of input 0;
//   "plain" as they are.
struct OpSpec {
    std::string name;     // unique: "add", "max_dim"
    std::string display;  // what errors and the tape call it: "add", "max"
    std::string kernel;   // kernel name when it is another op's ("mm" runs "matmul"); empty = name
    int n_in = 0;         // fixed operands; variadic ops: the list comes last
    bool variadic = false;
    int n_out = 1;
    int n_attr = 0;
    std::string dtype_rule, shape_rule, prepare, structural;
    Rule python_dtype_rule, python_shape_rule;
    Implementation implementation = Implementation::Kernel;
    bool differentiable = false;  // has a vjp formula (or is a composite without one: `through`)
    bool through = false;  // composite without own vjp: forward is replayed through the recording dispatcher
    bool dynamic_vjp = false;                // the formula branches on data: called back instead of traced
    uint64_t shape_only = 0;                 // bit i: input i is read for its shape, dtype, device only
    uint64_t apart = 0;                      // bit i: out= shares no memory with input i
    uint64_t masks = 0;                      // bit i: input i must be of dtype bool
    uint64_t output_differentiable = ~0ull;  // bit per output (argmax part of max_dim is not)
    bool random = false;                     // consumes the generator
    bool inplace_ok = false;                 // `name_` exists
    bool out_ok = false;                     // out= exists
    bool reads_self_for_inplace =
        false;  // kernel cannot run with out == input 0 even if shapes agree (scan, gather, ...)
    bool checks_data =
        false;  // the kernel may refuse because of element values: in place runs on a temporary
    bool exact_target = false;  // in place and out= take the result's own dtype alone
};

struct KernelEntry {  // one cell of the table
    tnr_kernel_fn run = nullptr;
    void* state = nullptr;
    uint32_t flags = 0;  // TNR_KERNEL_*
    uint32_t dtypes = 0;
    int32_t (*supports)(const tnr_call*) = nullptr;
    size_t (*workspace)(const tnr_call*) = nullptr;
    bool python = false;  // trampoline: needs the GIL
};

class Program;
struct ProgramKey {
    uint64_t operands = 0, attributes = 0;
    bool operator==(const ProgramKey&) const = default;
};
class ProgramCache;  // program.h: lock-free look-up, per op and kind

struct Call;                   // src/call.h: one slow-path call
using Plan = void (*)(Call&);  // structural plan
// The plain case of an op at once, past rules and plan, into *out or added into `buffer`; false: not such a
// case, and nothing happened. Never for kernels long enough to let other threads run.
using Shortcut = bool (*)(const Op&, std::span<const Operand> in, TensorRef* out, Tensor* buffer,
                          BackendId* used);

struct StructuralPlan {
    std::string_view name;
    Plan run;
    Shortcut shortcut = nullptr;
};

// How operands become what a kernel sees: all that is to be known about it (table: src/prepare.cpp).
struct Prepare {
    std::string_view name;
    void (*run)(Call&);            // allocates, runs
    std::string_view shape_rules;  // those that imply it, separated by spaces
    const char* inputs = nullptr;  // names of what the kernel gets, by spaces; null = the op's own operands
    const char* attributes = nullptr;  // the same for attributes
    bool pointwise = false;            // operands are expanded to the output's shape
    bool preloads = false;             // the output holds the old values already
    bool accumulates = false;          // can add into the target, if the kernel can
    bool copies = false;               // operands may lie on different devices
    uint8_t first_index = 0;           // the first operand that is an index; 0 = none
};

struct Op {
    OpId id = 0;
    // Read by the fast path; first, to share a cache line.
    uint32_t fast_dtypes = 0;  // equal operands of these dtypes are computed as they are; 0 = no fast path
    DType fast_out = DType::None;  // result dtype of the fast path, None = the operands'
    OpId kernel_op = 0;            // op whose column of the table is used
    uint32_t kept_dtypes = 0;      // floating dtypes that the result has when all operands have it
    Shortcut shortcut = nullptr;
    OpSpec spec;
    DTypeRule dtype_rule = nullptr;
    ShapeRule shape_rule = nullptr;
    const Prepare* prepare = nullptr;
    Plan plan = nullptr;
    bool has_rules = false;   // dtype and shape are both known: a kernel may override
    bool pointwise = false;   // the kernel sees operands expanded to the output's shape
    bool copies = false;      // copy: operands may lie on different devices
    uint8_t first_index = 0;  // index ops: the first operand that is an index; else 0
    std::atomic<const KernelEntry*> kernels[kMaxBackends];  // entries are immortal
    ProgramCache* vjp = nullptr;
    ProgramCache* composite = nullptr;
    std::atomic<uint64_t> calls{0};
    std::string_view display() const { return spec.display.empty() ? spec.name : spec.display; }
};

const Op& register_op(OpSpec spec);  // throws Error with op and field named
Op* find_op(std::string_view name);  // null when unknown, or only announced
// Ops whose records are loaded when somebody asks for one: backends may register kernels for them already.
void announce_op(std::string_view name, bool takes_kernels);
std::optional<bool> announced_op(std::string_view name);  // whether it takes kernels; none: not announced
extern std::atomic<Op*> op_table[kMaxOps];
inline Op& op(OpId id) { return *op_table[id].load(std::memory_order_acquire); }
int op_count();

DTypeRule find_dtype_rule(std::string_view name);  // null when unknown
ShapeRule find_shape_rule(std::string_view name);
const Prepare* find_prepare(std::string_view name);
const StructuralPlan* find_plan(std::string_view name);
std::vector<std::string> rule_names();  // "dtype:promote", "shape:broadcast", "prepare:reduce", "plan:cat"
std::vector<std::string> op_names();    // the announced ones too

struct Backend {
    BackendId id = 0;
    std::string name, version;
    std::vector<uint8_t> spaces;
    bool host_order = true;
    bool reference = false;            // serves the fallback through the host; the manifest says so
    std::atomic<bool> python = false;  // has kernels in Python: they would take the GIL back for each call
    bool serves(uint8_t space_id) const;
};
Backend& add_backend(std::string_view name, std::string_view version, std::span<const uint8_t> spaces);
Backend& backend(BackendId id);
int find_backend(std::string_view name);  // -1
int backend_count();
std::vector<std::string> backend_names();
std::vector<std::string> kernel_names(BackendId backend);  // the ops it has kernels for
void register_kernel(BackendId backend, std::string_view op, const KernelEntry& entry);  // validates, throws
// Every kernel of a backend runs guarded until the guard ends, those registered meanwhile too; guards nest.
void guard_backend(BackendId backend, bool on);
inline const KernelEntry* kernel_entry(const Op& o, BackendId backend) {  // null: the backend has none
    const Op& owner = o.kernel_op == o.id ? o : op(o.kernel_op);
    return owner.kernels[backend].load(std::memory_order_acquire);
}

// Nearest names for "unknown op" errors.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates);

}  // namespace tenora
