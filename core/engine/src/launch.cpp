// Launching a kernel: from operands to the C ABI.
//   - Operands that the kernel's flags do not allow (strided, negative strides)
//     become dense copies; outputs it cannot write (strided, or overlapping an
//     input) go through a dense buffer. Each such copy is a Layout event, hidden.
//   - A 0-d tensor on the host beside larger operands, and every number, goes by value: host_scalar_mask.
//   - The GIL is released only around kernels that last about a millisecond or may block.
//   - On a space with streams the current stream is passed and every operand is marked as used by it.
#include <new>

#include "internal.h"
#include "tenora/allocator.h"
#include "tenora/hooks.h"
#include "tenora/ring.h"
#include "tenora/stream.h"

namespace tenora {

namespace {

constexpr double kReleaseNanoseconds = 1e6;
constexpr double kBytesPerNanosecond = 8;
constexpr size_t kInline = 12;

bool has_negative(const Tensor* t) {
    for (int i = 0; i < t->rank(); ++i)
        if (t->strides()[size_t(i)] < 0 && t->shape()[size_t(i)] > 1) return true;
    return false;
}

// One operand and what had to be made for it.
struct Slot {
    LocalScalar scalar;
    LocalView view;
    TensorRef made;
};

class Runner {
  public:
    explicit Runner(const Launch& l)
        : l_(l),
          entry_(find(l)),
          in_(l.in.size()),
          out_(l.out.size()),
          in_d_(l.in.size()),
          out_d_(l.out.size()) {}

    ~Runner() {
        for (size_t i = 0; i < inline_used_; ++i)
            std::launder(reinterpret_cast<Slot*>(inline_slots_ + sizeof(Slot) * i))->~Slot();
    }
    Runner(const Runner&) = delete;

    void run() {
        check_dtype();
        for (size_t i = 0; i < l_.in.size(); ++i) in_[i] = prepare_input(i);
        for (size_t i = 0; i < l_.out.size(); ++i) out_[i] = prepare_output(i);
        describe_call();
        if (entry_.supports) check_supports(l_.op, l_.backend, entry_, call_);
        if (entry_.workspace) make_workspace();
        invoke();
        for (size_t i = 0; i < l_.out.size(); ++i)
            if (out_[i] != l_.out[i]) copy_into(l_.out[i], out_[i], l_.backend);
    }

  private:
    static const KernelEntry& find(const Launch& l) {
        if (const KernelEntry* entry = kernel_entry(l.op, l.backend)) return *entry;
        throw Declined{text("backend ", backend(l.backend).name, " has no kernel for it")};
    }

    void check_dtype() {
        const Tensor* first = nullptr;
        for (const Operand& o : l_.in)
            if (!first && o.tensor) first = o.tensor;
        if (!first && !l_.out.empty()) first = l_.out[0];
        if (first && !(entry_.dtypes >> int(first->dtype) & 1))
            throw Declined{
                text("the kernel of backend ", backend(l_.backend).name, " does not take ", first->dtype)};
    }

    DType scalar_dtype() const {
        if (l_.scalar_dtype != DType::None) return l_.scalar_dtype;
        for (const Operand& o : l_.in)
            if (o.tensor) return o.tensor->dtype;
        return l_.out[0]->dtype;
    }

    DType number_dtype(const Scalar& s) const {
        DType dtype = scalar_dtype();
        if (!s.wide || !is_integral(dtype) || dtype == DType::U64) return dtype;
        fail(ErrorKind::Runtime, "value", l_.op.display(),
             text("number is out of range: got ", std::to_string(uint64_t(s.i)), ", expected what fits ",
                  dtype, ". Use uint64 or a floating dtype."));
    }

    // Slots are large: made where and when one is needed.
    Slot& new_slot() {
        if (inline_used_ < kInlineSlots) return *new (inline_slots_ + sizeof(Slot) * inline_used_++) Slot;
        slots_.emplace_back(new Slot);
        return *slots_.back();
    }

    Tensor* prepare_input(size_t i) {
        const Operand& o = l_.in[i];
        uint64_t bit = i < 64 ? 1ull << i : 0;
        if (!o.tensor) {
            if (!o.has_scalar) return nullptr;
            LocalScalar& s = new_slot().scalar;
            s.reset(o.scalar, number_dtype(o.scalar));
            call_.host_scalar_mask |= bit;
            return s.get();
        }
        Tensor* t = o.tensor;
        bool expands = l_.op.pointwise && !l_.out.empty() && !same_shape(t, l_.out[0]);
        if (t->rank() == 0 && t->device.space == 0 && (expands || l_.device.space != 0)) {
            call_.host_scalar_mask |= bit;
            return t;
        }
        if (expands && !(entry_.flags & TNR_KERNEL_BROADCAST)) return expand(t);
        return fix_layout(t);
    }

    [[noreturn]] void refuse_shape(const Tensor* t, const Tensor* to) const {
        fail(ErrorKind::Runtime, "shape", l_.op.display(),
             text("operand does not broadcast to the result: got ", describe(t),
                  ", expected a shape that broadcasts to ", to->shape(), ". Reshape or expand it."));
    }

    Tensor* expand(Tensor* t) {
        const Tensor* to = l_.out[0];
        LocalView& v = new_slot().view;
        int64_t strides[kMaxRank];
        if (!broadcast_strides(t, to->shape(), strides)) refuse_shape(t, to);
        v.reset(t, to->shape(), {strides, size_t(to->rank())});
        return fix_layout(v.get());
    }

    Tensor* fix_layout(Tensor* t) {
        if (t->contiguous) return t;
        bool fine = entry_.flags & TNR_KERNEL_STRIDED;
        if (fine && !(entry_.flags & TNR_KERNEL_NEGATIVE_STRIDES)) fine = !has_negative(t);
        if (fine) return t;
        hidden_event(int(RingKind::Layout), &l_.op, l_.backend, uint64_t(t->numel) * size_of(t->dtype),
                     "the kernel wants dense input");
        Slot& s = new_slot();
        s.made = dense_copy(t, l_.backend);
        return s.made.get();
    }

    bool writable_in_place(Tensor* t) const {
        if (!t->contiguous) {
            if (!(entry_.flags & TNR_KERNEL_STRIDED_OUT)) return false;
            if (!(entry_.flags & TNR_KERNEL_NEGATIVE_STRIDES) && has_negative(t)) return false;
        }
        if (l_.fresh) return true;
        for (size_t i = 0; i < in_.size(); ++i) {
            const Tensor* given = l_.in[i].tensor;
            if (!given || !share_memory(given, t)) continue;
            // Writes at indices come in any order: only the old values may lie in the output itself.
            bool exact = (entry_.flags & TNR_KERNEL_INPLACE) && same_window(given, t) &&
                         (l_.preloaded ? i == 0 : !l_.op.spec.reads_self_for_inplace);
            if (!exact) return false;
        }
        return !l_.op.spec.checks_data || l_.preloaded;
    }

    Tensor* prepare_output(size_t i) {
        Tensor* t = l_.out[i];
        if (writable_in_place(t)) return t;
        hidden_event(int(RingKind::Layout), &l_.op, l_.backend, uint64_t(t->numel) * size_of(t->dtype),
                     "the kernel cannot write the target directly");
        Slot& s = new_slot();
        s.made = l_.accumulate || l_.preloaded ? dense_copy(t, l_.backend)
                                               : new_tensor(t->shape(), t->dtype, t->device);
        return s.made.get();
    }

    void describe_call() {
        bool flat = !out_.size() || out_[0]->contiguous;
        for (size_t i = 0; i < in_.size(); ++i) {
            in_d_[i] = in_[i] ? &in_[i]->dl : nullptr;
            bytes_ += in_[i] ? in_[i]->numel * int64_t(size_of(in_[i]->dtype)) : 0;
            if (!in_[i] || (i < 64 && call_.host_scalar_mask >> i & 1)) continue;
            flat = flat && in_[i]->contiguous && out_.size() && same_shape(in_[i], out_[0]);
        }
        for (size_t i = 0; i < out_.size(); ++i) {
            out_d_[i] = &out_[i]->dl;
            bytes_ += out_[i]->numel * int64_t(size_of(out_[i]->dtype));
            flat = flat && out_[i]->contiguous && same_shape(out_[i], out_[0]);
        }
        call_.struct_size = sizeof(tnr_call);
        call_.n_in = uint16_t(in_.size());
        call_.n_out = uint16_t(out_.size());
        call_.n_attr = uint16_t(l_.attr.size());
        call_.flat = flat;
        call_.accumulate = l_.accumulate;
        call_.state = entry_.state;
        call_.in = in_d_.data();
        call_.out = out_d_.data();
        call_.attr = l_.attr.data();
    }

    void make_workspace() {
        size_t bytes = entry_.workspace(&call_);
        if (!bytes) return;
        workspace_ = allocate(bytes, l_.device);
        call_.workspace = workspace_->data;
        call_.workspace_size = bytes;
    }

    void mark(Tensor* t, Stream* stream) {
        if (t && t->storage && t->device.space != 0) mark_use(t->storage, stream);
    }

    void invoke() {
        char error[512];
        error[0] = 0;
        call_.error = error;
        call_.error_size = sizeof error;
        bool host_order = l_.device.space == 0 || space(l_.device).host_order();
        Stream* stream = host_order ? nullptr : current_stream(l_.device);
        if (stream) {
            call_.stream = stream->handle;
            for (size_t i = 0; i < in_.size(); ++i) mark(in_[i], stream);
            for (size_t i = 0; i < out_.size(); ++i) mark(out_[i], stream);
            if (workspace_) mark_use(workspace_.get(), stream);
        }
        if (device_lost(l_.device)) check_status(l_.op, l_.backend, l_.device, TNR_DEVICE_LOST, "");
        int32_t status = run_once(host_order);
        if (status == TNR_OUT_OF_MEMORY) {
            synchronize(l_.device);
            space(l_.device).allocator(l_.device.index).trim();
            status = run_once(host_order);
        }
        if (status != TNR_OK) check_status(l_.op, l_.backend, l_.device, status, error);
    }

    int32_t run_once(bool host_order) {
        double work = l_.work > 0 ? l_.work : double(bytes_) / kBytesPerNanosecond;
        bool release = !entry_.python && modes().holds_gil && hooks().release_gil &&
                       ((entry_.flags & TNR_KERNEL_BLOCKS) || (host_order && work >= kReleaseNanoseconds));
        bool events = ring_on();
        uint64_t begin = events ? ring_now() : 0;
        void* token = release ? hooks().release_gil() : nullptr;
        int32_t status = entry_.run(&call_);
        if (token) hooks().acquire_gil(token);
        if (events)
            ring_push({RingKind::Kernel, l_.op.id, l_.backend, false, 0,
                       uint64_t(reinterpret_cast<uintptr_t>(call_.stream)), uint64_t(bytes_), begin,
                       ring_now(), nullptr});
        return status;
    }

    const Launch& l_;
    const KernelEntry& entry_;
    tnr_call call_{};
    SmallArray<Tensor*, kInline> in_, out_;
    SmallArray<const DLTensor*, kInline> in_d_, out_d_;
    static constexpr size_t kInlineSlots = 2;
    alignas(Slot) unsigned char inline_slots_[kInlineSlots * sizeof(Slot)];
    size_t inline_used_ = 0;
    std::vector<std::unique_ptr<Slot>> slots_;
    StorageRef workspace_;
    int64_t bytes_ = 0;
};

std::atomic<uint64_t> lost[kMaxSpaces];

}  // namespace

std::atomic<bool> any_device_lost{false};

bool device_lost(Device device) {
    return any_device_lost.load(std::memory_order_relaxed) &&
           (lost[device.space].load(std::memory_order_relaxed) >> (device.index & 63) & 1);
}

void launch(const Launch& l) { Runner(l).run(); }

void run_kernel(const Op& op, BackendId id, std::span<const Operand> in, std::span<const Attr> attr,
                std::span<Tensor* const> out, bool accumulate) {
    try {
        launch({.op = op,
                .backend = id,
                .in = in,
                .attr = attr,
                .out = out,
                .device = out[0]->device,
                .preloaded = op.prepare && op.prepare->preloads,
                .accumulate = accumulate});
    } catch (const Declined& d) {
        Error e(ErrorKind::NotSupported, "unsupported", std::string(op.display()),
                text("[", op.display(), "] not supported: got backend ", backend(id).name, ", where ",
                     d.reason, ", expected a kernel. Choose another backend or allow the fallback."));
        e.backend = backend(id).name;
        throw e;
    }
}

bool can_accumulate(const Op& op, BackendId id) {
    const KernelEntry* entry = kernel_entry(op, id);
    return entry && (entry->flags & TNR_KERNEL_ACCUMULATE);
}

void check_status(const Op& op, BackendId id, Device device, int32_t status, const char* message) {
    if (status == TNR_OK) return;
    if (status == TNR_NOT_SUPPORTED) throw Declined{message && *message ? message : "the kernel declined"};
    if (status == TNR_DEVICE_LOST) {
        lost[device.space].fetch_or(1ull << (device.index & 63));
        any_device_lost.store(true);
    }
    std::string what = message && *message         ? message
                       : status == TNR_DEVICE_LOST ? text("device lost: got no answer from ", device,
                                                          ", expected a working device. Restart the process.")
                                                   : text("kernel failed: got status ", status,
                                                          ", expected 0. See the backend's documentation.");
    StatusMeaning meaning = meaning_of(status);
    Error e(meaning.kind, meaning.code, std::string(op.display()), text("[", op.display(), "] ", what));
    e.backend = backend(id).name;
    throw e;
}

void hidden_event(int kind, const Op* op, BackendId id, uint64_t bytes, const char* detail) {
    if (!ring_on()) return;
    uint64_t now = ring_now();
    ring_push({RingKind(kind), op ? op->id : OpId(kNoOp), id, true, 0, 0, bytes, now, now, detail});
}

}  // namespace tenora
