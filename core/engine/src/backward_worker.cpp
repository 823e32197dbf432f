// One worker thread per device whose work is asynchronous, started when a backward first meets the device.
//   - Its queue holds (task, node) pairs, latest sequence first. It never holds the GIL when it waits.
//   - A backward started inside a worker (by a hook) runs nodes of
//     that device in the same thread: it cannot wait for itself.
//   - Workers live as long as the process; errors travel in the task. A fork leaves them behind: the child
//   starts its
//     own.

#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "backward.h"
#include "fork_locks.h"
#include "tenora/stream.h"

namespace tenora {

namespace {

thread_local Device this_worker{0, 255};

struct Item {
    GraphTask* task;
    Node* node;
};

class Worker {
  public:
    explicit Worker(Device device) : device_(device) {
        std::thread([this] { loop(); }).detach();
    }

    // Those of the worker's device, all before it looks again.
    void push(GraphTask& task, std::span<Node* const> nodes) {
        std::lock_guard guard(lock_);
        for (Node* n : nodes) {
            if (n->device != device_) continue;
            queue_.push_back({&task, n});
            std::push_heap(queue_.begin(), queue_.end(), later);
        }
        filled_.notify_one();
    }

  private:
    static bool later(const Item& a, const Item& b) { return a.node->sequence < b.node->sequence; }

    Item pop() {
        std::unique_lock guard(lock_);
        filled_.wait(guard, [&] { return !queue_.empty(); });
        std::pop_heap(queue_.begin(), queue_.end(), later);
        Item item = queue_.back();
        queue_.pop_back();
        return item;
    }

    void loop() {
        this_worker = device_;
        for (;;) {
            Item item = pop();
            work(*item.task, item.node);
            drop_streams(modes());
            std::lock_guard guard(item.task->lock);
            --item.task->outstanding;
            item.task->changed.notify_all();  // under the lock: the task may end as soon as it is free
        }
    }

    static void work(GraphTask& task, Node* n) {
        Modes& m = modes();
        m = task.modes;
        for (void* s : m.stream)  // each thread owns the streams that are current in it
            if (s) static_cast<Stream*>(s)->retain();
        m.holds_gil = false;
        m.saved_hooks = false;  // they belong to the caller's thread
        m.grad = task.create_graph;
        m.in_backward = true;
        run_node_guarded(task, n);
    }

    static void drop_streams(Modes& m) {
        for (void*& s : m.stream)
            if (void* owned = std::exchange(s, nullptr)) static_cast<Stream*>(owned)->release();
    }

    const Device device_;
    std::mutex lock_;
    std::condition_variable filled_;
    std::vector<Item> queue_;
};

struct Workers {
    std::mutex lock;
    std::map<int, Worker*> of;  // by device
    pid_t process = getpid();

    Workers() { protect_at_fork(lock, ForkOrder::Workers); }
};

Worker& worker(Device device) {
    static Workers& all = *new Workers;
    std::lock_guard guard(all.lock);
    if (pid_t here = getpid(); here != all.process) {  // those of the parent are no threads of this process
        all.of.clear();
        all.process = here;
    }
    Worker*& w = all.of[device.space << 8 | device.index];
    if (!w) w = new Worker(device);
    return *w;
}

}  // namespace

Device worker_device() { return this_worker; }

bool runs_in_worker(const GraphTask& task, Device device) {
    return device.space != 0 && device != task.home && !space(device).host_order();
}

void give_to_workers(GraphTask& task, std::span<Node* const> nodes) {
    for (size_t i = 0; i < nodes.size(); ++i) {
        auto same = [&](Node* n) { return n->device == nodes[i]->device; };
        if (std::find_if(nodes.begin(), nodes.begin() + long(i), same) == nodes.begin() + long(i))
            worker(nodes[i]->device).push(task, nodes);
    }
}

}  // namespace tenora
