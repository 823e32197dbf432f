// The tape: one Node per recorded call, and what hangs on a tensor besides its bytes.
//   - A node saves what its Program reads as data (tensor +
//     version) and shapes of what it reads as metadata only.
//   - Edges are (node, output number) or a leaf tensor directly: leaves need no accumulate node.
//   - A saved operand that is a leaf with an edge shares the
//     edge's count; a saved result is an alias without history.
//   - Version checks happen at replay, for data reads only, and name the op.
//   - In place: functional op recorded on the old value (copied only if the Program
//     reads old data); a write through a view also records as_strided_scatter into
//     its base; a stale view re-derives its history as as_strided(base).
//   - Geometry recorded for views counts from the base's first element, with the base's own strides.
//   - Nodes and extras are destroyed by a per-thread work list, never recursively.
//   - Everything of a node lies in one pool block: header, gradient
//     buffers, edges, saved tensors, attributes, metadata.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "tenora/program.h"

namespace tenora {

struct Node;
struct GraphTask;

// One of node/leaf, owned; none = no gradient.
class Edge {
  public:
    Node* node() const { return leaf_ ? nullptr : static_cast<Node*>(target_); }
    Tensor* leaf() const { return leaf_ ? static_cast<Tensor*>(target_) : nullptr; }
    explicit operator bool() const { return target_ != nullptr; }
    void* target() const { return target_; }
    void set(Node* n, uint32_t nr) {
        target_ = n;
        output_nr = nr;
        leaf_ = false;
    }
    void set(Tensor* t) {
        target_ = t;
        output_nr = 0;
        leaf_ = true;
    }
    uint32_t output_nr = 0;

  private:
    bool leaf_ = false;
    void* target_ = nullptr;
};

// What a user's pack function made of a saved tensor, and of which kind that was. Counted: one backward may
// free it while another one unpacks it.
struct Packed {
    std::atomic<uint32_t> count{1};
    void* payload = nullptr;  // of hooks().pack_saved
    DType dtype{};
    Device device{};
    std::vector<int64_t> shape;
    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release() {
        if (count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
    }
    static void destroy(Packed* p);  // may run Python
};
using PackedRef = Ref<Packed>;
struct Saved {  // a tensor that the Program reads as data
    enum : uint32_t { kOwned = 0, kBorrowed = 1, kResult = 2, kPacked = 4 };
    union {
        Tensor* tensor = nullptr;
        Packed* packed;  // kPacked
    };
    uint32_t version = 0;
    uint32_t flags = kOwned;
};
// What an autograd.Function saved, held by its context; the node knows it, so that cut_saved() finds it.
struct FunctionSaved {
    std::atomic<uint32_t> count{1};
    std::mutex lock;   // guards `tensor`
    TensorRef tensor;  // for a result: an alias without history
    uint32_t version = 0;
    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release() {
        if (count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
};
using FunctionSavedRef = Ref<FunctionSaved>;
struct SavedMeta {  // followed by `rank` sizes
    DType dtype;
    Device device;
    uint8_t rank;
    uint32_t reserved;
    int64_t* shape() { return reinterpret_cast<int64_t*>(this + 1); }
    const int64_t* shape() const { return reinterpret_cast<const int64_t*>(this + 1); }
    SavedMeta* next() { return reinterpret_cast<SavedMeta*>(shape() + rank); }
};

// Rare data of a node. Guarded by side_lock() where a
// backward and another thread may meet (retained tensors).
struct NodeSide {
    struct PerOutput {
        uint32_t output_nr;
        void* hooks;
        Tensor* retains;
    };  // retains: not owned, cleared when the tensor dies
    std::vector<PerOutput> outputs;
    void* pre_hooks = nullptr;
    void* post_hooks = nullptr;
    void* trace = nullptr;                // anomaly mode: where the forward call was made
    void* python = nullptr;               // context of an autograd.Function
    std::vector<FunctionSavedRef> saved;  // what that context saved
    std::string name;                     // of a Python node
    void* stream = nullptr;               // Stream* of the forward call, owned; null on host-order spaces
};

struct Node {
    enum : uint8_t { kPython = 1, kFreed = 2 };
    std::atomic<uint32_t> count{1};
    OpId op = 0;
    BackendId backend = kNoBackend;  // recorded: backward runs where forward ran
    std::atomic<uint8_t> flags{0};
    Device device;
    uint16_t n_out = 0, n_edges = 0, n_saved = 0;
    uint16_t n_attr = 0, n_meta = 0;
    std::atomic<bool> busy{false};     // lock of the saved tensors
    uint32_t bytes = 0;                // of the block
    uint64_t sequence = 0;             // later nodes run first
    const Program* program = nullptr;  // immortal; null for Python nodes
    std::atomic<NodeSide*> side{nullptr};
    // Scratch of the one backward that owns scratch fields; valid while `task` is its number.
    uint64_t task = 0;
    uint32_t dependencies = 0;
    uint32_t marks = 0;

    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release() {
        if (count.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy(this);
    }
    static void destroy(Node* n);

    Tensor** buffers() { return reinterpret_cast<Tensor**>(this + 1); }
    Edge* edges() { return reinterpret_cast<Edge*>(buffers() + n_out); }
    Saved* saved() { return reinterpret_cast<Saved*>(edges() + n_edges); }
    Attr* attrs() { return reinterpret_cast<Attr*>(saved() + n_saved); }
    SavedMeta* metas() { return reinterpret_cast<SavedMeta*>(attrs() + n_attr); }
    bool is_python() const { return flags.load(std::memory_order_relaxed) & kPython; }
    std::string_view name() const;  // the user's op
};
using NodeRef = Ref<Node>;

struct Extra {
    std::atomic<Tensor*> grad{nullptr};     // owned
    TensorRef base;                         // differentiable view of
    std::atomic<uint32_t> view_version{0};  // version for which node/output_nr are valid
    enum Creation : uint8_t {
        kDefault,
        kNoGrad,
        kInference,
        kFunction,
        kPart  // one of several views that one call gave
    } creation = kDefault;
    bool retains_grad = false;        // non-leaf: its node's side knows it
    void* hooks = nullptr;            // Python payload: tensor hooks of a leaf
    void* post_accumulate = nullptr;  // Python payload
    // A leaf that was written in place after it had been recorded: nodes keep `stand_in` instead, which
    // passes its gradient on and does not own the tensor (tape_cycles.cpp). Under side_lock().
    TensorRef stand_in;
    std::atomic<Tensor*> stands_for{nullptr};
    bool stand_in_only = false;  // this tensor is a stand-in
    // Scratch of the backward that owns scratch fields (a leaf is a graph node without edges).
    uint64_t task = 0;
    uint32_t dependencies = 0;
    uint32_t marks = 0;
    Tensor* buffer = nullptr;  // owned
};
Extra& extra(Tensor* t);  // made on first use; safe from several threads

// -------------------------------------------------------------------------------------------------
// History
void refresh_view(Tensor* t);  // re-derives a stale view's history
inline bool view_is_stale(const Tensor* t) {
    return t->is_view && t->extra->view_version.load(std::memory_order_acquire) != t->version();
}
// Does t take part in gradients now? Use this, not needs_grad(),
// wherever a view may have been written through an alias.
inline bool tracked(Tensor* t) {
    if (view_is_stale(t)) [[unlikely]]
        refresh_view(t);
    return t->needs_grad();
}
Node* history(Tensor* t);  // null for a leaf or a constant
inline bool is_leaf(Tensor* t) { return !tracked(t) || t->node == nullptr; }
void set_history(Tensor* t, Node* node, uint32_t output_nr);  // retains; replaces what t had
void set_history(Tensor* t, NodeRef node, uint32_t output_nr);
// After a write into `t`: `node` made its new value. A view's base gets a scatter of it as history.
void rebase_history(Tensor* t, NodeRef node, uint32_t output_nr, BackendId backend);
// Before a history is given to a tensor that existed already (written in place): no node below `fresh` may
// hold the tensor, or the two would never be freed (tape_cycles.cpp).
void cut_saved(Tensor* target, Node* fresh);
Edge edge_of(Tensor* t);  // an owned edge to t's history; empty when untracked

// Called by the dispatcher after a successful call with needs != 0.
void record(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
            std::span<const Attr> attr, TensorRef* out, int n_out);
NodeRef record_node(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
                    std::span<const Attr> attr,
                    std::span<Tensor* const> out);  // the node alone; histories of `out` untouched

// In place. Before the write: throws on leaf rules; returns the old self to record with (an alias carrying
// self's old history, or a copy when the Program reads old self as data), null = nothing to record.
TensorRef begin_inplace(const Op& op, Tensor* self, uint64_t needs, std::span<const Operand> in,
                        std::span<const Attr> attr);
// After the write; self's version is bumped already. Operands that are `self` stand for `old_self`.
void record_inplace(const Op& op, BackendId backend, Tensor* self, Tensor* old_self, uint64_t needs,
                    std::span<const Operand> in, std::span<const Attr> attr);
void check_inplace(std::string_view op, Tensor* self,
                   bool recording);  // the leaf, view and inference rules alone

void mark_part(Tensor* view);  // one of several views: refuses writes that would be recorded
// `self`, which is operand 0, shows what the view op shows of it: t_, squeeze_, ... Recorded, version bumped.
void call_view_inplace(const Op& op, Tensor* self, std::span<const Operand> in, std::span<const Attr> attr);
void make_view_of(Tensor* view, Tensor* base);  // not for inference tensors; base of a view: its base
void forget_view(Tensor* t);                    // it has got memory of its own
TensorRef detach(Tensor* t);                    // alias without history, no differentiable view
void detach_inplace(Tensor* t);
void set_requires_grad(Tensor* t, bool value);  // leaf rules, dtype rule
void retain_grad(Tensor* t);
TensorRef grad_of(Tensor* t);
void set_grad(Tensor* t, Tensor* grad);  // checks shape, dtype, device; null clears
void release_autograd(Tensor* t);        // Tensor::destroy: node and extra go to the work list

// -------------------------------------------------------------------------------------------------
// Python payloads
void set_payload(void** slot, void* payload);  // takes the payload over, releases the old one, counts
void** leaf_hooks(Tensor* t);
void** tensor_hooks(Tensor* t);           // of the leaf, or of (node, output_nr)
void** post_accumulate_hooks(Tensor* t);  // leaves only
void** node_pre_hooks(Node* n);
void** node_post_hooks(Node* n);
void** python_payload(Node* n);
NodeSide& side(Node* n);  // made on first use

// A node whose backward is Python: autograd.Function. Takes the payload over. Gradients it returns are
// checked against the inputs' shapes and dtypes (summed and cast like PyTorch, else an error). Give outputs
// their history with set_history.
NodeRef python_node(void* payload, std::span<Tensor* const> inputs, int n_out, std::string_view name = "");

// What a user's unpack function gave in place of a saved tensor, with that tensor's history. `slot` as the
// node's Program numbers it: outputs, operands, results.
TensorRef restore_saved(Node* n, Tensor* unpacked, size_t slot);

// Operands of a call that take part in gradients.
inline uint64_t needs_mask(std::span<const Operand> in) {
    uint64_t needs = 0;
    for (size_t i = 0; i < in.size(); ++i)
        if (in[i].tensor && tracked(in[i].tensor)) needs |= operand_bit(i);
    return needs;
}

// -------------------------------------------------------------------------------------------------
// Backward
struct BackwardRequest {
    std::span<Tensor* const> roots;
    std::span<Tensor* const> grads;   // empty, or one per root; null = ones (scalar roots only)
    std::span<Tensor* const> inputs;  // grad(): what to return; empty = accumulate into leaves
    bool accumulate = true;           // with inputs: accumulate into their .grad (backward(inputs=...))
    bool retain_graph = false, create_graph = false, allow_unused = false;
};
// Returns one tensor per input when !accumulate (null = unused), else nothing.
std::vector<TensorRef> run_backward(const BackwardRequest& request);

}  // namespace tenora
