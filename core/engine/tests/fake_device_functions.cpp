// The fake device's side of the C ABI: each function takes the device's lock and speaks to its queues.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fake_device.h"

namespace tenora_test {
namespace {

FakeDevice& self(void* state) { return *static_cast<FakeDevice*>(state); }

}  // namespace

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
}

void FakeDevice::fill_memory_functions() {
    tnr_space& f = functions_;
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
    f.host_alloc = [](void* s, size_t bytes, void** out, char*, size_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        ++d.counts_.pinned;
        *out = std::malloc(bytes);
        return TNR_OK;
    };
    f.host_release = [](void* s, void* data, size_t) -> int32_t {
        FakeDevice& d = self(s);
        std::lock_guard lock(d.mutex_);
        --d.counts_.pinned;
        std::free(data);
        return TNR_OK;
    };
}

void FakeDevice::fill_transfer_functions() {
    tnr_space& f = functions_;
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
}

void FakeDevice::fill_event_functions() {
    tnr_space& f = functions_;
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

}  // namespace tenora_test
