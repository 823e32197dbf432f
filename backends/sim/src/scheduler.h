// Streams as queues of operations, and the order in which these run.
//   - A stream is first in, first out. An operation is ready at the head of its stream when what it waits
//     for is done.
//   - Nothing runs when it is enqueued except by choice of the policy: `eager` runs all that is ready
//     after each call, `lazy` nothing, `random` and `pct` a random number of operations. Who waits runs
//     operations, in the order that the policy picks, until what is waited for is done: `eager` and
//     `lazy` the oldest, `random` any stream's, `pct` that of the stream with the highest priority, where
//     priorities are random and now and then drawn anew.
//   - One seeded generator makes all choices: equal seeds and equal calls give equal schedules.
//   - Time is virtual: an operation lasts a microsecond and a nanosecond for each byte.
//   - Lock: the simulator's; none here.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "options.h"
#include "shadow.h"

namespace tenora::sim {

struct Operation {
    const char* name = nullptr;
    uint64_t number = 0;  // in order of enqueueing
    std::function<void()> run;
    std::shared_ptr<Operation> after;  // of another stream
    double nanoseconds = 1000;
    double end = 0;  // virtual time, once done
    bool done = false;
};

struct Stream {
    int number;  // from 1: component of clocks
    int device;
    std::deque<std::shared_ptr<Operation>> queue;
    Clock clock;
    uint64_t priority;
};

struct Event {
    std::shared_ptr<Operation> record;
    Clock clock;
};

class Scheduler {
  public:
    explicit Scheduler(const Options& options) : options_(options) { seed(); }
    void seed() { random_.seed(options_.seed); }

    Stream* make_stream(int device);
    // Puts an operation at the end of the queue; its place in the stream's count is in the stream's clock.
    void enqueue(Stream& stream, std::shared_ptr<Operation> operation);
    void choose();  // what runs of its own accord at the end of a call
    bool step();    // one operation; false when none is ready
    void finish(Stream& stream);
    void finish(const Event& event);
    void finish_device(int device);
    void drop(int device);  // forgets what is queued: the device is lost
    Clock& host() { return host_; }
    size_t pending() const;
    const std::vector<std::unique_ptr<Stream>>& streams() const { return streams_; }
    // The last operations that ran, "name@stream", oldest first.
    const std::deque<std::string>& history() const { return history_; }

  private:
    Stream* pick();
    const Options& options_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::deque<std::string> history_;
    Clock host_;  // what the host has waited for
    uint64_t count_ = 0;
    double now_ = 0;
};

}  // namespace tenora::sim
