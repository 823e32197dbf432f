// The collector's walk: depth first, iterative, entering only what the path owns alone.

#include "tenora/gc_walk.h"

#include <atomic>
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

    // A tensor that the path owns one count of.
    void meet(Tensor* t) {
        if (!t || status_) return;
        uint32_t word = t->word.load(std::memory_order_acquire);
        void* wrapper = t->wrapper.load(std::memory_order_acquire);
        if ((word & Tensor::KEEP) && (word >> 1) == 2 && wrapper) status_ = visitor_.wrapper(wrapper);
        else if ((word >> 1) == 1 && !wrapper) tensors_.push_back(t);
    }

    void enter(Tensor* t) {
        if (Extra* e = t->extra) {
            payload(e->hooks);
            payload(e->post_accumulate);
            meet(e->grad.load(std::memory_order_acquire));
            meet(e->base.get());
        }
        if (t->node && t->node->count.load(std::memory_order_acquire) == 1) nodes_.push_back(t->node);
    }

    // Owners of `next` within `n`: the edge, and saved tensors nobody else holds.
    static bool owned_by(Node* n, Node* next) {
        uint32_t owners = 0;
        for (int i = 0; i < n->n_edges; ++i) owners += n->edges()[i].node() == next;
        for (int i = 0; i < n->n_saved; ++i) {
            const Saved& s = n->saved()[i];
            owners += s.tensor && !(s.flags & Saved::kBorrowed) && s.tensor->node == next && s.tensor->use_count() == 1;
        }
        return next->count.load(std::memory_order_acquire) == owners;
    }

    void inside(Node* n) {
        if (NodeSide* s = n->side.load(std::memory_order_acquire)) {
            payload(s->python);
            payload(s->pre_hooks);
            payload(s->post_hooks);
            payload(s->trace);
            for (const auto& o : s->outputs) payload(o.hooks);
        }
        Edge* edges = n->edges();
        for (int i = 0; i < n->n_edges; ++i) {
            Node* next = edges[i].node();
            if (next && first(edges, i) && owned_by(n, next)) nodes_.push_back(next);
            meet(edges[i].leaf());
        }
        for (int i = 0; i < n->n_saved; ++i)
            if (!(n->saved()[i].flags & Saved::kBorrowed)) saved(n->saved()[i].tensor);
    }

    static bool first(const Edge* edges, int i) {
        for (int k = 0; k < i; ++k)
            if (edges[k].node() == edges[i].node()) return false;
        return true;
    }

    // A saved tensor: its node has been met through the edges.
    void saved(Tensor* t) {
        if (!t || status_) return;
        uint32_t word = t->word.load(std::memory_order_acquire);
        void* wrapper = t->wrapper.load(std::memory_order_acquire);
        if ((word & Tensor::KEEP) && (word >> 1) == 2 && wrapper) status_ = visitor_.wrapper(wrapper);
        else if ((word >> 1) == 1 && !wrapper && t->extra) {
            payload(t->extra->hooks);
            payload(t->extra->post_accumulate);
            meet(t->extra->grad.load(std::memory_order_acquire));
            meet(t->extra->base.get());
        }
    }

    GcVisitor& visitor_;
    std::vector<Node*> nodes_;
    std::vector<Tensor*> tensors_;
    int status_ = 0;
};

}  // namespace

int walk_owned(Tensor* root, GcVisitor& visitor) {
    if (!root || root->use_count() != 1 || (!root->node && !root->extra)) return 0;
    return Walk(visitor).run(root);
}

void clear_autograd(Tensor* t) {
    if (Extra* e = t->extra) {
        set_payload(&e->hooks, nullptr);
        set_payload(&e->post_accumulate, nullptr);
        set_grad(t, nullptr);
    }
    if (t->node) {
        if (t->is_view) set_history(t, nullptr, 0);
        else detach_inplace(t);
    }
}

int64_t payload_count() { return payloads.load(std::memory_order_relaxed); }
void count_payload(int delta) { payloads.fetch_add(delta, std::memory_order_relaxed); }

}  // namespace tenora
