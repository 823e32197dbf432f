// Options, as the manifest declares them. Counted faults count from the moment they are set; 0 is never.
#pragma once

#include <cstdint>
#include <string>

namespace tenora::sim {

enum class Policy { Eager, Lazy, Random, Pct };

struct Options {
    Policy policy = Policy::Random;
    uint64_t seed = 0;
    int64_t devices = 2;          // read at load
    int64_t memory = 4096;        // MiB of a device
    int64_t fail_allocation = 0;  // the n-th allocation from now finds no memory
    int64_t fail_kernel = 0;      // the n-th kernel from now fails when it runs
    int64_t lose_device = 0;      // the n-th kernel or copy from now loses its device
    std::string without;          // ops and dtypes that are not offered; read at load
};

// Counts a fault down; true when it strikes.
inline bool strikes(int64_t& fault) { return fault > 0 && --fault == 0; }

// False, with the reason in `error`, for an unknown option or value.
bool set(Options& options, const std::string& name, const std::string& value, std::string* error);

}  // namespace tenora::sim
