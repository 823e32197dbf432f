// The collector's walk: depth first, iterative, entering only what the path owns alone.

#include "tenora/gc_walk.h"

#include <atomic>
#include <unordered_map>
#include <vector>

#include "tenora/tape.h"

namespace tenora {

namespace {

std::atomic<int64_t> payloads{0};

class Walk {
  public:
    explicit Walk(GcVisitor& visitor) : visitor_(visitor) {}

    int run(Tensor* root) {
        enter(root);
        while (!status_ && (!nodes_.empty() || !tensors_.empty())) {
            if (!nodes_.empty()) {
                Node* n = nodes_.back();
                nodes_.pop_back();
                inside(n);
            } else {
                Tensor* t = tensors_.back();
                tensors_.pop_back();
                enter(t);
            }
        }
        return status_;
    }

  private:
    void payload(void* p) {
        if (p && !status_) status_ = visitor_.payload(p);
    }

    // Is this the last of the `owners` counts that the path
    // must account for? Shared things are met several times.
    bool last(const void* object, uint32_t owners) { return owners == 1 || ++found_[object] == owners; }

    // Each meeting stands for one count that the path owns.
    void meet(Tensor* t) {
        if (!t || status_) return;
        uint32_t word = t->word.load(std::memory_order_acquire), owners = word >> 1;
        void* wrapper = t->wrapper.load(std::memory_order_acquire);
        if (!wrapper) {
            if (last(t, owners)) tensors_.push_back(t);
        } else if ((word & Tensor::KEEP) && owners > 1 && last(t, owners - 1)) {
            status_ = visitor_.wrapper(wrapper);
        }
    }

    void meet(Node* n) {
        if (n && last(n, n->count.load(std::memory_order_acquire))) nodes_.push_back(n);
    }

    void enter(Tensor* t) {
        if (Extra* e = find_extra(t)) {
            payload(e->hooks);
            payload(e->post_accumulate);
            meet(e->grad.load(std::memory_order_acquire));
            meet(e->base.get());
            meet(e->stand_in.get());
        }
        meet(t->node);
    }

    void inside(Node* n) {
        if (NodeSide* s = n->side.load(std::memory_order_acquire)) {
            payload(s->python);
            payload(s->pre_hooks);
            payload(s->post_hooks);
            payload(s->trace);
            for (const auto& o : s->outputs) payload(o.hooks);
        }
        for (int i = 0; i < n->n_edges; ++i) {
            meet(n->edges()[i].node());
            meet(n->edges()[i].leaf());
        }
        for (int i = 0; i < n->n_saved; ++i) {
            Saved& s = n->saved()[i];
            if (s.flags & Saved::kPacked)
                payload(s.packed ? s.packed->payload : nullptr);
            else if (!(s.flags & Saved::kBorrowed))
                meet(s.tensor);
        }
    }

    GcVisitor& visitor_;
    std::vector<Node*> nodes_;
    std::vector<Tensor*> tensors_;
    std::unordered_map<const void*, uint32_t> found_;  // counts met so far of what has several
    int status_ = 0;
};

}  // namespace

int walk_owned(Tensor* root, GcVisitor& visitor) {
    if (!root || root->use_count() != 1 || (!root->node && !find_extra(root))) return 0;
    return Walk(visitor).run(root);
}

void clear_autograd(Tensor* t) {
    if (Extra* e = find_extra(t)) {
        set_payload(&e->hooks, nullptr);
        set_payload(&e->post_accumulate, nullptr);
        set_grad(t, nullptr);
    }
    if (t->node) {
        if (t->is_view)
            set_history(t, nullptr, 0);
        else
            detach_inplace(t);
    }
}

int64_t payload_count() { return payloads.load(std::memory_order_relaxed); }
void count_payload(int delta) { payloads.fetch_add(delta, std::memory_order_relaxed); }

}  // namespace tenora
