// Kernels run under guard: what `tenora.debug.guard` puts into the dispatch table.
//   - A guarded entry stands in the table instead of the kernel's own and runs that one; the path of a call
//   does
//     not know of it, and while no guard is on the table holds what was registered.
//   - Each operand gets memory of its own between red zones (guard_memory.h), from the space's raw
//   allocation.
//     Afterwards inputs must be what they were, outputs changed in their elements only.
//   - Fresh outputs hold poison. An element that comes out as poison may be right: the kernel then runs once
//     more on another poison, and what comes out as that too was never written.
//   - An output that is an input's memory exactly (in-place calls) stays the same memory.
//   - A finding is a status with a text, never an exception: native kernels may run without the GIL.
#include "guard.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <unordered_map>

#include "guard_memory.h"
#include "internal.h"

namespace tenora {

namespace {

constexpr uint8_t kPoison = 0xFF, kSecondPoison = 0x55;
constexpr uint64_t kMaskBits = 64;

struct Guarded {
    KernelEntry entry;  // the one in the table; its state is this
    const KernelEntry* kernel;
    const Op* op;
    BackendId backend;
};

const Guarded& guarded_of(const tnr_call* call) { return *static_cast<const Guarded*>(call->state); }

tnr_call as_kernel_sees(const tnr_call* call) {
    tnr_call inner = *call;
    inner.state = guarded_of(call).kernel->state;
    return inner;
}

bool same_memory(const DLTensor& a, const DLTensor& b) {
    return a.data == b.data && a.ndim == b.ndim && a.dtype.code == b.dtype.code &&
           a.dtype.bits == b.dtype.bits && std::equal(a.shape, a.shape + a.ndim, b.shape) &&
           std::equal(a.strides, a.strides + a.ndim, b.strides);
}

class GuardedCall {
  public:
    explicit GuardedCall(const tnr_call* call) : guarded_(guarded_of(call)), inner_(as_kernel_sees(call)) {
        preloaded_ = call->accumulate || (guarded_.op->prepare && guarded_.op->prepare->preloads);
    }

    int32_t run() {
        if (int32_t status = describe()) return status;
        if (int32_t status = attempt(kPoison)) return status;
        if (suspicious()) {
            if (int32_t status = attempt(kSecondPoison)) return status;
            if (int32_t status = find_unwritten()) return status;
        }
        for (auto& operand : operands_)
            if (operand->role() != GuardRole::Read && operand.get() != workspace_)
                if (int32_t status = operand->hand_over()) return status;
        return wait();
    }

  private:
    // The memory of an operand: the host's for scalars that travel by value.
    GuardPlace place(const DLTensor& t, bool host) const {
        void* stream = host ? nullptr : inner_.stream;
        return {space_of(t, host), t.device.device_id, stream, inner_.error, inner_.error_size};
    }

    const Space* space_of(const DLTensor& t, bool host) const {
        if (!host)
            for (uint8_t id : backend(guarded_.backend).spaces)
                if (space(id).functions.dlpack_type == t.device.device_type) return &space(id);
        return &space(uint8_t(0));
    }

    const DLTensor* own(const DLTensor* t, GuardRole role, bool host) {
        operands_.push_back(std::make_unique<GuardedOperand>(*t, role, place(*t, host)));
        return operands_.back()->descriptor();
    }

    int32_t describe() {
        for (int i = 0; i < inner_.n_out; ++i) {
            bool updated = preloaded_;
            for (int j = 0; j < inner_.n_in; ++j)
                updated |= inner_.in[j] && same_memory(*inner_.in[j], *inner_.out[i]);
            out_.push_back(own(inner_.out[i], updated ? GuardRole::Updated : GuardRole::Fresh, false));
        }
        for (int i = 0; i < inner_.n_in; ++i) in_.push_back(input(i));
        if (inner_.workspace_size) guard_workspace();
        inner_.in = in_.data();
        inner_.out = out_.data();
        for (auto& operand : operands_)
            if (int32_t status = operand->make()) return status;
        if (workspace_) inner_.workspace = workspace_->descriptor()->data;
        return wait();
    }

    const DLTensor* input(int i) {
        const DLTensor* t = inner_.in[i];
        if (!t) return nullptr;
        for (int j = 0; j < inner_.n_out; ++j)
            if (same_memory(*t, operands_[size_t(j)]->original())) return out_[size_t(j)];
        bool host = uint64_t(i) < kMaskBits && (inner_.host_scalar_mask >> i & 1);
        return own(t, GuardRole::Read, host);
    }

    void guard_workspace() {
        workspace_bytes_ = int64_t(inner_.workspace_size);
        const DLTensor bytes{inner_.workspace,  inner_.out[0]->device, 1, {1, 8, 1},
                             &workspace_bytes_, &workspace_stride_,    0};
        own(&bytes, GuardRole::Fresh, false);
        workspace_ = operands_.back().get();
    }

    int32_t wait() const {
        for (auto& operand : operands_)
            if (int32_t status = operand->wait()) return status;
        return TNR_OK;
    }

    // One run of the kernel on memory as it was before, and the check of what it did.
    int32_t attempt(uint8_t poison) {
        for (auto& operand : operands_)
            if (int32_t status = operand->lay(poison)) return status;
        if (int32_t status = wait()) return status;
        if (int32_t status = guarded_.kernel->run(&inner_)) return status;
        for (auto& operand : operands_)
            if (int32_t status = operand->fetch()) return status;
        if (int32_t status = wait()) return status;
        for (auto& operand : operands_)
            if (int64_t byte = operand->first_trespass(); byte != GuardedOperand::kNone)
                return report_trespass(*operand, byte);
        return TNR_OK;
    }

    bool writes_all(const GuardedOperand* operand) const {
        return operand->role() == GuardRole::Fresh && operand != workspace_;
    }

    bool suspicious() const {
        for (auto& operand : operands_)
            if (writes_all(operand.get()) && operand->first_untouched(kPoison) != GuardedOperand::kNone)
                return true;
        return false;
    }

    int32_t find_unwritten() const {
        for (auto& operand : operands_) {
            if (!writes_all(operand.get())) continue;
            int64_t byte = operand->first_untouched(kSecondPoison);
            if (byte == GuardedOperand::kNone) continue;
            return report(text("leaves an element of ", name_of(*operand), " unwritten: got poison at byte ",
                               byte, " of ", operand->bytes(), ", expected every element written."));
        }
        return TNR_OK;
    }

    std::string name_of(const GuardedOperand& operand) const {
        if (&operand == workspace_) return "the workspace";
        for (size_t i = 0; i < out_.size(); ++i)
            if (out_[i] == operand.descriptor()) return text("output ", i);
        for (size_t i = 0; i < in_.size(); ++i)
            if (in_[i] == operand.descriptor()) return text("input ", i);
        return "an operand";
    }

    int32_t report_trespass(const GuardedOperand& operand, int64_t byte) const {
        std::string name = name_of(operand);
        bool inside = byte >= 0 && byte < operand.bytes();
        bool changed = inside && operand.role() == GuardRole::Read;
        std::string what = changed  ? text("changes ", name)
                           : inside ? text("writes between the elements of ", name)
                                    : text("writes outside of ", name);
        const char* expected = changed ? "an input that is only read" : "writes to its own elements only";
        return report(text(what, ": got byte ", byte, " of ", operand.bytes(), " set to ",
                           int(operand.found(byte)), ", expected ", expected, "."));
    }

    int32_t report(const std::string& finding) const {
        if (inner_.error && inner_.error_size)
            std::snprintf(inner_.error, inner_.error_size,
                          "guard: the kernel of backend '%s' %s Correct the kernel.",
                          backend(guarded_.backend).name.c_str(), finding.c_str());
        return TNR_ERROR;
    }

    const Guarded& guarded_;
    tnr_call inner_;
    bool preloaded_ = false;
    std::vector<std::unique_ptr<GuardedOperand>> operands_;
    std::vector<const DLTensor*> in_, out_;
    GuardedOperand* workspace_ = nullptr;
    int64_t workspace_bytes_ = 0, workspace_stride_ = 1;
};

int32_t run_guarded(const tnr_call* call) { return GuardedCall(call).run(); }

int32_t supports_guarded(const tnr_call* call) {
    tnr_call inner = as_kernel_sees(call);
    return guarded_of(call).kernel->supports(&inner);
}

size_t workspace_guarded(const tnr_call* call) {
    tnr_call inner = as_kernel_sees(call);
    return guarded_of(call).kernel->workspace(&inner);
}

// By the kernel's own entry; under registry_mutex.
std::unordered_map<const KernelEntry*, const Guarded*>& made() {
    static auto* entries = new std::unordered_map<const KernelEntry*, const Guarded*>();
    return *entries;
}

}  // namespace

const KernelEntry* guarded_entry(const Op& op, BackendId id, const KernelEntry* entry) {
    if (entry->run == run_guarded) return entry;
    const Guarded*& known = made()[entry];
    if (!known) {
        auto* guarded = new Guarded{*entry, entry, &op, id};
        guarded->entry.run = run_guarded;
        guarded->entry.state = guarded;
        if (entry->supports) guarded->entry.supports = supports_guarded;
        if (entry->workspace) guarded->entry.workspace = workspace_guarded;
        known = guarded;
    }
    return &known->entry;
}

const KernelEntry* plain_entry(const KernelEntry* entry) {
    if (!entry || entry->run != run_guarded) return entry;
    return static_cast<const Guarded*>(entry->state)->kernel;
}

}  // namespace tenora
