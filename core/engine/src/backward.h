// The evaluator, as its files see it.
//   - A task = one run_backward(). Counters and gradient buffers lie in the
//     nodes for the first task of the process, in a hash map for any other one
//     that runs at the same time (other threads, re-entrant calls from hooks).
//   - Nodes of host-order devices run in the calling
//     thread, others in one worker thread per device. A
//     task that meets only the first kind takes no lock.
//   - The task holds its roots' nodes; edges are never cut
//     while nodes live, so everything below is alive too.
//   - It starts with the GIL held and gives it up once, when
//     it has run for a while; at once if there are workers.
//   - Locks under which kernels or Python may run are GilFriendlyLocks or taken without the GIL.
#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "tenora/error.h"
#include "tenora/modes.h"
#include "tenora/tape.h"

namespace tenora {

enum : uint32_t { kSeen = 1, kNeeded = 2, kCaptured = 4, kCleaned = 8 };

struct TaskState {  // view of a node's or leaf's counters in either mode
    uint32_t* dependencies;
    uint32_t* marks;
    Tensor** buffers;
};

struct Capture {
    void* target;  // Node* or leaf Tensor*
    uint32_t output_nr;
    uint32_t index;  // of the input
};

struct GraphTask {
    bool retain_graph = false, create_graph = false, anomaly = false;
    bool scratch = false;    // counters lie in the nodes
    bool plain = false;      // so, one thread, all gradients, nothing recorded or watched: see run_simple()
    bool selective = false;  // only towards `captures`
    bool accumulate = true;  // captured gradients go into .grad
    bool streams = false;    // some node's device has streams: gradients are put in order between them
    bool multi =
        false;  // some node runs in a worker: `lock` guards counters, buffers, ready, outstanding, error
    uint64_t id = 0;
    std::vector<Edge> roots;          // owned
    std::vector<Capture> captures;    // sorted by target, output
    std::vector<TensorRef> captured;  // per input
    std::span<Tensor* const> inputs;
    Node* next = nullptr;      // ready; a chain never needs the heap
    std::vector<Node*> ready;  // heap, latest sequence first
    bool has_ready() const { return next || !ready.empty(); }
    Modes modes;          // of the caller, for workers
    Device home{0, 255};  // device of the worker that runs the calling thread; index 255: none
    std::mutex lock;
    std::condition_variable changed;
    size_t outstanding = 0;  // nodes given to workers
    bool starting =
        false;  // roots are being delivered: `held` is given to workers at once afterwards, so that
    std::vector<Node*> held;  // the order of nodes, and with it that of sums, does not hang on who is faster
    std::exception_ptr error;
    std::atomic<bool> failed{false};

    GraphTask();
    ~GraphTask();
    TaskState state(Node* n) {
        if (!scratch) [[unlikely]]
            return mapped(n, n->n_out);
        if (n->task != id) {
            n->task = id;
            n->dependencies = n->marks = 0;
        }
        return {&n->dependencies, &n->marks, n->buffers()};
    }
    TaskState state(Tensor* leaf) {
        if (!scratch) [[unlikely]]
            return mapped(leaf, 1);
        Extra* known = find_extra(leaf);
        Extra& e = known ? *known : extra(leaf);
        if (e.task != id) {
            e.task = id;
            e.dependencies = e.marks = 0;
        }
        return {&e.dependencies, &e.marks, &e.buffer};
    }
    TaskState state(const Edge& e) { return e.node() ? state(e.node()) : state(e.leaf()); }

  private:
    struct Counters {
        uint32_t dependencies = 0, marks = 0;
        std::vector<Tensor*> buffers;
    };
    TaskState mapped(void* key, size_t n_buffers);
    std::unordered_map<void*, Counters> map_;
};

// backward_plan.cpp
bool backward_runs();                   // anywhere in the process
void plan(GraphTask& task);             // counts dependencies, marks what is needed
void release_buffers(GraphTask& task);  // after a failure

// backward_run.cpp
void push_ready(GraphTask& task, Node* n);  // under lock when multi
Node* pop_ready(GraphTask& task);
void deliver(GraphTask& task, const Edge& edge, TensorRef grad, Node* from);
void run(GraphTask& task,
         std::span<TensorRef> root_gradients);    // until nothing is left; throws the first error
void run_node_guarded(GraphTask& task, Node* n);  // errors land in the task
Stream* stream_of(Node* n);                       // that recorded it; null in host order
void caller_waits(GraphTask& task, Node* n);      // its stream, for a gradient that is handed out

// backward_node.cpp
void run_node(GraphTask& task, Node* n);
void check_version(Node* n, const Saved& s);
[[noreturn]] void refuse_freed(Node* n, const Tensor* gradient);  // of its result, if known
inline void use_backend_of(GraphTask& task, Node* n) {
    uint8_t space = n->device.space;
    modes().override_backend[space] =
        n->backend != kNoBackend ? n->backend : task.modes.override_backend[space];
}

// backward_simple.cpp
bool run_simple(GraphTask& task, Node* n);  // false: not a simple node, untouched

// backward_leaf.cpp
void finish_leaf(GraphTask& task, Tensor* leaf, TensorRef grad);
void accumulate_grad(Tensor* leaf, TensorRef grad, bool create_graph);
void capture(GraphTask& task, void* target, uint32_t output_nr, const TensorRef& grad);
TensorRef add_gradients(TensorRef a, TensorRef b,
                        bool create_graph);  // may write into either when it is held alone
TensorRef match(TensorRef grad, Tensor* like, bool create_graph,
                std::string_view who);  // sums and casts, or throws
TensorRef match_given(TensorRef grad, Tensor* like, bool create_graph,
                      std::string_view who);  // from a hook or a Function: never drops an imaginary part
bool owned_alone(Tensor* t);                  // nobody else sees its memory: may be written

// backward_worker.cpp
bool runs_in_worker(const GraphTask& task, Device device);
void give_to_workers(GraphTask& task, std::span<Node* const> nodes);  // each to that of its device
Device worker_device();                                               // of this thread; index 255: none

// anomaly.cpp
void check_finite(Node* n, std::span<TensorRef> grads);
void explain_failure(Error& error, Node* n, bool anomaly);

struct GilRelease {  // gives the GIL up at most once; takes it back at the end
    void* token = nullptr;
    bool released = false;
    void release();
    ~GilRelease();
};

}  // namespace tenora
