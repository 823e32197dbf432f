// The loop of a backward: ready nodes by sequence, delivery of gradients, the GIL, errors.

#include <algorithm>
#include <chrono>

#include "backward.h"
#include "streams.h"
#include "tape_internal.h"
#include "tenora/hooks.h"
#include "tenora/ring.h"
#include "tenora/stream.h"

namespace tenora {

namespace {

constexpr uint64_t kGilMicroseconds = 60;  // longer backwards give the GIL up
constexpr uint32_t kNodesPerLook = 8;

bool earlier(const Node* a, const Node* b) { return a->sequence < b->sequence; }

uint64_t now_us() {
    auto t = std::chrono::steady_clock::now().time_since_epoch();
    return uint64_t(std::chrono::duration_cast<std::chrono::microseconds>(t).count());
}

Stream* callers_stream(GraphTask& task, Device device) {
    auto* s = static_cast<Stream*>(task.modes.stream[device.space]);
    return s && s->device == device ? s : default_stream(device);
}

// Where a gradient on `device` is used next: by the node that takes it, or by the caller.
Stream* taking_stream(GraphTask& task, const Edge& edge, Device device) {
    Stream* s = edge.node() ? stream_of(edge.node()) : nullptr;
    return s && s->device == device ? s : callers_stream(task, device);
}

}  // namespace

Stream* stream_of(Node* n) {
    NodeSide* s = n->side.load(std::memory_order_acquire);
    return s ? static_cast<Stream*>(s->stream) : nullptr;
}

void caller_waits(GraphTask& task, Node* n) {
    if (Stream* s = task.streams ? stream_of(n) : nullptr) wait(callers_stream(task, s->device), s);
}

void GilRelease::release() {
    if (released) return;
    released = true;
    if (hooks().release_gil) token = hooks().release_gil();
}
GilRelease::~GilRelease() {
    if (token && hooks().acquire_gil) hooks().acquire_gil(token);
}

void push_ready(GraphTask& task, Node* n) {
    if (task.multi && runs_in_worker(task, n->device)) {
        task.outstanding++;
        if (task.starting)
            task.held.push_back(n);
        else
            give_to_workers(task, {&n, 1});
        return;
    }
    if (!task.next) {
        task.next = n;
    } else {
        task.ready.push_back(n);
        std::push_heap(task.ready.begin(), task.ready.end(), earlier);
    }
    if (task.multi) task.changed.notify_all();
}

Node* pop_ready(GraphTask& task) {
    if (task.next && (task.ready.empty() || !earlier(task.next, task.ready.front())))
        return std::exchange(task.next, nullptr);
    std::pop_heap(task.ready.begin(), task.ready.end(), earlier);
    Node* n = task.ready.back();
    task.ready.pop_back();
    return n;
}

namespace {

// Stores the gradient and counts down. Returns the whole gradient of a leaf that is complete.
inline bool store(GraphTask& task, const Edge& edge, TensorRef&& grad, TensorRef* complete) {
    TaskState s = task.state(edge);
    if (task.selective && !(*s.marks & (kNeeded | kCaptured))) return false;
    Tensor*& slot = s.buffers[edge.output_nr];
    if (grad) {
        if (slot)
            grad = add_gradients(TensorRef::steal(std::exchange(slot, nullptr)), std::move(grad),
                                 task.create_graph);
        slot = grad.take();
    }
    if (--*s.dependencies) return false;
    if (Node* n = edge.node()) {
        push_ready(task, n);
        return false;
    }
    *complete = TensorRef::steal(std::exchange(s.buffers[0], nullptr));
    return true;
}

inline bool store_locked(GraphTask& task, const Edge& edge, TensorRef&& grad, TensorRef* complete) {
    std::lock_guard guard(task.lock);
    return store(task, edge, std::move(grad), complete);
}

[[gnu::noinline]] void deliver_in_order(GraphTask& task, const Edge& edge, TensorRef&& grad, Node* from) {
    TensorRef complete;
    Stream* next = nullptr;
    if (grad && !space(grad->device).host_order()) {
        next = taking_stream(task, edge, grad->device);
        Stream* last = from ? stream_of(from) : nullptr;
        wait(next, last ? last : callers_stream(task, grad->device));
    }
    StreamScope scope(next);  // gradients are added up on the stream that uses their sum
    bool leaf_done = task.multi ? store_locked(task, edge, std::move(grad), &complete)
                                : store(task, edge, std::move(grad), &complete);
    if (leaf_done) finish_leaf(task, edge.leaf(), std::move(complete));
}

inline void run_explained(GraphTask& task, Node* n) {
    try {
        if (!task.failed.load(std::memory_order_relaxed)) run_node(task, n);
    } catch (Error& error) {
        explain_failure(error, n, task.anomaly);
        throw;
    }
}

[[gnu::noinline]] void run_on_its_stream(GraphTask& task, Node* n) {
    StreamScope scope(stream_of(n));
    run_explained(task, n);
}

}  // namespace

// A task in which no node has streams has no workers either: it pays one test of a flag, here and for each
// node.
void deliver(GraphTask& task, const Edge& edge, TensorRef grad, Node* from) {
    if (task.streams) [[unlikely]]
        return deliver_in_order(task, edge, std::move(grad), from);
    TensorRef complete;
    if (store(task, edge, std::move(grad), &complete)) finish_leaf(task, edge.leaf(), std::move(complete));
}

void run_node_guarded(GraphTask& task, Node* n) {
    try {
        if (task.streams) [[unlikely]]
            run_on_its_stream(task, n);
        else
            run_explained(task, n);
    } catch (...) {
        std::lock_guard guard(task.lock);
        if (!task.error) task.error = std::current_exception();
        task.failed.store(true);
    }
}

namespace {

class Loop {
  public:
    Loop(GraphTask& task, GilRelease& gil) : task_(task), gil_(gil) {}

    void run() {
        if (task_.multi)
            shared();
        else
            while (task_.has_ready() && !task_.failed.load(std::memory_order_relaxed)) one(pop_ready(task_));
    }

  private:
    void one(Node* n) {
        if (!gil_.released && (++nodes_ % kNodesPerLook == 0 || large(n))) look_at_clock(n);
        run_node_guarded(task_, n);
    }

    bool large(Node* n) {
        if (!task_.scratch || task_.multi) return false;
        Tensor* grad = n->n_out ? n->buffers()[0] : nullptr;
        return grad && grad->numel > 16384;
    }

    // A backend whose kernels are Python would take the GIL back for each of them.
    void look_at_clock(Node* n) {
        uint64_t now = now_us();
        if (started_ == 0) started_ = now;
        if (now - started_ < kGilMicroseconds) return;
        if (n->backend != kNoBackend && backend(n->backend).python.load(std::memory_order_relaxed)) return;
        gil_.release();
    }

    void shared() {
        std::unique_lock guard(task_.lock);
        for (;;) {
            if (task_.failed.load()) task_.ready.clear(), task_.next = nullptr;
            if (task_.has_ready()) {
                Node* n = pop_ready(task_);
                guard.unlock();
                one(n);
                guard.lock();
            } else if (task_.outstanding) {
                task_.changed.wait(guard, [&] { return task_.has_ready() || !task_.outstanding; });
            } else {
                return;
            }
        }
    }

    GraphTask& task_;
    GilRelease& gil_;
    uint32_t nodes_ = 0;
    uint64_t started_ = 0;
};

}  // namespace

void run(GraphTask& task, std::span<TensorRef> root_gradients) {
    GilRelease gil;
    if (task.multi) gil.release();  // workers may need it while they hold the task's lock
    task.starting = task.multi;
    try {
        for (size_t i = 0; i < root_gradients.size(); ++i)
            deliver(task, task.roots[i], std::move(root_gradients[i]), nullptr);
    } catch (...) {
        task.error = std::current_exception();
        task.failed.store(true);
    }
    task.starting = false;
    give_to_workers(task, task.held);  // after a failure too: they count what is outstanding
    Loop(task, gil).run();
    if (!task.failed.load()) return;
    release_buffers(task);
    std::rethrow_exception(task.error);
}

}  // namespace tenora
