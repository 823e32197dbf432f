// Nodes and extras: one block each, destroyed by a per-thread work list.

#include <new>
#include <vector>

#include "tape_internal.h"
#include "tenora/allocator.h"
#include "tenora/gc_walk.h"
#include "tenora/hooks.h"
#include "tenora/stream.h"

namespace tenora {

namespace {

// Objects whose count reached zero and whose parts are still
// to be released. Never destroyed: threads end in any order.
struct WorkList {
    std::vector<Node*> nodes;
    std::vector<Extra*> extras;
    bool draining = false;
};
// Plain pointers and numbers: no initialisation check at each access.
thread_local constinit WorkList* thread_work = nullptr;
thread_local constinit uint64_t thread_sequence = 0;
struct Cleaner {
    ~Cleaner() { delete std::exchange(thread_work, nullptr); }
};

[[gnu::noinline]] WorkList& make_work_list() {
    thread_local Cleaner cleaner;
    (void)cleaner;
    return *(thread_work = new WorkList());
}
WorkList& work_list() { return thread_work ? *thread_work : make_work_list(); }

void drop_payload(void*& slot) {
    if (!slot) return;
    void* payload = std::exchange(slot, nullptr);
    count_payload(-1);
    if (hooks().release_payload) hooks().release_payload(payload);
}

void free_side(NodeSide* s) {
    for (auto& o : s->outputs) drop_payload(o.hooks);
    drop_payload(s->pre_hooks);
    drop_payload(s->post_hooks);
    drop_payload(s->trace);
    drop_payload(s->python);
    if (s->stream) static_cast<Stream*>(s->stream)->release();
    delete s;
}

void free_node(Node* n) {
    release_saved(n->saved(), n->n_saved);
    Edge* edges = n->edges();
    for (int i = 0; i < n->n_edges; ++i) {
        if (Node* next = edges[i].node())
            next->release();
        else if (Tensor* leaf = edges[i].leaf())
            leaf->release();
    }
    for (int i = 0; i < n->n_out; ++i)
        if (Tensor* t = n->buffers()[i]) t->release();
    if (NodeSide* s = n->side.load(std::memory_order_acquire)) free_side(s);
    size_t bytes = n->bytes;
    n->~Node();
    pool_release(n, bytes);
    count_live_node(-1);
}

void free_extra(Extra* e) {
    drop_payload(e->hooks);
    drop_payload(e->post_accumulate);
    if (Tensor* t = e->grad.exchange(nullptr)) t->release();
    if (Tensor* t = std::exchange(e->buffer, nullptr)) t->release();
    e->~Extra();
    pool_release(e, sizeof(Extra));
    count_live_extra(-1);
}

// Releases `n` and `e` (either may be null) and all that this lets go of.
void drain(WorkList& work, Node* n, Extra* e) {
    work.draining = true;
    for (;;) {
        if (n) free_node(n);
        if (e) free_extra(e);
        n = nullptr;
        e = nullptr;
        if (!work.nodes.empty()) {
            n = work.nodes.back();
            work.nodes.pop_back();
        } else if (!work.extras.empty()) {
            e = work.extras.back();
            work.extras.pop_back();
        } else {
            break;
        }
    }
    work.draining = false;
}

}  // namespace

void Packed::destroy(Packed* p) {
    drop_payload(p->payload);
    delete p;
}

void Node::destroy(Node* n) {
    WorkList& work = work_list();
    if (work.draining)
        work.nodes.push_back(n);
    else
        drain(work, n, nullptr);
}

void release_autograd(Tensor* t) {
    Extra* e = std::exchange(t->extra, nullptr);
    if (e && e->retains_grad) forget_retained_grad(t);
    if (e && e->stand_in) [[unlikely]] {
        GilFriendlyLock lock(side_lock());
        e->stand_in->extra->stands_for.store(nullptr, std::memory_order_release);
    }
    if (Node* n = std::exchange(t->node, nullptr)) n->release();
    if (!e) return;
    WorkList& work = work_list();
    if (work.draining)
        work.extras.push_back(e);
    else
        drain(work, nullptr, e);
}

void release_saved(Saved* saved, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (saved[i].flags & Saved::kPacked) [[unlikely]] {
            PackedRef::steal(std::exchange(saved[i].packed, nullptr));
            continue;
        }
        Tensor* t = std::exchange(saved[i].tensor, nullptr);
        if (t && !(saved[i].flags & Saved::kBorrowed)) t->release();
    }
}

Node* new_node(const NodeSizes& s) {
    size_t arrays = s.n_out * sizeof(Tensor*) + s.n_edges * sizeof(Edge) + s.n_saved * sizeof(Saved);
    size_t bytes = sizeof(Node) + arrays + s.n_attr * sizeof(Attr) + s.meta_bytes + s.data_bytes;
    Node* n = new (pool_allocate(bytes)) Node();
    auto* words = reinterpret_cast<uint64_t*>(n + 1);
    for (size_t i = 0; i < arrays / sizeof(uint64_t); ++i) {
        words[i] = 0;
        __asm__ volatile("" ::: "memory");  // a few stores, not a call of memset
    }
    n->bytes = uint32_t(bytes);
    n->n_out = s.n_out;
    n->n_edges = s.n_edges;
    n->n_saved = s.n_saved;
    n->n_attr = s.n_attr;
    n->n_meta = s.n_meta;
    n->sequence = ++thread_sequence;
    count_live_node(1);
    return n;
}

SavedMeta* write_meta(SavedMeta* at, const Tensor* t) {
    at->dtype = t->dtype;
    at->device = t->device;
    at->rank = uint8_t(t->dl.ndim);
    std::copy_n(t->dl.shape, t->dl.ndim, at->shape());
    return at->next();
}

std::string_view Node::name() const {
    if (const NodeSide* s = side.load(std::memory_order_acquire); s && !s->name.empty()) return s->name;
    return is_python() ? std::string_view("Function") : tenora::op(op).display();
}

GilFriendlyLock::GilFriendlyLock(std::mutex& m) : mutex_(m) {
    if (m.try_lock()) [[likely]]
        return;
    void* token = hooks().release_gil ? hooks().release_gil() : nullptr;
    m.lock();
    if (token) hooks().acquire_gil(token);
}

std::mutex& side_lock() {
    static auto* m = new std::mutex();
    return *m;
}

Extra& extra(Tensor* t) {
    std::atomic_ref<Extra*> slot(t->extra);
    if (Extra* e = slot.load(std::memory_order_acquire)) return *e;
    Extra* made = new (pool_allocate(sizeof(Extra))) Extra();
    Extra* expected = nullptr;
    if (slot.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) {
        count_live_extra(1);
        return *made;
    }
    made->~Extra();
    pool_release(made, sizeof(Extra));
    return *expected;
}

NodeSide& side(Node* n) {
    if (NodeSide* s = n->side.load(std::memory_order_acquire)) return *s;
    auto* made = new NodeSide();
    NodeSide* expected = nullptr;
    if (n->side.compare_exchange_strong(expected, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *expected;
}

NodeSide::PerOutput& per_output(Node* n, uint32_t output_nr) {
    NodeSide& s = side(n);
    for (auto& o : s.outputs)
        if (o.output_nr == output_nr) return o;
    if (s.outputs.empty()) s.outputs.reserve(n->n_out);  // addresses of payload slots stay
    return s.outputs.emplace_back(NodeSide::PerOutput{output_nr, nullptr, nullptr});
}

}  // namespace tenora
