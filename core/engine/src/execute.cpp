// From rules to results: which implementation runs, and what happens when it declines.
#include <algorithm>
#include <map>

#include "internal.h"
#include "tenora/hooks.h"
#include "tenora/program.h"
#include "tenora/ring.h"
#include "tenora/tape.h"

namespace tenora {

namespace {

BackendId backend_or_none(uint8_t space_id) {
    BackendId id = modes().override_backend[space_id];
    return id != kNoBackend ? id : default_backends[space_id].load(std::memory_order_acquire);
}

void make_view(Call& c) {
    Tensor* base = c.in[0].tensor;
    const OutMeta& m = c.meta[0];
    c.backend = backend_or_none(base->device.space);
    if (!base->storage) {
        c.result[0] =
            new_tensor(c.shape(), m.dtype, base->device);  // metadata-only operand: any memory of that shape
        return;
    }
    c.result[0] =
        new_window(base->storage, c.shape(), {m.strides, size_t(m.rank)}, m.offset, m.dtype, base->device);
    if (base->inference) c.result[0]->inference = true;
    if (c.taped && c.op.spec.differentiable) make_view_of(c.result[0].get(), base);
}

// Results that the rules described but a Program or plan made must agree with the rules.
void check_result(Call& c) {
    for (int i = 0; i < c.op.spec.n_out; ++i) {
        Tensor* t = c.result[i].get();
        if (!t)
            fail(ErrorKind::Runtime, "result", c.op.display(),
                 text("result ", i, " is missing: got nothing, expected a tensor. Check the op's formula."));
        for (const Operand& o : c.in) {
            if (o.tensor != t) continue;
            // An op never returns its operand: recording would overwrite the operand's own history.
            if (OpId id = core_ops().alias; id != kNoOp && c.recording) {
                Operand operand(t);
                TensorRef r;
                call(id, {&operand, 1}, {}, &r);
                c.result[i] = std::move(r);
            } else {
                c.result[i] = alias(t);
            }
            break;
        }
        if (c.op.has_rules &&
            (t->dtype != c.meta[i].dtype ||
             !std::equal(t->shape().begin(), t->shape().end(), c.shape(i).begin(), c.shape(i).end())))
            fail(ErrorKind::Runtime, "result", c.op.display(),
                 text("formula and rules disagree: got ", describe(t), ", expected ", c.meta[i].dtype,
                      c.shape(i), ". Correct the op's record."));
    }
}

// Whether calls are recorded, for the duration of a block.
struct GradMode {
    bool old = modes().grad;
    explicit GradMode(bool grad) { modes().grad = grad; }
    ~GradMode() { modes().grad = old; }
    GradMode(const GradMode&) = delete;
};

void run_function(Call& c) {
    if (!hooks().call_function)
        fail(
            ErrorKind::NotSupported, "unsupported", c.op.display(),
            "its Python function is not connected: got no caller, expected tenora_ops. Import tenora first.");
    // With rules the op is one node on the tape: what its Python calls is not recorded.
    {
        GradMode quiet(modes().grad && !c.op.has_rules);
        hooks().call_function(c.op, c.in, c.infer.attr, c.result);
    }
    c.recording = !c.op.has_rules;
    check_result(c);
}

// A result that shares the first operand's memory is a view of it.
void mark_views(Call& c) {
    Tensor* base = c.in.empty() ? nullptr : c.in[0].tensor;
    if (!c.taped || !base || !base->storage) return;
    for (int i = 0; i < c.op.spec.n_out; ++i)
        if (c.result[i] && c.result[i]->storage == base->storage && !c.result[i]->is_view)
            make_view_of(c.result[i].get(), base);
}

void run_plan(Call& c) {
    c.op.plan(c);
    mark_views(c);
}

std::mutex fallback_mutex;
std::map<std::pair<OpId, BackendId>, uint64_t> fallback_calls;  // fallback_mutex

BackendId reference_backend() {
    for (int i = 0, n = backend_count(); i < n; ++i)
        if (backend(BackendId(i)).reference && backend(BackendId(i)).serves(0)) return BackendId(i);
    return kNoBackend;
}

[[noreturn]] void refuse_call(const Call& c, const Declined& why, const char* advice) {
    const Tensor* first = nullptr;
    for (const Operand& o : c.in)
        if (o.tensor && !first) first = o.tensor;
    Error e(
        ErrorKind::NotSupported, "unsupported", std::string(c.op.display()),
        text("[", c.op.display(), "] not supported: got ", first ? describe(first) : std::string("no tensor"),
             " on ", c.infer.device, ", where ", why.reason, ", expected a kernel. ", advice));
    e.backend = c.backend == kNoBackend ? "" : backend(c.backend).name;
    if (first) e.dtype = text(first->dtype);
    throw e;
}

// The host's default backend for the duration of a call.
struct BackendOverride {
    uint8_t space_id;
    BackendId old;
    BackendOverride(uint8_t s, BackendId id) : space_id(s), old(modes().override_backend[s]) {
        modes().override_backend[s] = id;
    }
    ~BackendOverride() { modes().override_backend[space_id] = old; }
};

void note_fallback(const Call& c, BackendId reference, const Declined& why) {
    {
        std::lock_guard lock(fallback_mutex);
        ++fallback_calls[{c.op.id, c.backend}];
    }
    hidden_event(int(RingKind::Fallback), &c.op, c.backend, 0, "computed by the reference on the host");
    if (modes().fallback == 1 && hooks().warn)
        hooks().warn("fallback", text("[", c.op.display(), "] computed by ", backend(reference).name,
                                      " on the host: ", why.reason,
                                      ". Allow it with fallback=\"allow\" or choose another backend."));
}

}  // namespace

void run_fallback(Call& c, const Declined& why) {
    BackendId reference = reference_backend();
    if (modes().fallback == 0 || reference == kNoBackend ||
        (reference == c.backend && c.infer.device.space == 0))
        refuse_call(c, why,
                    reference == kNoBackend || reference == c.backend
                        ? "Choose another backend or dtype."
                        : "Choose another backend or dtype, or allow fallback=\"warn\".");
    note_fallback(c, reference, why);
    Device device = c.infer.device;
    std::vector<Operand> in(c.in.begin(), c.in.end());
    for (Operand& o : in)
        if (o.tensor && o.tensor->device.space != 0) o = c.keep(to_device(o.tensor, Device{}, false));
    std::vector<Attr> attr(c.infer.attr.begin(), c.infer.attr.end());
    TensorRef out[kMaxOutputs];
    {
        BackendOverride override_host(0, reference);
        call_raw(c.op.id, in, attr, out);
    }
    for (int i = 0; i < c.op.spec.n_out; ++i)
        c.result[i] = out[i] && !(out[i]->device == device) ? to_device(out[i].get(), device, false)
                                                            : std::move(out[i]);
}

namespace {

bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }

// The operands as they were given, complex numbers as tensors: attributes hold none.
void take_operands(Call& c, std::span<Operand> in) {
    DType known = c.infer.compute;
    for (const Operand& o : c.in)
        if (o.tensor && (known == DType::None || !is_complex(known))) known = o.tensor->dtype;
    for (size_t i = 0; i < in.size(); ++i) {
        in[i] = c.in[i];
        if (c.in[i].tensor || !c.in[i].has_scalar || c.in[i].scalar.kind != Scalar::Kind::Complex) continue;
        Device device = c.in[0].tensor ? c.in[0].tensor->device : c.infer.device;
        TensorRef number = new_tensor({}, is_complex(known) ? known : DType::C64, device);
        fill(number.get(), c.in[i].scalar);
        in[i] = c.keep(std::move(number));
    }
}

// What a composite computes with in place of an operand's dtype.
DType computed_in(const Call& c, size_t i) {
    bool promoted = c.infer.compute != DType::None && (c.infer.cast_mask & operand_bit(i));
    DType dtype = promoted ? c.infer.compute : c.in[i].tensor->dtype;
    return is_half(dtype) ? DType::F32 : dtype;
}

// Operands as a composite computes with them: promoted like a
// kernel's, and half types in float32, rounded once at the end.
void widen_operands(Call& c, std::span<Operand> in) {
    take_operands(c, in);
    for (size_t i = 0; i < in.size(); ++i) {
        Tensor* t = c.in[i].tensor;
        if (!t || !t->storage) continue;
        DType dtype = computed_in(c, i);
        if (dtype == t->dtype) continue;
        TensorRef wide = new_tensor(t->shape(), dtype, t->device);
        copy_into(wide.get(), t, c.backend);
        in[i] = c.keep(std::move(wide));
    }
}

// Whether a composite's result is still in what it was computed in, to be rounded once.
bool still_wide(const Call& c, int i) {
    const Tensor* t = c.result[i].get();
    DType result = c.meta[i].dtype;
    if (!t || t->dtype == result) return false;
    return is_half(result) ? t->dtype == DType::F32 || t->dtype == c.infer.compute
                           : is_floating(result) && t->dtype == c.infer.compute;
}

void narrow_results(Call& c) {
    for (int i = 0; i < c.op.spec.n_out; ++i) {
        if (!still_wide(c, i)) continue;
        Tensor* t = c.result[i].get();
        TensorRef narrow = new_tensor(t->shape(), c.meta[i].dtype, t->device);
        copy_into(narrow.get(), t, c.backend);
        c.result[i] = std::move(narrow);
    }
}

TensorRef recorded_cast(Tensor* t, DType dtype) {
    Operand in(t);
    Attr attr[] = {attr_dtype(dtype), attr_none(), attr_bool(false)};
    TensorRef out;
    static const OpId to = find_op("to")->id;
    call(to, {&in, 1}, attr, &out);
    return out;
}

// The same for a composite whose parts are recorded: the casts are parts too, so the value is that of the
// unrecorded call and the gradient is computed in float32.
void widen_recorded(Call& c, std::span<Operand> in) {
    take_operands(c, in);
    for (size_t i = 0; i < in.size(); ++i) {
        Tensor* t = c.in[i].tensor;
        if (!t || !t->storage) continue;
        if (DType dtype = computed_in(c, i); dtype != t->dtype) in[i] = c.keep(recorded_cast(t, dtype));
    }
}

void narrow_recorded(Call& c) {
    for (int i = 0; i < c.op.spec.n_out; ++i)
        if (still_wide(c, i)) c.result[i] = recorded_cast(c.result[i].get(), c.meta[i].dtype);
}

// A mistake found inside a composite is told under the name that the user called.
[[noreturn]] void fail_as(const Op& outer, Error error) {
    std::string inner = "[" + error.op + "]";
    if (!error.op.empty() && error.op != outer.display() && error.message.starts_with(inner)) {
        std::string name(outer.display());
        std::string part = error.message.find("(In its part '") == std::string::npos
                               ? " (In its part '" + error.op + "'.)"
                               : "";  // the innermost part is the one to look at
        error.message = "[" + name + "]" + error.message.substr(inner.size()) + part;
        error.op = name;
    }
    throw error;
}

}  // namespace

void run_program(Call& c, bool recording) {
    bool described = c.op.has_rules && !recording;
    SmallArray<Operand, 8> in(c.in.size());
    if (described)
        widen_operands(c, in);
    else if (c.op.has_rules)
        widen_recorded(c, in);
    else
        take_operands(c, in);
    ProgramKey key = make_key(c.op, 0, in, nullptr, c.infer.attr);
    const Program* p = composite_program(c.op, key, in, c.infer.attr);
    SmallArray<Tensor*, 8> tensors(in.size());
    for (size_t i = 0; i < in.size(); ++i) tensors[i] = in[i].tensor;
    SmallArray<Attr, 16> attrs(c.infer.attr.size() + in.size());
    program_attributes(in, c.infer.attr, attrs.data());
    try {
        replay(*p, tensors, attrs, recording, {c.result, size_t(c.op.spec.n_out)});
    } catch (const Error& error) {
        if (error.kind == ErrorKind::Python) throw;
        fail_as(c.op, error);
    }
    c.recording = recording;
    if (described)
        narrow_results(c);
    else if (c.op.has_rules)
        narrow_recorded(c);
    check_result(c);
    if (!recording) mark_views(c);
}

// Implementation by kind. A kernel of the backend overrides plan and composite.
void execute(Call& c, uint64_t needs) {
    Implementation kind = c.op.spec.implementation;
    if (kind == Implementation::View) return make_view(c);
    if (kind == Implementation::Function && !c.op.has_rules) return run_function(c);
    bool through = c.op.spec.through && needs;
    Declined why;
    if (kind == Implementation::Kernel || (c.op.has_rules && !through)) {
        c.backend = current_backend(c.infer.device.space);
        if (kind == Implementation::Kernel || kernel_entry(c.op, c.backend)) {
            try {
                return c.op.prepare->run(c);
            } catch (const Declined& d) {
                why = d;
                for (int i = 0; i < c.op.spec.n_out; ++i) c.result[i] = nullptr;
            }
        }
    }
    if (c.backend == kNoBackend) c.backend = current_backend(c.infer.device.space);
    try {
        if (kind == Implementation::Structural) return run_plan(c);
        if (kind == Implementation::Function) return run_function(c);
        if (kind == Implementation::Composite) return run_program(c, through);
    } catch (const Declined& d) {
        why = d;
    }
    if (why.reason.empty()) why = {"no backend has a kernel for it"};
    run_fallback(c, why);
}

std::vector<FallbackCount> fallback_counts() {
    std::lock_guard lock(fallback_mutex);
    std::vector<FallbackCount> counts;
    for (const auto& [key, calls] : fallback_calls)
        counts.push_back({std::string(op(key.first).display()),
                          key.second == kNoBackend ? "" : backend(key.second).name, calls});
    return counts;
}

void reset_fallback_counts() {
    std::lock_guard lock(fallback_mutex);
    fallback_calls.clear();
}

Explanation explain(OpId id, Device device, DType dtype) {
    const Op& o = op(id);
    Implementation kind = o.spec.implementation;
    if (kind == Implementation::View)
        return {"view", "", "a window on the operand's memory; nothing is computed"};
    if (kind == Implementation::Function && !o.has_rules)
        return {"function", "", "a Python function over other ops: its result size depends on data"};
    BackendId used = current_backend(device.space);
    std::string name = backend(used).name;
    const KernelEntry* entry = kernel_entry(o, used);
    bool takes = entry && (entry->dtypes >> int(dtype) & 1);
    std::string missing =
        entry ? text("the kernel of ", name, " does not take ", dtype) : text(name, " has no kernel for it");
    if (takes)
        return {entry->python ? "python kernel" : "kernel", name,
                entry->supports ? "kernel, if it supports the exact call" : "kernel"};
    if (kind == Implementation::Structural)
        return {"structural", name, text(missing, "; a plan over other ops runs")};
    if (kind == Implementation::Function)
        return {"function", name, text(missing, "; its Python function over other ops runs")};
    if (kind == Implementation::Composite)
        return {"composite", name, text(missing, "; its formula over other ops runs")};
    BackendId reference = reference_backend();
    if (modes().fallback && reference != kNoBackend && reference != used)
        return {"fallback", backend(reference).name,
                text(missing, "; the fallback through the host is allowed")};
    return {"unsupported", name, missing};
}

}  // namespace tenora
