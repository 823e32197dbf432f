// Cycles through saved tensors.
//   - An in-place write gives its target a history. Where a node of that history saved the target, or a
//   tensor that shares its base, then target -> history -> node -> saved slot -> target would be counts that
//   nothing frees.
//   - Before such a history is attached, those slots get an alias without history and base. It shares the
//   storage and so the version: reading it as data is refused with the words and the op it would have had.
//   - Storage::saved is set when a node saves a window on it; while it is not there is no walk.
//   - The walk follows edges and the present histories of saved tensors. What the target's old history
//   reaches cannot lead back to the target, so it stops there: a loop of writes does not walk its own past.

#include <unordered_set>
#include <vector>

#include "tape_internal.h"

namespace tenora {

namespace {

Tensor* root_of(Tensor* t) { return t->is_view ? t->extra->base.get() : t; }

class Cut {
  public:
    explicit Cut(Tensor* target) : target_(target), root_(root_of(target)) {}

    void run(Node* fresh) {
        open_.push_back(fresh);
        while (!open_.empty()) {
            Node* n = open_.back();
            open_.pop_back();
            for (int i = 0; i < n->n_edges; ++i) meet(n->edges()[i].node());
            for (int i = 0; i < n->n_saved; ++i) visit(n, n->saved()[i]);
        }
    }

  private:
    void meet(Node* n) {
        if (!n || n == target_->node || n == root_->node) return;
        bool one_way = n->count.load(std::memory_order_acquire) == 1;
        if (one_way || seen_.insert(n).second) open_.push_back(n);
    }

    void visit(Node* n, Saved& s) {
        TensorRef saved = held(n, s);
        if (!saved) return;
        if (saved->is_view) {
            NodeRef own;
            {
                GilFriendlyLock lock(view_lock());  // another thread may re-derive it
                own = NodeRef(saved->node);
            }
            meet(own.get());
            if (own) nodes_.push_back(std::move(own));
        }
        meet(root_of(saved.get())->node);
        tensors_.push_back(std::move(saved));  // what was met through it stays until the walk ends
    }

    // What the slot holds, if its history must be followed; cuts the slot when it holds the target's family.
    TensorRef held(Node* n, Saved& s) {
        Busy lock(n);
        Tensor* t = s.tensor;
        if (!t || s.flags != Saved::kOwned) return {};
        if (root_of(t) != root_) return t->node || t->is_view ? TensorRef(t) : TensorRef();
        s.tensor = alias(t).take();
        cut_.push_back(TensorRef::steal(t));  // released after the lock: that may run Python
        return {};
    }

    Tensor* target_;
    Tensor* root_;
    std::vector<Node*> open_;
    std::unordered_set<const Node*> seen_;  // of those with several owners: others are met once
    std::vector<NodeRef> nodes_;
    std::vector<TensorRef> tensors_, cut_;
};

}  // namespace

void cut_saved(Tensor* target, Node* fresh) {
    if (target->storage->saved.load(std::memory_order_relaxed)) Cut(target).run(fresh);
}

}  // namespace tenora
