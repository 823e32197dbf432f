#include "simulator.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <utility>

#include "queued_call.h"

namespace tenora::sim {
namespace {

constexpr size_t kMostReports = 64;
constexpr size_t kErrorSize = 512;

template <class... Parts>
std::string join(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    return text.str();
}

std::string tell(const Access& a) {
    return join("'", a.op, "' (operation ", a.count, " of stream ", a.stream, ")");
}

std::string name_of(const Allocation& a) {
    return a.device == kPinned ? "the host, pinned" : join("sim:", a.device);
}

}  // namespace

int32_t Message::tell(int32_t status, const std::string& message) const {
    if (text && size) std::snprintf(text, size, "%s", message.c_str());
    return status;
}

Simulator::Simulator(const Options& options) : options_(options), devices_(size_t(options.devices)) {}

int32_t Simulator::set_option(const std::string& name, const std::string& value, Message error) {
    std::lock_guard lock(mutex);
    std::string text;
    Options changed = options_;
    if (!set(changed, name, value, &text)) return error.tell(TNR_BAD_VALUE, text);
    if (changed.devices != options_.devices || changed.without != options_.without)
        return error.tell(TNR_BAD_VALUE,
                          name + " was read when the backend was loaded; set it before the first use");
    options_ = changed;
    if (name == "seed") scheduler_.seed();
    return TNR_OK;
}

int32_t Simulator::allocate(int device, size_t bytes, void** out, Message error) {
    std::lock_guard lock(mutex);
    if (devices_[size_t(device)].lost) return TNR_DEVICE_LOST;
    if (strikes(options_.fail_allocation))
        return error.tell(TNR_OUT_OF_MEMORY, "the option fail_allocation asked for it");
    const size_t capacity = size_t(options_.memory) << 20, used = memory_.used(device);
    Allocation* made = used > capacity || bytes > capacity - used ? nullptr : memory_.allocate(device, bytes);
    if (!made)
        return error.tell(TNR_OUT_OF_MEMORY, join("sim:", device, " has ", options_.memory, " MiB, of which ",
                                                  used >> 20, " are in use"));
    *out = reinterpret_cast<void*>(made->address);
    return TNR_OK;
}

// As on real devices, memory is given back when the device has finished all that it was given.
int32_t Simulator::release(int device, void* data) {
    std::lock_guard lock(mutex);
    scheduler_.finish_device(device);
    const std::string wrong = memory_.check_red_zones();
    if (!wrong.empty()) reports_.push_back(wrong);
    const auto address = reinterpret_cast<uintptr_t>(data);
    if (memory_.release(address)) return TNR_OK;
    reports_.push_back(
        "memory was released twice or never allocated: got an address that is not in use, expected one "
        "from alloc. Release each block once.");
    return TNR_ERROR;
}

int32_t Simulator::pin(size_t bytes, void** out, Message error) {
    std::lock_guard lock(mutex);
    if (strikes(options_.fail_allocation))
        return error.tell(TNR_OUT_OF_MEMORY, "the option fail_allocation asked for it");
    Allocation* made = memory_.pin(bytes);
    if (!made) return error.tell(TNR_OUT_OF_MEMORY, "the operating system has no room to pin");
    *out = reinterpret_cast<void*>(made->address);
    return TNR_OK;
}

// The host has to have waited for every copy with it.
int32_t Simulator::unpin(void* data) {
    std::lock_guard lock(mutex);
    Allocation* a = memory_.pinned(reinterpret_cast<uintptr_t>(data));
    if (!a) return TNR_ERROR;
    const Access last = a->shadow.touch({0, a->bytes}, {"release", 0, 0}, scheduler_.host(), true);
    if (last.op) {
        reports_.push_back(join("pinned memory was released too early: got allocation ", a->number, " while ",
                                tell(last), " may not be over, expected a wait of the host before. Wait for ",
                                "the stream's event."));
        for (int device = 0; device < device_count(); ++device) scheduler_.finish_device(device);
    }
    memory_.unpin(*a);
    return last.op ? TNR_ERROR : TNR_OK;
}

void Simulator::memory_info(int device, size_t* free_bytes, size_t* total_bytes) {
    std::lock_guard lock(mutex);
    *total_bytes = size_t(options_.memory) << 20;
    *free_bytes = *total_bytes - std::min(*total_bytes, memory_.used(device));
}

bool Simulator::strikes_device(int device) {
    if (strikes(options_.lose_device)) {
        devices_[size_t(device)].lost = true;
        scheduler_.drop(device);
    }
    return devices_[size_t(device)].lost;
}

std::string Simulator::refusal(const std::vector<Use>& uses, int device) {
    for (const Use& use : uses) {
        for (const Range& range : use.ranges) {
            const Allocation* a = memory_.find(range.begin, range.end - range.begin);
            if (a && a->device == device) continue;
            return join("an operand lies elsewhere: got memory of ", a ? name_of(*a) : "no live allocation",
                        ", expected sim:", device, ". Keep the operand alive, on the stream's device.");
        }
    }
    return "";
}

void Simulator::note(const char* name, const Stream& stream, const Use& use) {
    const Access now{name, stream.number, stream.clock[stream.number]};
    Access conflict;
    Allocation* allocation = nullptr;
    for (const Range& range : use.ranges) {
        allocation = memory_.find(range.begin, range.end - range.begin);
        const Access found =
            allocation->shadow.touch({range.begin - allocation->address, range.end - allocation->address},
                                     now, stream.clock, use.write);
        if (found.op) conflict = found;
    }
    if (!conflict.op || reports_.size() >= kMostReports) return;
    reports_.push_back(join("a wait is missing: got ", tell(now), use.write ? " writing" : " reading",
                            " allocation ", allocation->number, " on ", name_of(*allocation), " from byte ",
                            use.ranges.front().begin - allocation->address, " while ", tell(conflict),
                            " may not be over, expected an order between them. Record an event on stream ",
                            conflict.stream, " and let stream ", now.stream,
                            " wait for it, or synchronise."));
}

int32_t Simulator::enqueue(const char* name, Stream& stream, const std::vector<Use>& uses,
                           std::function<void()> run) {
    auto operation = std::make_shared<Operation>();
    operation->name = name;
    operation->run = std::move(run);
    for (const Use& use : uses)
        for (const Range& range : use.ranges) operation->nanoseconds += double(range.end - range.begin);
    scheduler_.enqueue(stream, std::move(operation));
    for (const Use& use : uses) note(name, stream, use);
    scheduler_.choose();
    return TNR_OK;
}

void Simulator::fail(int device, int32_t status, const std::string& text) {
    Device& d = devices_[size_t(device)];
    if (d.status != TNR_OK) return;
    d.status = status;
    d.text = text;
}

int32_t Simulator::launch(const Kernel& kernel, const tnr_call& call) {
    std::lock_guard lock(mutex);
    Stream& stream = *static_cast<Stream*>(call.stream);
    const int device = stream.device;
    const Message error{call.error, call.error_size};
    if (strikes_device(device)) return TNR_DEVICE_LOST;
    std::vector<Use> uses;
    for (int i = 0; i < call.n_in; ++i)
        if (call.in[i] && !(call.host_scalar_mask >> i & 1))
            uses.push_back({0, footprint(*call.in[i]), false});
    for (int i = 0; i < call.n_out; ++i) uses.push_back({0, footprint(*call.out[i]), true});
    if (const std::string text = refusal(uses, device); !text.empty()) return error.tell(TNR_ERROR, text);
    const bool fails = strikes(options_.fail_kernel);
    auto copy = std::make_shared<QueuedCall>(call, memory_);
    return enqueue(kernel.op, stream, uses, [this, &kernel, device, copy, fails] {
        char text[kErrorSize] = "";
        const int32_t status = fails ? TNR_ERROR : copy->run(kernel.run, text, sizeof text);
        if (fails) std::snprintf(text, sizeof text, "the option fail_kernel asked for it");
        if (status != TNR_OK) fail(device, status, join(kernel.op, ": ", text));
    });
}

int32_t Simulator::copy(const Copy& copy, Stream& stream, Message error) {
    std::lock_guard lock(mutex);
    if (strikes_device(stream.device)) return TNR_DEVICE_LOST;
    auto use = [&](const char* data, bool write) {
        const auto begin = reinterpret_cast<uintptr_t>(data);
        return Use{begin, {{begin, begin + copy.bytes}}, write};
    };
    std::vector<Use> uses;
    auto known = [&](const char* data) {
        return memory_.find(reinterpret_cast<uintptr_t>(data), copy.bytes);
    };
    if (!copy.from_host || known(copy.source)) uses.push_back(use(copy.source, false));
    if (!copy.to_host || known(copy.target)) uses.push_back(use(copy.target, true));
    for (const Use& u : uses)
        if (!memory_.find(u.begin, copy.bytes)) return error.tell(TNR_ERROR, refusal({u}, stream.device));
    char* target = copy.to_host ? copy.target : memory_.storage(copy.target);
    const char* source = copy.from_host ? copy.source : memory_.storage(copy.source);
    const char* name = copy.from_host ? "copy from the host" : copy.to_host ? "copy to the host" : "copy";
    return enqueue(name, stream, uses,
                   [target, source, bytes = copy.bytes] { std::memmove(target, source, bytes); });
}

Stream* Simulator::make_stream(int device) {
    std::lock_guard lock(mutex);
    return scheduler_.make_stream(device);
}

int32_t Simulator::finish(Stream& stream, Message error) {
    std::lock_guard lock(mutex);
    scheduler_.finish(stream);
    return verdict(stream.device, error);
}

// Questions let the device go on a little, so that a loop of them ends.
bool Simulator::idle(Stream& stream) {
    std::lock_guard lock(mutex);
    const bool answer = stream.queue.empty();
    if (answer)
        scheduler_.host().join(stream.clock);
    else
        scheduler_.step();
    return answer;
}

bool Simulator::reached(const Event& event) {
    std::lock_guard lock(mutex);
    const bool answer = !event.record || event.record->done;
    if (answer)
        scheduler_.host().join(event.clock);
    else
        scheduler_.step();
    return answer;
}

int32_t Simulator::record(Event& event, Stream& stream) {
    std::lock_guard lock(mutex);
    if (devices_[size_t(stream.device)].lost) return TNR_DEVICE_LOST;
    event.record = std::make_shared<Operation>();
    event.record->name = "record";
    scheduler_.enqueue(stream, event.record);
    event.clock = stream.clock;
    scheduler_.choose();
    return TNR_OK;
}

int32_t Simulator::wait(Stream& stream, const Event& event) {
    std::lock_guard lock(mutex);
    if (devices_[size_t(stream.device)].lost) return TNR_DEVICE_LOST;
    if (!event.record) return TNR_OK;
    auto operation = std::make_shared<Operation>();
    operation->name = "wait";
    operation->after = event.record;
    stream.clock.join(event.clock);
    scheduler_.enqueue(stream, std::move(operation));
    scheduler_.choose();
    return TNR_OK;
}

int32_t Simulator::finish(int device, const Event& event, Message error) {
    std::lock_guard lock(mutex);
    scheduler_.finish(event);
    return verdict(device, error);
}

int32_t Simulator::finish_device(int device, Message error) {
    std::lock_guard lock(mutex);
    scheduler_.finish_device(device);
    return verdict(device, error);
}

int32_t Simulator::verdict(int device, Message error) {
    Device& d = devices_[size_t(device)];
    if (d.lost) return error.tell(TNR_DEVICE_LOST, "the option lose_device took it away");
    if (const std::string wrong = memory_.check_red_zones(); !wrong.empty()) reports_.push_back(wrong);
    if (!reports_.empty()) return error.tell(TNR_ERROR, reports_.front());
    const int32_t status = std::exchange(d.status, TNR_OK);
    return status == TNR_OK ? status : error.tell(status, d.text);
}

std::vector<std::string> Simulator::reports() {
    std::lock_guard lock(mutex);
    return reports_;
}

std::vector<std::string> Simulator::history() {
    std::lock_guard lock(mutex);
    return {scheduler_.history().begin(), scheduler_.history().end()};
}

void Simulator::forget() {
    std::lock_guard lock(mutex);
    reports_.clear();
}

int64_t Simulator::pending() {
    std::lock_guard lock(mutex);
    return int64_t(scheduler_.pending());
}

}  // namespace tenora::sim
