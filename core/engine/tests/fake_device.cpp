#include "fake_device.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tenora_test {
namespace {

FakeDevice& self(void* state) { return *static_cast<FakeDevice*>(state); }

}  // namespace

FakeDevice& FakeDevice::get(const std::string& name, bool own_pool) {
    static auto& devices =
        *new std::map<std::string, std::unique_ptr<FakeDevice>>;  // spaces are never removed
    std::unique_ptr<FakeDevice>& device = devices[name];
    if (!device) {
        device.reset(new FakeDevice);
        device->name_ = name;
        device->fill_functions(name, own_pool);
        device->fill_stream_functions();
        device->space_id_ = tenora::add_space(device->functions_, "fake_backend").id;
    }
    return *device;
}

void FakeDevice::fill_functions(const std::string& name, bool own_pool) {
    tnr_space& f = functions_;
    f.struct_size = sizeof f;
    static auto& names = *new std::deque<std::string>;
    f.device_type = names.emplace_back(name).c_str();
    f.dlpack_type = 12;
    f.granule = f.alignment = kGranule;
    f.own_pool = own_pool;
    f.state = this;
    f.device_count = [](void*) -> int32_t { return kDevices; };
    f.alloc = [](void* s, int32_t, size_t bytes, void** out, char* error, size_t size) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.lost_) return TNR_DEVICE_LOST;
        bool refused = d.refuse_ > 0 && d.refuse_-- > 0;
        if (refused || (d.capacity_ && bytes > d.capacity_ - d.used_) || bytes > (size_t{1} << 40)) {
            std::snprintf(error, size, "fake device has no room for %zu bytes", bytes);
            return TNR_OUT_OF_MEMORY;
        }
        if (posix_memalign(out, kGranule, bytes + kGranule) != 0) return TNR_OUT_OF_MEMORY;
        auto address = reinterpret_cast<uintptr_t>(*out);
        d.regions_[address] = bytes;
        d.used_ += bytes;
        ++d.counts_.allocs;
        if (d.misaligned_) *out = static_cast<char*>(*out) + 8;
        return TNR_OK;
    };
    f.release = [](void* s, int32_t, void* data, size_t bytes) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        auto address = reinterpret_cast<uintptr_t>(data) & ~uintptr_t{kGranule - 1};
        auto found = d.regions_.find(address);
        if (found == d.regions_.end() || found->second != bytes) {
            d.complain("release of a region that is not there or has another size");
            return TNR_ERROR;
        }
        d.check_cells_done(address, bytes);
        d.regions_.erase(found);
        d.used_ -= bytes;
        ++d.counts_.releases;
        std::free(reinterpret_cast<void*>(address));
        return TNR_OK;
    };
    f.memory_info = [](void* s, int32_t, size_t* free_bytes, size_t* total) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        *total = d.capacity_ ? d.capacity_ : size_t{1} << 40;
        *free_bytes = *total - d.used_;
        return TNR_OK;
    };
    f.copy_bytes = [](void* s, void* dst, int32_t, const void* src, int32_t, size_t bytes, int32_t,
                      void* stream, char*, size_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        d.wait_for(d.queue_of(stream));
        std::memcpy(dst, src, bytes);
        return TNR_OK;
    };
    f.synchronize = [](void* s, int32_t index, char*, size_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.lost_) return TNR_DEVICE_LOST;
        ++d.counts_.synchronizations;
        for (auto& queue : d.queues_) {
            if (queue->device == index) d.wait_for(*queue);
        }
        return TNR_OK;
    };
    f.trim = [](void* s, int32_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        ++d.counts_.trims;
        return TNR_OK;
    };
}

void FakeDevice::fill_stream_functions() {
    tnr_space& f = functions_;
    f.stream_create = [](void* s, int32_t index, int32_t, void** out) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.queues_.size() == kMaxStreams) return TNR_ERROR;
        d.queues_.push_back(std::make_unique<Queue>(Queue{int(d.queues_.size()), index, {}, {}, true}));
        ++d.counts_.streams;
        *out = d.queues_.back().get();
        return TNR_OK;
    };
    f.stream_destroy = [](void* s, int32_t, void* stream) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        Queue& queue = d.queue_of(stream);
        if (!queue.alive) d.complain("stream destroyed twice");
        if (!queue.tasks.empty()) d.complain("stream destroyed with work in it");
        queue.alive = false;
        --d.counts_.streams;
        return TNR_OK;
    };
    f.stream_synchronize = [](void* s, int32_t, void* stream, char*, size_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.lost_) return TNR_DEVICE_LOST;
        ++d.counts_.synchronizations;
        d.wait_for(d.queue_of(stream));
        return TNR_OK;
    };
    f.stream_query = [](void* s, int32_t, void* stream) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        Queue& queue = d.queue_of(stream);
        if (queue.tasks.empty()) d.know(queue.clock);
        return queue.tasks.empty();
    };
    f.stream_wait_event = [](void* s, int32_t, void* stream, void* event) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        Queue& queue = d.queue_of(stream);
        std::shared_ptr<Event>& e = event_of(event);
        for (int i = 0; i < kMaxStreams; ++i) queue.clock[i] = std::max(queue.clock[i], e->clock[i]);
        Task task{Task::Wait};
        task.generation = e->recorded;
        task.event = e;
        queue.tasks.push_back(std::move(task));
        return TNR_OK;
    };
    f.event_create = [](void* s, int32_t, int32_t, void** out) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.lost_) return TNR_DEVICE_LOST;
        ++d.counts_.events;
        *out = new std::shared_ptr<Event>(std::make_shared<Event>());
        return TNR_OK;
    };
    f.event_destroy = [](void* s, int32_t, void* event) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        for (auto& queue : d.queues_) {
            for (const Task& task : queue->tasks) {
                if (task.kind == Task::Wait && task.event == event_of(event) && !d.ready(task)) {
                    d.complain("event destroyed while a stream waits for it");
                }
            }
        }
        --d.counts_.events;
        delete &event_of(event);
        return TNR_OK;
    };
    f.event_record = [](void* s, int32_t, void* event, void* stream) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.lost_) return TNR_DEVICE_LOST;
        Queue& queue = d.queue_of(stream);
        std::shared_ptr<Event>& e = event_of(event);
        e->clock = queue.clock;
        Task task{Task::Record};
        task.generation = ++e->recorded;
        task.event = e;
        queue.tasks.push_back(std::move(task));
        return TNR_OK;
    };
    f.event_query = [](void* s, int32_t, void* event) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        Event& e = *event_of(event);
        if (d.lost_) return 1;
        if (e.reached >= e.recorded) d.know(e.clock);
        return e.reached >= e.recorded;
    };
    f.event_synchronize = [](void* s, int32_t, void* event, char*, size_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        if (d.lost_) return TNR_DEVICE_LOST;
        ++d.counts_.synchronizations;
        d.wait_for(*event_of(event));
        return TNR_OK;
    };
    f.event_elapsed_ms = [](void* s, int32_t, void* begin, void* end) -> double {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        return event_of(end)->time - event_of(begin)->time;
    };
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
