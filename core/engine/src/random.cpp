#include "tenora/random.h"

#include <array>
#include <atomic>
#include <random>

namespace tenora {

uint64_t system_seed() {
    std::random_device system;
    return uint64_t(system()) << 32 | system();
}

Generator::State Generator::take(uint64_t counters) {
    std::lock_guard lock(mutex_);
    State before = state_;
    state_.offset += counters;
    return before;
}

Generator::State Generator::get_state() const {
    std::lock_guard lock(mutex_);
    return state_;
}

void Generator::set_state(State state) {
    std::lock_guard lock(mutex_);
    state_ = state;
}

namespace {

struct Defaults {
    std::mutex mutex;
    uint64_t seed = system_seed();  // mutex
    // Written under mutex, read without it; a generator is never removed.
    std::array<std::array<std::atomic<Generator*>, 64>, kMaxSpaces> generators{};
};

Defaults& defaults() {
    static Defaults* d = new Defaults;  // outlives every thread
    return *d;
}

}  // namespace

Generator& default_generator(Device device) {
    Defaults& d = defaults();
    std::atomic<Generator*>& slot = d.generators[device.space][device.index & 63];
    if (Generator* made = slot.load(std::memory_order_acquire)) return *made;
    std::lock_guard lock(d.mutex);
    if (!slot.load(std::memory_order_relaxed))
        slot.store(new Generator(device, d.seed), std::memory_order_release);
    return *slot.load(std::memory_order_relaxed);
}

void manual_seed(uint64_t seed) {
    Defaults& d = defaults();
    std::lock_guard lock(d.mutex);
    d.seed = seed;
    for (const auto& row : d.generators)
        for (const auto& g : row)
            if (Generator* made = g.load(std::memory_order_relaxed)) made->set_state({seed, 0});
}

}  // namespace tenora
