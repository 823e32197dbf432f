// The op table.
//   - Ops and their numbers are immortal.
//   - Names are found in an open-addressing table of atomic pointers that only grows.
//   - Registration takes `registry_mutex`; reading takes no lock.
//   - An op may be announced before it is registered; kernels for it wait (backends.cpp) until then.
//   - What the fast path may assume about an op is worked out here, once.
#include <algorithm>
#include <map>
#include <mutex>

#include "internal.h"
#include "tenora/program.h"
#include "tenora/ring.h"

namespace tenora {

std::mutex registry_mutex;
std::atomic<Op*> op_table[kMaxOps];

namespace {

constexpr size_t kNameSlots = 2 * kMaxOps;
std::atomic<Op*> by_name[kNameSlots];
std::atomic<int> count_ops{0};
std::map<std::string, bool, std::less<>> announced;  // whether it takes kernels; under registry_mutex
CoreOps core;

size_t slot_of(std::string_view name) { return std::hash<std::string_view>()(name) % kNameSlots; }

constexpr uint32_t kFloats = TNR_MASK_HALF | TNR_MASK_REALS | TNR_MASK_COMPLEX;
constexpr uint32_t kBool = TNR_MASK(TNR_BOOL);

struct FastRule {
    std::string_view dtype_rule;
    uint32_t dtypes;
    DType out;
};
// Equal operands of these dtypes come out of the rule unchanged (or as bool).
const FastRule fast_rules[] = {
    {"promote", TNR_MASK_ALL, DType::None},
    {"promote_no_bool", TNR_MASK_ALL & ~kBool, DType::None},
    {"promote_float", kFloats, DType::None},
    {"promote_quotient", kFloats, DType::None},
    {"promote_float_real", kFloats & ~TNR_MASK_COMPLEX, DType::None},
    {"promote_real", TNR_MASK_ALL & ~TNR_MASK_COMPLEX, DType::None},
    {"promote_real_number", TNR_MASK_ALL & ~TNR_MASK_COMPLEX & ~kBool, DType::None},
    {"promote_bounds", kFloats & ~TNR_MASK_COMPLEX, DType::None},
    {"promote_integral", kBool | TNR_MASK_INTS, DType::None},
    {"promote_bool", TNR_MASK_ALL, DType::Bool},
    {"promote_bool_real", TNR_MASK_ALL & ~TNR_MASK_COMPLEX, DType::Bool},
    {"div", kFloats, DType::None},
    {"pow", kFloats, DType::None},
    {"abs", TNR_MASK_ALL & ~TNR_MASK_COMPLEX, DType::None},
    {"same_all", TNR_MASK_ALL, DType::None},
    {"float_same", kFloats, DType::None},
    {"float_same_real", kFloats & ~TNR_MASK_COMPLEX, DType::None},
};

void set_fast_path(Op& op) {
    const OpSpec& s = op.spec;
    const FastRule* rule = nullptr;
    for (const FastRule& r : fast_rules)
        if (r.dtype_rule == s.dtype_rule) rule = &r;
    if (rule && rule->out == DType::None) op.kept_dtypes = rule->dtypes & kFloats;
    // Of two matrices both shape rules say the same.
    if (s.implementation == Implementation::Kernel && s.dtype_rule == "same_all" &&
        op.prepare->name == "matmul" && (s.shape_rule == "matmul" || s.shape_rule == "mm"))
        op.shortcut = multiply_matrices;
    bool kernel_like =
        s.implementation == Implementation::Kernel || s.implementation == Implementation::Composite;
    // A composite that is recorded by its parts must not be run by a kernel before anybody looks.
    if (!kernel_like || s.through || !op.has_rules || !op.pointwise || s.n_out != 1 || s.variadic ||
        s.n_in < 1 || s.n_in > 2)
        return;
    if (!rule) return;
    op.fast_dtypes = s.n_attr ? rule->dtypes & kFloats : rule->dtypes;
    op.fast_out = rule->out;
}

// `word` is one of the words of `list`.
bool lists(std::string_view list, std::string_view word) {
    for (size_t from = 0; !word.empty() && from <= list.size();) {
        size_t end = std::min(list.find(' ', from), list.size());
        if (list.substr(from, end - from) == word) return true;
        from = end + 1;
    }
    return false;
}

std::string_view default_prepare(const OpSpec& s) {
    for (const Prepare& p : prepares())
        if (lists(p.shape_rules, s.shape_rule)) return p.name;
    return "plain";
}

template <class Rule>
Rule resolve(const OpSpec& s, const std::string& name, const char* field, const char* prefix,
             Rule (*find)(std::string_view)) {
    if (Rule rule = find(name)) return rule;
    std::vector<std::string> known;
    for (const std::string& full : rule_names())
        if (full.starts_with(prefix)) known.push_back(full.substr(std::string_view(prefix).size()));
    fail(ErrorKind::Value, "registration", s.name,
         text("unknown ", field, ": got '", name,
              "', expected one of the engine's. Nearest: ", nearest(name, known), "."));
}

void check_counts(const OpSpec& s) {
    if (s.name.empty())
        fail(ErrorKind::Value, "registration", "", "op has no name: got '', expected a name. Set `name`.");
    if (s.n_out < 1 || s.n_out > kMaxOutputs)
        fail(ErrorKind::Value, "registration", s.name,
             text("wrong n_out: got ", s.n_out, ", expected 1 to ", kMaxOutputs, ". Split the op."));
    if (s.n_in < 0 || s.n_attr < 0)
        fail(ErrorKind::Value, "registration", s.name,
             text("negative count: got n_in ", s.n_in, " and n_attr ", s.n_attr,
                  ", expected 0 or more. Correct the record."));
}

void resolve_rules(Op& op) {
    const OpSpec& s = op.spec;
    if (!s.dtype_rule.empty())
        op.dtype_rule = resolve(s, s.dtype_rule, "dtype_rule", "dtype:", find_dtype_rule);
    if (!s.shape_rule.empty())
        op.shape_rule = resolve(s, s.shape_rule, "shape_rule", "shape:", find_shape_rule);
    op.has_rules = (op.dtype_rule || s.python_dtype_rule) && (op.shape_rule || s.python_shape_rule);
    bool needs_rules = s.implementation == Implementation::Kernel || s.implementation == Implementation::View;
    if (needs_rules && !op.has_rules)
        fail(ErrorKind::Value, "registration", s.name,
             text("missing rule: got dtype_rule '", s.dtype_rule, "' and shape_rule '", s.shape_rule,
                  "', expected both for a kernel or view op. Name a rule of each kind."));
    std::string prepare = s.prepare.empty() ? std::string(default_prepare(s)) : s.prepare;
    if (op.has_rules) {
        op.prepare = resolve(s, prepare, "prepare", "prepare:", find_prepare);
        op.pointwise = op.prepare->pointwise;
        op.copies = op.prepare->copies;
        op.first_index = op.prepare->first_index;
    }
    if (s.implementation == Implementation::Structural) {
        const StructuralPlan* plan =
            resolve(s, s.structural.empty() ? s.name : s.structural, "structural", "plan:", find_plan);
        op.plan = plan->run;
        op.shortcut = op.has_rules ? nullptr : plan->shortcut;  // else a kernel may take its place
    }
}

void note_core_op(const Op& op) {
    static const std::pair<std::string_view, OpId CoreOps::*> members[] = {
        {"copy", &CoreOps::copy},
        {"fill", &CoreOps::fill},
        {"add", &CoreOps::add},
        {"mul", &CoreOps::mul},
        {"div", &CoreOps::div},
        {"neg", &CoreOps::neg},
        {"sum", &CoreOps::sum},
        {"matmul", &CoreOps::matmul},
        {"conj", &CoreOps::conj},
        {"iota", &CoreOps::iota},
        {"zeros_like", &CoreOps::zeros_like},
        {"as_strided", &CoreOps::as_strided},
        {"write_window", &CoreOps::as_strided_scatter},
        {"expand", &CoreOps::expand},
        {"sum_to", &CoreOps::sum_to},
        {"clone", &CoreOps::clone},
        {"isfinite", &CoreOps::isfinite},
        {"all", &CoreOps::all},
        {"nonzero", &CoreOps::nonzero},
        {"alias", &CoreOps::alias},
        {"view_as_real", &CoreOps::view_as_real},
        {"view_as_complex", &CoreOps::view_as_complex},
        {"constant_in", &CoreOps::constant_in},
    };
    for (auto [name, member] : members)
        if (name == op.spec.name) core.*member = op.id;
}

// An op may name a kernel before that kernel's op is registered.
void link_kernels(Op& op) {
    if (!op.spec.kernel.empty())
        if (Op* other = find_op(op.spec.kernel)) op.kernel_op = other->id;
    for (int i = 0; i < count_ops.load(); ++i) {
        Op& other = *op_table[i].load();
        if (other.spec.kernel == op.spec.name) other.kernel_op = op.id;
    }
}

}  // namespace

const Op& register_op(OpSpec spec) {
    check_counts(spec);
    std::lock_guard lock(registry_mutex);
    if (find_op(spec.name))
        fail(ErrorKind::Value, "registration", spec.name,
             text("op exists already: got a second '", spec.name,
                  "', expected a new name. Choose another name."));
    int id = count_ops.load(std::memory_order_relaxed);
    if (id >= kMaxOps)
        fail(ErrorKind::Runtime, "registration", spec.name,
             text("too many ops: got ", id + 1, ", expected at most ", kMaxOps, ". Register fewer ops."));
    auto owned = std::make_unique<Op>();
    Op& op = *owned;
    op.id = OpId(id);
    op.kernel_op = op.id;
    for (auto& cell : op.kernels) cell.store(nullptr, std::memory_order_relaxed);
    op.spec = std::move(spec);
    resolve_rules(op);
    set_fast_path(op);
    link_kernels(op);
    owned.release();  // from here on nothing fails
    op.vjp = new ProgramCache();
    op.composite = new ProgramCache();
    op_table[id].store(&op, std::memory_order_release);
    size_t slot = slot_of(op.spec.name);
    while (by_name[slot].load(std::memory_order_relaxed)) slot = (slot + 1) % kNameSlots;
    by_name[slot].store(&op, std::memory_order_release);
    note_core_op(op);
    count_ops.store(id + 1, std::memory_order_release);
    attach_waiting_kernels(op);
    return op;
}

Op* find_op(std::string_view name) {
    for (size_t slot = slot_of(name);; slot = (slot + 1) % kNameSlots) {
        Op* op = by_name[slot].load(std::memory_order_acquire);
        if (!op || op->spec.name == name) return op;
    }
}

void announce_op(std::string_view name, bool takes_kernels) {
    std::lock_guard lock(registry_mutex);
    announced.insert_or_assign(std::string(name), takes_kernels);
}

std::optional<bool> announced_op(std::string_view name) {
    std::lock_guard lock(registry_mutex);
    auto found = announced.find(name);
    return found == announced.end() ? std::nullopt : std::optional(found->second);
}

int op_count() { return count_ops.load(std::memory_order_acquire); }

std::vector<std::string> op_names() {
    std::vector<std::string> names;
    for (int i = 0, n = op_count(); i < n; ++i) names.push_back(op(OpId(i)).spec.name);
    std::lock_guard lock(registry_mutex);
    for (const auto& [name, takes_kernels] : announced)
        if (!find_op(name)) names.push_back(name);
    return names;
}

const CoreOps& core_ops() { return core; }

OpId need_core(OpId id, const char* name, std::string_view user_op) {
    if (id != kNoOp) return id;
    fail(ErrorKind::Runtime, "registration", user_op,
         text("the op `", name,
              "` is not registered: got no record, expected the one of tenora_ops. Import tenora first."));
}

std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const RuleName& r : dtype_rules()) names.push_back(text("dtype:", r.name));
    for (auto table : {basic_shape_rules(), view_shape_rules(), matmul_shape_rules(), index_shape_rules(),
                       window_shape_rules()})
        for (const RuleName& r : table) names.push_back(text("shape:", r.name));
    for (const Prepare& p : prepares()) names.push_back(text("prepare:", p.name));
    for (auto table : {layout_plans(), creation_plans(), adjoint_plans()})
        for (const StructuralPlan& p : table) names.push_back(text("plan:", p.name));
    return names;
}

const Prepare* find_prepare(std::string_view name) {
    for (const Prepare& p : prepares())
        if (p.name == name) return &p;
    return nullptr;
}

const StructuralPlan* find_plan(std::string_view name) {
    for (auto table : {layout_plans(), creation_plans(), adjoint_plans()})
        for (const StructuralPlan& p : table)
            if (p.name == name) return &p;
    return nullptr;
}

static size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<size_t> row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            size_t above = row[j];
            row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = above;
        }
    }
    return row[b.size()];
}

std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
    std::vector<std::pair<size_t, std::string>> scored;
    for (const std::string& candidate : candidates) {
        size_t distance = edit_distance(name, candidate);
        bool contains = !name.empty() && candidate.find(name) != std::string::npos;
        if (distance <= std::max<size_t>(2, name.size() / 3) || contains)
            scored.emplace_back(distance, candidate);
    }
    std::sort(scored.begin(), scored.end());
    std::vector<std::string> result;
    for (size_t i = 0; i < scored.size() && i < 3; ++i) result.push_back(scored[i].second);
    return result;
}

}  // namespace tenora
