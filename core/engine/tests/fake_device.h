// A device that works asynchronously, for tests of streams, events and cross-stream reuse.
//   - A stream is a queue of tasks. Nothing runs when it is launched: tasks
//     run when the host waits for them, when a test calls step(), or on a
//     worker thread; which stream goes next is drawn from a seeded generator.
//   - Tasks touch real memory (write a pattern, expect a pattern),
//     so a block that is reused too early shows in the data.
//   - Besides, every access is checked against a vector clock per
//     stream, so that two accesses which no event, stream or host
//     wait puts in order are reported as a violation however the
//     tasks happened to run. So is memory given back under way.
//   - Out of memory: a capacity, or the next n allocations refused.
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tenora/space.h"
#include "tenora/stream.h"
#include "tenora_backend.h"

namespace tenora_test {

class FakeDevice {
  public:
    static constexpr int kDevices = 2, kMaxStreams = 128;
    static constexpr size_t kGranule = 512;

    // Registers a space of that name on first use; the same object afterwards.
    static FakeDevice& get(const std::string& name = "fake", bool own_pool = false);

    tenora::Device device(uint8_t index = 0) const { return {space_id_, index}; }
    tnr_space& functions() { return functions_; }

    // Work. Pointers are device memory; `bytes` a multiple of 8.
    void launch_write(tenora::Stream* stream, void* data, size_t bytes, uint64_t pattern);
    void launch_expect(tenora::Stream* stream, void* data, size_t bytes, uint64_t pattern);

    bool step();  // runs one task; false when none can run
    void drain();
    void start_worker();  // a thread that steps on its own
    void stop_worker();
    void reset(uint64_t seed);        // seed, capacity, faults, violations; memory and streams stay
    void set_capacity(size_t bytes);  // 0: none
    void refuse_next(int allocations);
    void lose();                   // every later call answers TNR_DEVICE_LOST
    void set_misaligned(bool on);  // alloc lies about alignment

    std::vector<std::string> violations();
    struct Counts {
        int64_t regions, bytes, streams, events, allocs, releases, synchronizations, tasks, trims, pinned;
    };
    Counts counts();

  private:
    using Clock = std::array<uint32_t, kMaxStreams>;
    struct Event {
        uint64_t recorded = 0, reached = 0;
        Clock clock{};
        double time = 0;
    };
    struct Task {
        enum Kind { Write, Expect, Record, Wait } kind;
        uint64_t* data = nullptr;
        size_t bytes = 0;
        uint64_t pattern = 0, generation = 0;
        std::shared_ptr<Event> event;
    };
    struct Queue {
        int id;
        int device;
        std::deque<Task> tasks;
        Clock clock{};
        bool alive = true;
    };
    struct Access {
        int stream = -1;
        uint32_t time = 0;
    };
    struct Cell {
        Access write;
        std::vector<Access> reads;
    };

    // All of these expect the lock to be held.
    bool step_locked();
    bool ready(const Task& task) const;
    void execute(Task& task);
    void access(Queue& queue, void* data, size_t bytes, bool write);
    bool ordered(const Clock& clock, const Access& access) const;
    void check_cells_done(uintptr_t address, size_t bytes);
    void wait_for(Queue& queue);
    void wait_for(Event& event);
    void know(const Clock& clock);  // the host has seen this
    void complain(std::string text);
    Queue& queue_of(void* handle) { return *static_cast<Queue*>(handle); }
    static std::shared_ptr<Event>& event_of(void* handle) {
        return *static_cast<std::shared_ptr<Event>*>(handle);
    }
    void launch(tenora::Stream* stream, Task task, bool write);
    void fill_functions(const std::string& name, bool own_pool);
    void fill_memory_functions();
    void fill_transfer_functions();
    void fill_stream_functions();
    void fill_event_functions();

    std::string name_;
    uint8_t space_id_ = 0;
    tnr_space functions_{};
    std::mutex mutex_;  // guards everything below
    std::mt19937_64 random_{1};
    std::vector<std::unique_ptr<Queue>> queues_;
    std::map<uintptr_t, size_t> regions_;
    std::unordered_map<uintptr_t, Cell> cells_;
    Clock host_{};
    std::vector<std::string> violations_;
    size_t capacity_ = 0, used_ = 0;
    int refuse_ = 0;
    bool lost_ = false, misaligned_ = false;
    double now_ = 0;
    Counts counts_{};
    std::thread worker_;
    bool worker_on_ = false;
};

// Makes a stream current for a scope.
class OnStream {
  public:
    explicit OnStream(tenora::Stream* stream)
        : device_(stream->device), before_(tenora::set_current_stream(stream->device, stream)) {}
    ~OnStream() { tenora::set_current_stream(device_, before_.get()); }

  private:
    tenora::Device device_;
    tenora::StreamRef before_;
};

}  // namespace tenora_test
