// Storage and Tensor: bytes in a memory space, and a strided typed window on them.
//   - Both are counted intrusively and atomically and know nothing
//     of Python. Memory goes the moment the last count goes.
//   - One version counter per storage, shared by all views; in-place writes bump it (not in inference mode).
//   - The Python wrapper holds one count of its tensor; the tensor has a plain back
//     pointer `wrapper`. Bit KEEP of the count word makes the engine hold the wrapper
//     while count >= 2 (it has something to lose); the transitions 1 -> 2 and 2 -> 1
//     call hooks().keep_retain / keep_release (docs/decisions/0004).
//   - The DLTensor is embedded, so a kernel call builds no descriptor.
//   - Autograd data used by every taped tensor sits inline (node, output_nr); rarer data in `extra`.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "tenora/dtype.h"
#include "tenora/space.h"

namespace tenora {

template <class T>
class Ref {  // intrusive pointer over T::retain() / T::release()
  public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    explicit Ref(T* p) : p_(p) {
        if (p_) p_->retain();
    }
    static Ref steal(T* p) {
        Ref r;
        r.p_ = p;
        return r;
    }
    Ref(const Ref& o) : p_(o.p_) {
        if (p_) p_->retain();
    }
    Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    Ref& operator=(Ref o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }
    ~Ref() {
        if (p_) p_->release();
    }
    T* get() const { return p_; }
    T* operator->() const { return p_; }
    T& operator*() const { return *p_; }
    explicit operator bool() const { return p_ != nullptr; }
    T* take() { return std::exchange(p_, nullptr); }  // gives the count away
  private:
    T* p_ = nullptr;
};

inline constexpr uint8_t kNoSlot = 255;

// -------------------------------------------------------------------------------------------------
// Storage
struct Storage {
    std::atomic<uint32_t> count{1};
    std::atomic<uint32_t> version{0};
    void* data = nullptr;
    size_t bytes = 0;
    Device device;
    bool read_only = false;  // foreign read-only memory: writing raises
    uint8_t stream_slot =
        kNoSlot;       // slot of the stream it was allocated on (stream.h); kNoSlot: host order or foreign
    uint8_t kind = 0;  // storage.cpp: block, one with its header, foreign
    uint8_t pinned_for = 0;  // number of the space whose devices read and write this host memory; 0: none
    uint8_t size_class = 0;  // storage.cpp
    std::atomic<bool> saved{false};  // some node of the tape saved a window on it (tape_cycles.cpp)
    void* block = nullptr;           // allocator block, or null
    void (*foreign_release)(void* owner) = nullptr;  // foreign memory: called once, on any thread
    void* owner = nullptr;
    std::atomic<uint64_t> streams{
        0};  // bit per stream slot that used it besides the allocating one (see stream.h)

    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release() {  // a sole owner needs no locked instruction: nobody is left to race with
        if (unique() || count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
    }
    bool unique() const { return count.load(std::memory_order_acquire) == 1; }
    static void destroy(Storage* s);
};
using StorageRef = Ref<Storage>;

StorageRef allocate(size_t bytes,
                    Device device);  // on the current stream; throws OutOfMemory, process goes on
StorageRef adopt(void* data, size_t bytes, Device device, bool read_only, void* owner,
                 void (*release)(void*));

// -------------------------------------------------------------------------------------------------
// Tensor
struct Node;   // tape.h
struct Extra;  // tape.h: grad, hooks, view base, retain_grad

inline constexpr int kMaxRank = TNR_MAX_RANK;
inline constexpr int kInlineRank = 5;

struct Tensor {
    static constexpr uint32_t KEEP = 1u;  // bit 0; counts are multiples of 2
    std::atomic<uint32_t> word{2};
    DType dtype = DType::F32;
    Device device;
    bool contiguous = true;      // dense row-major (size-1 dimensions ignored); empty tensors are
    bool requires_grad = false;  // a leaf that collects; tensors with a node require grad too
    bool inference = false;      // born in inference_mode: no version checks, may not be saved
    bool is_view = false;        // `extra->base` is set (differentiable view)
    uint8_t block_rank = 0;      // dimensions for which this tensor's own block has room
    uint32_t output_nr = 0;      // which output of `node`
    DLTensor dl{};  // data = storage data + offset * itemsize; shape/strides point below or at the heap
    int64_t numel = 0;
    Storage* storage = nullptr;           // owned
    int64_t offset = 0;                   // in elements
    Node* node = nullptr;                 // owned: the node that produced it
    Extra* extra = nullptr;               // owned, lazily made
    std::atomic<void*> wrapper{nullptr};  // PyObject*, borrowed back pointer
    int64_t inline_dims[2 * kInlineRank];

    int rank() const { return dl.ndim; }
    std::span<const int64_t> shape() const { return {dl.shape, size_t(dl.ndim)}; }
    std::span<const int64_t> strides() const { return {dl.strides, size_t(dl.ndim)}; }
    bool needs_grad() const { return requires_grad || node != nullptr; }
    uint32_t version() const { return storage->version.load(std::memory_order_relaxed); }
    uint32_t use_count() const { return word.load(std::memory_order_acquire) >> 1; }

    void retain() {
        uint32_t old = word.fetch_add(2, std::memory_order_relaxed);
        if ((old & KEEP) && (old >> 1) == 1) [[unlikely]]
            keep_retain(this);
    }
    void release() {
        if (word.load(std::memory_order_acquire) == 2) return destroy(this);  // sole owner, as for Storage
        uint32_t old = word.fetch_sub(2, std::memory_order_acq_rel);
        if ((old >> 1) == 1)
            destroy(this);
        else if ((old & KEEP) && (old >> 1) == 2) [[unlikely]]
            keep_release(this);
    }
    static void destroy(Tensor* t);  // iterative: long histories and view chains never recurse
    static void keep_retain(Tensor* t);
    static void keep_release(Tensor* t);
};
// Null when there is none yet. Another thread's backward may be making it: read the pointer through this.
inline Extra* find_extra(const Tensor* t) {
    return std::atomic_ref<Extra*>(const_cast<Extra*&>(t->extra)).load(std::memory_order_acquire);
}
using TensorRef = Ref<Tensor>;
static_assert(sizeof(Storage) == 64 && sizeof(Tensor) == 192, "a header is whole cache lines");

TensorRef new_tensor(std::span<const int64_t> shape, DType dtype, Device device);  // dense, uninitialised
// Window on a storage (retained). Checks bounds against the storage; throws Error.
TensorRef new_window(Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides,
                     int64_t offset, DType dtype, Device device);
TensorRef alias(Tensor* t);  // same geometry and storage, no history, no wrapper

// Gives a tensor another window, in place: resizing, `.data =`, in-place views. Bounds are checked as in
// new_window; `storage` is retained and may be the present one. Version, history and flags stay as they are.
void set_window(Tensor* t, Storage* storage, std::span<const int64_t> shape, std::span<const int64_t> strides,
                int64_t offset, DType dtype);

int64_t checked_numel(std::span<const int64_t> shape,
                      std::string_view op);  // throws on negative sizes and overflow, rank > 64
void dense_strides(std::span<const int64_t> shape, int64_t* strides);
bool is_dense(std::span<const int64_t> shape, std::span<const int64_t> strides);
std::string describe(const Tensor* t);  // "float32[3, 4]" for messages

// Live-object counters, for tests and leak checks. `bytes`: what was asked for of the storages that tenora
// itself allocated. Counted per thread and added up here; exact once other threads stand still.
struct Live {
    int64_t tensors, storages, nodes, extras, programs;
    int64_t bytes;
};
Live live();
void count_live_node(int delta);
void count_live_extra(int delta);
void count_live_program(int delta);

}  // namespace tenora
