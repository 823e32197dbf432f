// What the files of the tape and of backward share.
#pragma once

#include <mutex>

#include "tenora/tape.h"

namespace tenora {

// How many of each a node's block holds; `meta_bytes` and `data_bytes` follow the attributes.
struct NodeSizes {
    uint16_t n_out = 0, n_edges = 0, n_saved = 0, n_attr = 0, n_meta = 0;
    size_t meta_bytes = 0, data_bytes = 0;
};
Node* new_node(const NodeSizes& sizes);  // one pool block, arrays zeroed; next sequence number of this thread
void release_saved(Saved* saved, size_t count);

// record() for a call of one result whose shape and dtype all its tensors have.
void record_uniform(const Op& op, BackendId backend, uint64_t needs, std::span<const Operand> in,
                    std::span<const Attr> attr, Tensor* result);

// The node of a view that as_strided made of `base`.
NodeRef record_strided(BackendId backend, Tensor* base, Tensor* view);

SavedMeta* write_meta(SavedMeta* at, const Tensor* t);  // returns the next place
inline size_t meta_size(const Tensor* t) { return sizeof(SavedMeta) + size_t(t->dl.ndim) * sizeof(int64_t); }

// A lock whose holder may need the GIL. Who waits for it gives
// the GIL up first, so that the two cannot wait for each other.
class GilFriendlyLock {
  public:
    explicit GilFriendlyLock(std::mutex& m);
    ~GilFriendlyLock() { mutex_.unlock(); }
    GilFriendlyLock(const GilFriendlyLock&) = delete;
    GilFriendlyLock& operator=(const GilFriendlyLock&) = delete;

  private:
    std::mutex& mutex_;
};

class Busy {  // short lock of a node's saved tensors: two backwards may meet in one graph
  public:
    explicit Busy(Node* n) : n_(n) {
        while (n_->busy.exchange(true, std::memory_order_acquire)) {
        }
    }
    ~Busy() { n_->busy.store(false, std::memory_order_release); }

  private:
    Node* n_;
};

std::mutex& side_lock();  // retained tensors of all nodes; making of sides and extras
std::mutex& view_lock();  // re-derivation of stale views
NodeSide::PerOutput& per_output(Node* n, uint32_t output_nr);  // made on first use; under side_lock()

// Extra's scratch and node's scratch belong to one backward at a time.
void move_retained_grad(Tensor* t, Node* node, uint32_t output_nr);  // t got a new history
void forget_retained_grad(Tensor* t);
bool try_retain(Tensor* t);  // false: its count is already zero

}  // namespace tenora
