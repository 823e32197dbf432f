#include "tenora/random.h"

#include <array>
#include <memory>

namespace tenora {

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
    uint64_t seed = 0x7e50a;                                                        // mutex
    std::array<std::array<std::unique_ptr<Generator>, 64>, kMaxSpaces> generators;  // mutex; never removed
};

Defaults& defaults() {
    static Defaults* d = new Defaults;  // outlives every thread
    return *d;
}

}  // namespace

Generator& default_generator(Device device) {
    Defaults& d = defaults();
    std::lock_guard lock(d.mutex);
    auto& slot = d.generators[device.space][device.index & 63];
    if (!slot) slot = std::make_unique<Generator>(device, d.seed);
    return *slot;
}

void manual_seed(uint64_t seed) {
    Defaults& d = defaults();
    std::lock_guard lock(d.mutex);
    d.seed = seed;
    for (auto& row : d.generators)
        for (auto& g : row)
            if (g) g->set_state({seed, 0});
}

}  // namespace tenora
