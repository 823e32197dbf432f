// The device type `sim`: devices, memory, streams, what went wrong.
//   - Work is checked when it is enqueued (operands, missing waits) and runs when the scheduler says so.
//     What a kernel finds wrong in data is told by the next call that waits for the device, once.
//   - A missing wait and a write into a red zone stay reported: every later wait fails until `forget`.
//   - A lost device answers TNR_DEVICE_LOST for ever and runs nothing.
//   - Lock: `mutex` guards everything; the functions below take it. Kernels run under it and call nothing
//     of this.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "memory.h"
#include "options.h"
#include "scheduler.h"

namespace tenora::sim {

struct Message {  // the error buffer of a call
    char* text;
    size_t size;
    int32_t tell(int32_t status, const std::string& message) const;
};

class Simulator {
  public:
    explicit Simulator(const Options& options);
    int device_count() const { return int(options_.devices); }

    int32_t set_option(const std::string& name, const std::string& value, Message error);
    int32_t allocate(int device, size_t bytes, void** out, Message error);
    int32_t release(int device, void* data);
    int32_t pin(size_t bytes, void** out, Message error);
    int32_t unpin(void* data);
    void memory_info(int device, size_t* free_bytes, size_t* total_bytes);

    int32_t launch(const Kernel& kernel, const tnr_call& call);
    struct Copy {
        char* target;
        const char* source;
        size_t bytes;
        bool from_host, to_host;
    };
    int32_t copy(const Copy& copy, Stream& stream, Message error);

    Stream* make_stream(int device);
    int32_t finish(Stream& stream, Message error);
    bool idle(Stream& stream);
    int32_t record(Event& event, Stream& stream);
    int32_t wait(Stream& stream, const Event& event);
    int32_t finish(int device, const Event& event, Message error);
    bool reached(const Event& event);
    int32_t finish_device(int device, Message error);

    std::vector<std::string> reports();
    std::vector<std::string> history();
    void forget();
    int64_t pending();
    void* storage(const void* address) { return memory_.storage(reinterpret_cast<uintptr_t>(address)); }
    std::mutex mutex;

  private:
    struct Use {  // of memory by an operation
        uintptr_t begin;
        std::vector<Range> ranges;
        bool write;
    };
    struct Device {
        bool lost = false;
        int32_t status = TNR_OK;  // of the first kernel that failed and was not told yet
        std::string text;
    };
    bool strikes_device(int device);
    std::string refusal(const std::vector<Use>& uses, int device);
    int32_t enqueue(const char* name, Stream& stream, const std::vector<Use>& uses,
                    std::function<void()> run);
    void note(const char* name, const Stream& stream, const Use& use);
    void fail(int device, int32_t status, const std::string& text);
    int32_t verdict(int device, Message error);

    Options options_;
    Memory memory_;
    Scheduler scheduler_{options_};
    std::vector<Device> devices_;
    std::vector<std::string> reports_;
};

Simulator& simulator();  // made by the first call of tenora_backend_init

}  // namespace tenora::sim
