#include "fake_device.h"

#include <algorithm>
#include <chrono>

namespace tenora_test {
FakeDevice& FakeDevice::get(const std::string& name, bool own_pool) {
    static auto& devices =
        *new std::map<std::string, std::unique_ptr<FakeDevice>>;  // spaces are never removed
    std::unique_ptr<FakeDevice>& device = devices[name];
    if (!device) {
        device.reset(new FakeDevice);
        device->name_ = name;
        device->fill_functions(name, own_pool);
        device->fill_memory_functions();
        device->fill_transfer_functions();
        device->fill_stream_functions();
        device->fill_event_functions();
        device->space_id_ = tenora::add_space(device->functions_, "fake_backend").id;
    }
    return *device;
}

void FakeDevice::launch(tenora::Stream* stream, Task task, bool write) {
    std::lock_guard lock(mutex_);
    Queue& queue = queue_of(stream->handle);
    for (int i = 0; i < kMaxStreams; ++i)
        queue.clock[i] = std::max(queue.clock[i], host_[i]);  // what the host saw is over
    ++queue.clock[queue.id];
    access(queue, task.data, task.bytes, write);
    queue.tasks.push_back(std::move(task));
}

void FakeDevice::launch_write(tenora::Stream* stream, void* data, size_t bytes, uint64_t pattern) {
    Task task{Task::Write};
    task.data = static_cast<uint64_t*>(data);
    task.bytes = bytes;
    task.pattern = pattern;
    launch(stream, std::move(task), true);
}

void FakeDevice::launch_expect(tenora::Stream* stream, void* data, size_t bytes, uint64_t pattern) {
    Task task{Task::Expect};
    task.data = static_cast<uint64_t*>(data);
    task.bytes = bytes;
    task.pattern = pattern;
    launch(stream, std::move(task), false);
}

bool FakeDevice::ordered(const Clock& clock, const Access& a) const {
    return a.stream < 0 || clock[a.stream] >= a.time;
}

void FakeDevice::access(Queue& queue, void* data, size_t bytes, bool write) {
    auto begin = reinterpret_cast<uintptr_t>(data) / kGranule,
         end = (reinterpret_cast<uintptr_t>(data) + bytes - 1) / kGranule;
    Access now{queue.id, queue.clock[queue.id]};
    for (uintptr_t c = begin; c <= end; ++c) {
        Cell& cell = cells_[c];
        bool fine = ordered(queue.clock, cell.write);
        if (write) {
            for (const Access& read : cell.reads) fine = fine && ordered(queue.clock, read);
            cell.reads.clear();
            cell.write = now;
        } else {
            cell.reads.push_back(now);
        }
        if (!fine) {
            complain(std::string(write ? "write" : "read") + " on stream " + std::to_string(queue.id) +
                     " is not ordered after earlier work on the same memory");
            return;
        }
    }
}

void FakeDevice::check_cells_done(uintptr_t address, size_t bytes) {
    for (uintptr_t c = address / kGranule; c <= (address + bytes - 1) / kGranule; ++c) {
        auto found = cells_.find(c);
        if (found == cells_.end()) continue;
        bool fine = ordered(host_, found->second.write);
        for (const Access& read : found->second.reads) fine = fine && ordered(host_, read);
        cells_.erase(found);
        if (!fine && !lost_) return complain("memory released while work on it may be under way");
    }
}

bool FakeDevice::ready(const Task& task) const {
    return task.kind != Task::Wait || task.event->reached >= task.generation;
}

void FakeDevice::execute(Task& task) {
    ++counts_.tasks;
    now_ += 1;
    switch (task.kind) {
        case Task::Write:
            for (size_t i = 0; i < task.bytes / 8; ++i) task.data[i] = task.pattern;
            break;
        case Task::Expect:
            for (size_t i = 0; i < task.bytes / 8; ++i) {
                if (task.data[i] == task.pattern) continue;
                complain("memory was used before its producer had finished or after it was reused");
                break;
            }
            break;
        case Task::Record:
            task.event->reached = std::max(task.event->reached, task.generation);
            task.event->time = now_;
            break;
        case Task::Wait:
            break;
    }
}

bool FakeDevice::step_locked() {
    std::vector<Queue*> runnable;
    for (auto& queue : queues_) {
        if (!queue->tasks.empty() && ready(queue->tasks.front())) runnable.push_back(queue.get());
    }
    if (runnable.empty()) return false;
    Queue& queue = *runnable[random_() % runnable.size()];
    execute(queue.tasks.front());
    queue.tasks.pop_front();
    return true;
}

bool FakeDevice::step() {
    std::lock_guard lock(mutex_);
    return step_locked();
}

void FakeDevice::drain() {
    while (step()) {
    }
}

void FakeDevice::wait_for(Queue& queue) {
    while (!queue.tasks.empty()) {
        if (!step_locked()) return complain("deadlock: a stream waits for an event that nobody will record");
    }
    know(queue.clock);
}

void FakeDevice::wait_for(Event& event) {
    while (event.reached < event.recorded) {
        if (!step_locked()) return complain("deadlock: the host waits for an event that nobody will record");
    }
    know(event.clock);
}

void FakeDevice::know(const Clock& clock) {
    for (int i = 0; i < kMaxStreams; ++i) host_[i] = std::max(host_[i], clock[i]);
}

void FakeDevice::complain(std::string text) { violations_.push_back(std::move(text)); }

void FakeDevice::start_worker() {
    {
        std::lock_guard lock(mutex_);
        worker_on_ = true;
    }
    worker_ = std::thread([this] {
        for (;;) {
            bool worked;
            {
                std::lock_guard lock(mutex_);
                if (!worker_on_) return;
                worked = step_locked();
            }
            if (!worked) std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    });
}

void FakeDevice::stop_worker() {
    {
        std::lock_guard lock(mutex_);
        worker_on_ = false;
    }
    worker_.join();
}

void FakeDevice::reset(uint64_t seed) {
    drain();
    std::lock_guard lock(mutex_);
    random_.seed(seed);
    capacity_ = 0;
    refuse_ = 0;
    misaligned_ = false;
    violations_.clear();
}

void FakeDevice::set_capacity(size_t bytes) {
    std::lock_guard lock(mutex_);
    capacity_ = bytes;
}

void FakeDevice::refuse_next(int allocations) {
    std::lock_guard lock(mutex_);
    refuse_ = allocations;
}

void FakeDevice::lose() {
    std::lock_guard lock(mutex_);
    lost_ = true;
}

void FakeDevice::set_misaligned(bool on) {
    std::lock_guard lock(mutex_);
    misaligned_ = on;
}

std::vector<std::string> FakeDevice::violations() {
    std::lock_guard lock(mutex_);
    return violations_;
}

FakeDevice::Counts FakeDevice::counts() {
    std::lock_guard lock(mutex_);
    Counts c = counts_;
    c.regions = int64_t(regions_.size());
    c.bytes = int64_t(used_);
    return c;
}

}  // namespace tenora_test
