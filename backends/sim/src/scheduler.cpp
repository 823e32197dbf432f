#include "scheduler.h"

#include <algorithm>

namespace tenora::sim {
namespace {

constexpr size_t kHistory = 256;
constexpr unsigned kRedraw = 16;  // one operation in so many draws a priority anew

bool ready(const Stream& stream) {
    return !stream.queue.empty() && (!stream.queue.front()->after || stream.queue.front()->after->done);
}

}  // namespace

Stream* Scheduler::make_stream(int device) {
    auto made = std::make_unique<Stream>();
    made->number = int(streams_.size()) + 1;
    made->device = device;
    made->priority = random_();
    streams_.push_back(std::move(made));
    return streams_.back().get();
}

void Scheduler::enqueue(Stream& stream, std::shared_ptr<Operation> operation) {
    operation->number = ++count_;
    stream.clock.join(host_);
    stream.clock.advance(stream.number);
    stream.queue.push_back(std::move(operation));
}

Stream* Scheduler::pick() {
    std::vector<Stream*> all;
    for (auto& stream : streams_)
        if (ready(*stream)) all.push_back(stream.get());
    if (all.empty()) return nullptr;
    auto by = [](auto key) { return [key](Stream* a, Stream* b) { return key(a) < key(b); }; };
    switch (options_.policy) {
        case Policy::Random:
            return all[random_() % all.size()];
        case Policy::Pct:
            if (random_() % kRedraw == 0) all[random_() % all.size()]->priority = random_();
            return *std::max_element(all.begin(), all.end(), by([](Stream* s) { return s->priority; }));
        default:
            return *std::min_element(all.begin(), all.end(),
                                     by([](Stream* s) { return s->queue.front()->number; }));
    }
}

bool Scheduler::step() {
    Stream* stream = pick();
    if (!stream) return false;
    const std::shared_ptr<Operation> operation = stream->queue.front();
    stream->queue.pop_front();
    if (operation->run) operation->run();
    operation->run = nullptr;
    operation->after = nullptr;
    now_ += operation->nanoseconds;
    operation->end = now_;
    operation->done = true;
    history_.push_back(std::string(operation->name) + "@" + std::to_string(stream->number));
    if (history_.size() > kHistory) history_.pop_front();
    return true;
}

void Scheduler::choose() {
    if (options_.policy == Policy::Lazy) return;
    while ((options_.policy == Policy::Eager || random_() % 2) && step()) {
    }
}

void Scheduler::finish(Stream& stream) {
    while (!stream.queue.empty() && step()) {
    }
    host_.join(stream.clock);
}

void Scheduler::finish(const Event& event) {
    if (!event.record) return;
    while (!event.record->done && step()) {
    }
    host_.join(event.clock);
}

void Scheduler::finish_device(int device) {
    for (size_t i = 0; i < streams_.size(); ++i)
        if (streams_[i]->device == device) finish(*streams_[i]);
}

void Scheduler::drop(int device) {
    for (auto& stream : streams_) {
        if (stream->device != device) continue;
        for (auto& operation : stream->queue) operation->done = true;
        stream->queue.clear();
    }
}

size_t Scheduler::pending() const {
    size_t n = 0;
    for (const auto& stream : streams_) n += stream->queue.size();
    return n;
}

}  // namespace tenora::sim
