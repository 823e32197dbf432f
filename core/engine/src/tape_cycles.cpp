// Cycles through saved tensors.
//   - An in-place write gives its target a history. Where a node of that history saved the target, or a
//   tensor that shares its base, then target -> history -> node -> saved slot -> target would be counts that
//   nothing frees.
//   - Before such a history is attached, those slots get an alias without history and base. It shares the
//   storage and so the version: reading it as data is refused with the words and the op it would have had.
//   - An edge to the target as the leaf it was before becomes one to a stand-in, which hands its gradient on
//   to the target without owning it. Not while a backward runs anywhere, which may stand on that edge.
//   - Storage::saved is set when a node saves a window on it; while it is not there is no walk.
//   - The walk follows edges and the present histories of saved tensors. What the target's old history
//   reaches cannot lead back to the target, so it stops there: a loop of writes does not walk its own past.

#include <unordered_set>
#include <vector>

#include "backward.h"
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
            for (int i = 0; i < n->n_edges; ++i) {
                Edge& e = n->edges()[i];
                if (e.leaf() && root_of(e.leaf()) == root_ && !backward_runs())
                    replace_leaf(n, e);
                else
                    meet(e.node());
            }
            for (int i = 0; i < n->n_saved; ++i) visit(n, n->saved()[i]);
            if (NodeSide* s = n->side.load(std::memory_order_acquire))
                for (const FunctionSavedRef& f : s->saved) visit(*f);
        }
    }

  private:
    void meet(Node* n) {
        if (!n || n == target_->node || n == root_->node) return;
        bool one_way = n->count.load(std::memory_order_acquire) == 1;
        if (one_way || seen_.insert(n).second) open_.push_back(n);
    }

    void visit(Node* n, Saved& s) { follow(held(n, s)); }

    void visit(FunctionSaved& s) {
        std::lock_guard lock(s.lock);
        if (!s.tensor) return;
        if (root_of(s.tensor.get()) != root_) return follow(s.tensor);
        cut_.push_back(std::exchange(s.tensor, alias(s.tensor.get())));
    }

    // Saved tensors that share the leaf's count go with it.
    void replace_leaf(Node* n, Edge& e) {
        Tensor* leaf = e.leaf();
        Extra& x = extra(leaf);
        if (!x.stand_in) {
            TensorRef made = alias(leaf);
            Extra& other = extra(made.get());
            other.stand_in_only = true;
            other.stands_for.store(leaf, std::memory_order_release);
            made->requires_grad = true;
            GilFriendlyLock lock(side_lock());
            x.stand_in = std::move(made);
        }
        Tensor* stand_in = x.stand_in.get();
        Busy lock(n);
        for (int i = 0; i < n->n_saved; ++i) {
            Saved& s = n->saved()[i];
            if (s.tensor == leaf && s.flags == Saved::kBorrowed) s.tensor = stand_in;
        }
        stand_in->retain();
        e.set(stand_in);
        cut_.push_back(TensorRef::steal(leaf));
    }

    void follow(TensorRef saved) {
        if (!saved || !(saved->node || saved->is_view)) return;
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
        if (root_of(t) != root_) return TensorRef(t);
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
