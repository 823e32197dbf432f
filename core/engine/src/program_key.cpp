// Which Program a call needs: keys and the lock-free caches.
//   - A key is exact. Calls with many operands or attributes intern the long form and use its number.
//   - A cache is a table of pointers to immortal entries; a
//     miss traces outside the lock, so two threads may trace
//     the same formula once each; the first result is kept.

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "tenora/error.h"
#include "tenora/hooks.h"
#include "tenora/program.h"

namespace tenora {

namespace {

constexpr size_t kInlineOperands = 11, kInlineAttrs = 8;
constexpr uint64_t kInterned = ~uint64_t(0);  // as `attributes`: no inline code is 0xff
enum : uint8_t {
    kCodeNone = 0,
    kCodeNumber = 1,
    kCodeSpan = 2,
    kCodeFalse = 3,
    kCodeTrue = 4,
    kCodeDType = 5,
    kCodeString = 32
};

std::mutex intern_lock;  // guards both maps below
template <class K>
uint64_t intern(std::map<K, uint64_t>& table, const K& key) {
    std::lock_guard lock(intern_lock);
    return table.try_emplace(key, table.size()).first->second;
}
std::map<std::string, uint64_t>& strings() {
    static auto* m = new std::map<std::string, uint64_t>();
    return *m;
}
std::map<std::vector<uint64_t>, uint64_t>& long_keys() {
    static auto* m = new std::map<std::vector<uint64_t>, uint64_t>();
    return *m;
}

// A string's number without the lock: each thread remembers a few (`reduction`, `approximate`,
// `rounding_mode`).
uint64_t string_code(std::string_view text) {
    struct Known {
        std::string text;
        uint64_t code = 0;
    };
    constexpr size_t kKnown = 16;
    thread_local Known known[kKnown];
    if (text.empty()) return intern(strings(), std::string());
    Known& slot = known[(text.size() * 7 + static_cast<unsigned char>(text[0])) % kKnown];
    if (slot.text != text) slot = {std::string(text), intern(strings(), std::string(text))};
    return slot.code;
}

uint64_t attr_code(const Attr& a) {
    switch (a.kind) {
        case TNR_ATTR_NONE:
            return kCodeNone;
        case TNR_ATTR_SPAN:
            return kCodeSpan;
        case TNR_ATTR_BOOL:
            return a.value.i64 ? kCodeTrue : kCodeFalse;
        case TNR_ATTR_DTYPE:
            return kCodeDType + uint64_t(a.value.i64);
        case TNR_ATTR_STRING:
            return kCodeString + string_code({a.value.string, a.count});
        default:
            return kCodeNumber;
    }
}

ProgramKey long_key(uint64_t needs, std::span<const Operand> in, const Tensor* result,
                    std::span<const Attr> attr) {
    std::vector<uint64_t> words{needs, in.size(), uint64_t(result && result->dtype >= DType::C64)};
    for (const Operand& o : in) words.push_back(operand_kind(o, result));
    for (const Attr& a : attr) words.push_back(attr_code(a));
    return {intern(long_keys(), words), kInterned};
}

}  // namespace

namespace {

inline uint8_t kind_of(const Operand& operand, const Tensor* result) {
    const Tensor* t = operand.tensor;
    if (!t) {
        if (!operand.has_scalar) return kAbsent;
        return operand.scalar.kind == Scalar::Kind::Complex ? uint8_t(kScalar | kComplexBit)
                                                            : uint8_t(kScalar);
    }
    uint8_t complex = t->dtype >= DType::C64 ? kComplexBit : 0;  // C64, C128 are the last two
    if (!result) return kTensor | complex;
    if (t->dtype != result->dtype) {
        bool other = is_differentiable(t->dtype) && is_differentiable(result->dtype);
        return kTensor | complex | (other ? kOtherDType : 0);
    }
    if (t->dl.ndim != result->dl.ndim) return kTensor | complex;
    const int64_t *a = t->dl.shape, *b = result->dl.shape;
    for (int i = t->dl.ndim; i-- > 0;)
        if (a[i] != b[i]) return kTensor | complex;
    return complex;
}
static_assert(DType::C64 > DType::F64 && DType::C128 > DType::C64 && TNR_DTYPE_COUNT == TNR_C128 + 1);

}  // namespace

uint8_t operand_kind(const Operand& operand, const Tensor* result) { return kind_of(operand, result); }

ProgramKey make_key(const Op&, uint64_t needs, std::span<const Operand> in, const Tensor* result,
                    std::span<const Attr> attr) {
    if (in.size() > kInlineOperands || attr.size() > kInlineAttrs) [[unlikely]]
        return long_key(needs, in, result, attr);
    ProgramKey key{in.size() | needs << 4, 0};
    int shift = 16;
    for (const Operand& o : in) {
        key.operands |= uint64_t(kind_of(o, result)) << shift;
        shift += 4;
    }
    if (result && result->dtype >= DType::C64)
        key.operands |= uint64_t(1) << 63;  // above the kinds of kInlineOperands
    for (size_t i = 0; i < attr.size(); ++i) {
        uint64_t code = attr_code(attr[i]);
        if (code >= 0xff) [[unlikely]]
            return long_key(needs, in, result, attr);
        key.attributes |= code << (8 * i);
    }
    return key;
}

// -------------------------------------------------------------------------------------------------
// Cache
namespace {
std::mutex insert_lock;  // one writer of any cache at a time
std::atomic<uint64_t> traces{0};
}  // namespace

ProgramCache::ProgramCache() : table_(nullptr) {}

const Program* ProgramCache::insert(const ProgramKey& key, ProgramRef program) {
    std::lock_guard lock(insert_lock);
    if (const Program* there = find(key)) return there;
    const Table* table = table_.load(std::memory_order_relaxed);
    auto put = [](const Table& t, const Entry* e) {
        size_t i = place(e->key) & t.mask;
        while (t.cells[i].load(std::memory_order_relaxed)) i = (i + 1) & t.mask;
        t.cells[i].store(e, std::memory_order_release);
    };
    if (!table || 2 * (used_ + 1) > table->mask + 1) {
        size_t size = table ? 2 * (table->mask + 1) : 16;
        auto* larger = new Table{size - 1, std::make_unique<std::atomic<const Entry*>[]>(size), table};
        if (table)
            for (size_t i = 0; i <= table->mask; ++i)
                if (const Entry* e = table->cells[i].load(std::memory_order_relaxed)) put(*larger, e);
        table_.store(larger, std::memory_order_release);
        table = larger;
    }
    used_++;
    const Program* kept = program.take();
    put(*table, new Entry{key, kept});
    return kept;
}

uint64_t trace_count() { return traces.load(); }

namespace {

ProgramRef trace(const TraceRequest& request, int n_tensors, int n_attrs, size_t n_outputs) {
    const Op& op = request.op;
    if (request.vjp && op.spec.dynamic_vjp) {
        ProgramRef p = dynamic_program(op.spec.name, n_tensors, n_attrs, int(n_outputs));
        p->needs = request.needs;
        return p;
    }
    if (!hooks().trace)
        fail(ErrorKind::Runtime, "tracer", op.display(),
             "no tracer is installed, so its formula cannot be read. Import tenora_autograd.");
    ProgramRef p = hooks().trace(request);
    traces.fetch_add(1, std::memory_order_relaxed);
    if (!p) fail(ErrorKind::Runtime, "tracer", op.display(), "its formula gave no Program.");
    if (p->n_tensors != n_tensors || p->n_attrs != n_attrs || p->outputs.size() != n_outputs)
        fail(ErrorKind::Runtime, "tracer", op.display(),
             "its formula: got a Program with " + std::to_string(p->n_tensors) + " tensors, " +
                 std::to_string(p->n_attrs) + " attributes, " + std::to_string(p->outputs.size()) +
                 " results, expected " + std::to_string(n_tensors) + ", " + std::to_string(n_attrs) + ", " +
                 std::to_string(n_outputs) + ".");
    return p;
}

}  // namespace

namespace {
// Immortal, as its restricted form lives with it; reachable, so that leak checkers can tell.
void keep_forever(const Program* p) {
    static auto* kept = new std::vector<const Program*>();
    std::lock_guard lock(insert_lock);
    kept->push_back(p);
}

[[gnu::noinline]] const Program* make_vjp_program(const Op& op, const ProgramKey& key, uint64_t needs,
                                                  std::span<const Operand> in, const Tensor* result,
                                                  std::span<const Attr> attr) {
    ProgramRef traced = trace({op, true, needs, in, result, attr}, 2 * op.spec.n_out + int(in.size()),
                              int(attr.size() + in.size()), in.size());
    bool wanted = true;
    for (size_t i = 0; i < in.size(); ++i) wanted = wanted && (traced->outputs[i] < 0 || needs_bit(needs, i));
    if (!wanted && !traced->dynamic) {  // a formula may give gradients that nobody asked for
        const Program* p = traced.take();
        keep_forever(p);
        return op.vjp->insert(key, ProgramRef(const_cast<Program*>(p->restricted(needs))));
    }
    return op.vjp->insert(key, std::move(traced));
}
}  // namespace

const Program* vjp_program(const Op& op, const ProgramKey& key, uint64_t needs, std::span<const Operand> in,
                           const Tensor* result, std::span<const Attr> attr) {
    if (const Program* p = op.vjp->find(key)) [[likely]]
        return p;
    return make_vjp_program(op, key, needs, in, result, attr);
}

const Program* composite_program(const Op& op, const ProgramKey& key, std::span<const Operand> in,
                                 std::span<const Attr> attr) {
    if (const Program* p = op.composite->find(key)) [[likely]]
        return p;
    ProgramRef traced = trace({op, false, 0, in, nullptr, attr}, int(in.size()), int(attr.size() + in.size()),
                              size_t(op.spec.n_out));
    return op.composite->insert(key, std::move(traced));
}

void program_attributes(std::span<const Operand> in, std::span<const Attr> attr, Attr* slots) {
    for (const Attr& a : attr) *slots++ = a;
    for (const Operand& o : in)
        *slots++ = !o.tensor && o.has_scalar && o.scalar.kind != Scalar::Kind::Complex ? attr_scalar(o.scalar)
                                                                                       : attr_none();
}

}  // namespace tenora
