// Generators: counter-based, so a state is a seed and an offset and nothing else.
//   - The op `random_bits` takes ceil(n / 4) counters of Philox4x32-10
//     per call; every other random op is written over it.
//   - An op gets its generator as an I64 attribute that holds
//     the address, or NONE for the default one of its device.
#pragma once

#include <mutex>

#include "tenora/tensor.h"

namespace tenora {

struct Generator {
    struct State {
        uint64_t seed, offset;
    };
    std::atomic<uint32_t> count{1};
    Device device;
    explicit Generator(Device device, uint64_t seed = 0) : device(device), state_{seed, 0} {}
    void retain() { count.fetch_add(1, std::memory_order_relaxed); }
    void release() {
        if (count.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    State take(uint64_t counters);  // the state before; advances the offset
    State get_state() const;
    void set_state(State state);

  private:
    mutable std::mutex mutex_;
    State state_;  // mutex_
};
using GeneratorRef = Ref<Generator>;

uint64_t system_seed();  // another one each time
// Immortal. Those of one process start from one seed of the system until set: two processes draw other
// numbers.
Generator& default_generator(Device device);
void manual_seed(uint64_t seed);  // every default generator, present and future

}  // namespace tenora
