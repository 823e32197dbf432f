// Before a backward runs: counters in nodes or in a map, the
// walk that counts dependencies and marks what is needed.

#include <algorithm>

#include "backward.h"

namespace tenora {

namespace {
std::atomic<GraphTask*> scratch_owner{nullptr};
std::atomic<uint64_t> next_id{0};
std::atomic<int> others{0};  // running tasks that are not the owner of the scratch
}  // namespace

bool backward_runs() {
    return scratch_owner.load(std::memory_order_acquire) || others.load(std::memory_order_acquire);
}

GraphTask::GraphTask() : id(++next_id) {
    GraphTask* none = nullptr;
    scratch = scratch_owner.load(std::memory_order_relaxed) == nullptr &&
              scratch_owner.compare_exchange_strong(none, this, std::memory_order_acq_rel);
    if (!scratch) others.fetch_add(1, std::memory_order_acq_rel);
}

GraphTask::~GraphTask() {
    if (scratch)
        scratch_owner.store(nullptr, std::memory_order_release);
    else
        others.fetch_sub(1, std::memory_order_acq_rel);
    for (const Edge& e : roots) {
        if (Node* n = e.node())
            n->release();
        else if (Tensor* t = e.leaf())
            t->release();
    }
}

TaskState GraphTask::mapped(void* key, size_t n_buffers) {
    Counters& c = map_[key];
    if (c.buffers.empty()) c.buffers.assign(n_buffers, nullptr);
    return {&c.dependencies, &c.marks, c.buffers.data()};
}

namespace {

struct Frame {
    Node* node;
    int next;
};

class Planner {
  public:
    explicit Planner(GraphTask& task) : task_(task) {}

    void run() {
        for (const Capture& c : task_.captures) mark_capture(c);
        for (const Edge& root : task_.roots) {
            if (!task_.selective)
                count_from(root);
            else
                meet(root);
            while (!frames_.empty()) step();
        }
    }

  private:
    void mark_capture(const Capture& c) {
        Tensor* input = task_.inputs[c.index];
        *(input->node ? task_.state(input->node) : task_.state(input)).marks |= kCaptured;
    }

    // Without `selective` the order of the walk does not matter.
    void count_from(const Edge& root) {
        if (Node* n = count(root)) open_.push_back(n);
        while (!open_.empty()) {
            Node* n = open_.back();
            open_.pop_back();
            for (int i = 0; i < n->n_edges; ++i)
                if (const Edge& e = n->edges()[i])
                    if (Node* next = count(e)) open_.push_back(next);
        }
    }

    // Counts an edge; the node behind it when it is new.
    Node* count(const Edge& e) {
        TaskState s = task_.state(e);
        ++*s.dependencies;
        if (*s.marks & kSeen) return nullptr;
        *s.marks |= kSeen;
        Node* n = e.node();
        if (n && n->device.space != 0) note_streams(n->device);
        return n;
    }

    void note_streams(Device device) {
        if (space(device).host_order()) return;
        task_.streams = true;
        if (runs_in_worker(task_, device)) task_.multi = true;
    }

    // Counts an edge; opens its node when it is new.
    void meet(const Edge& e) {
        if (Node* n = count(e)) frames_.push_back({n, 0});
    }

    void step() {
        Frame& top = frames_.back();
        Node* n = top.node;
        while (top.next < n->n_edges) {
            const Edge& e = n->edges()[top.next++];
            if (!e) continue;
            size_t depth = frames_.size();
            meet(e);
            if (frames_.size() != depth) return;  // `top` may have moved
        }
        frames_.pop_back();
        if (task_.selective) mark_needed(n);
    }

    void mark_needed(Node* n) {
        for (int i = 0; i < n->n_edges; ++i) {
            const Edge& e = n->edges()[i];
            if (!e || !(*task_.state(e).marks & (kNeeded | kCaptured))) continue;
            *task_.state(n).marks |= kNeeded;
            return;
        }
    }

    GraphTask& task_;
    std::vector<Frame> frames_;
    std::vector<Node*> open_;
};

}  // namespace

void plan(GraphTask& task) { Planner(task).run(); }

void release_buffers(GraphTask& task) {
    std::vector<Node*> open;
    auto clean = [&](const Edge& e) {
        if (!e) return;
        TaskState s = task.state(e);
        if (*s.marks & kCleaned) return;
        *s.marks |= kCleaned;
        Node* n = e.node();
        for (int i = 0; i < (n ? n->n_out : 1); ++i)
            if (Tensor* t = std::exchange(s.buffers[i], nullptr)) t->release();
        if (n) open.push_back(n);
    };
    for (const Edge& e : task.roots) clean(e);
    while (!open.empty()) {
        Node* n = open.back();
        open.pop_back();
        for (int i = 0; i < n->n_edges; ++i) clean(n->edges()[i]);
    }
}

}  // namespace tenora
