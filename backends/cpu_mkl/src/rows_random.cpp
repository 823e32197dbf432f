// Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011), several
// counters at once. Word i of the output is word i % 4 of the block with counter first + i / 4.
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

constexpr int kCounters = 16;

struct Words {
    uint32_t w[4][kCounters];
};

inline void round_once(Words& x, uint32_t key_0, uint32_t key_1) {
    for (int i = 0; i < kCounters; ++i) {
        const uint64_t a = uint64_t{0xD2511F53u} * x.w[0][i], b = uint64_t{0xCD9E8D57u} * x.w[2][i];
        const uint32_t new_0 = static_cast<uint32_t>(b >> 32) ^ x.w[1][i] ^ key_0;
        const uint32_t new_2 = static_cast<uint32_t>(a >> 32) ^ x.w[3][i] ^ key_1;
        x.w[0][i] = new_0;
        x.w[1][i] = static_cast<uint32_t>(b);
        x.w[2][i] = new_2;
        x.w[3][i] = static_cast<uint32_t>(a);
    }
}

void philox(uint32_t* out, uint64_t first, int64_t blocks, uint64_t seed) {
    for (int64_t begin = 0; begin < blocks; begin += kCounters) {
        Words x;
        for (int i = 0; i < kCounters; ++i) {
            const uint64_t counter = first + static_cast<uint64_t>(begin + i);
            x.w[0][i] = static_cast<uint32_t>(counter);
            x.w[1][i] = static_cast<uint32_t>(counter >> 32);
            x.w[2][i] = x.w[3][i] = 0;
        }
        uint32_t key_0 = static_cast<uint32_t>(seed), key_1 = static_cast<uint32_t>(seed >> 32);
        for (int r = 0; r < 10; ++r) {
            round_once(x, key_0, key_1);
            key_0 += 0x9E3779B9u;
            key_1 += 0xBB67AE85u;
        }
        const int count = blocks - begin < kCounters ? static_cast<int>(blocks - begin) : kCounters;
        for (int i = 0; i < count; ++i) {
            for (int word = 0; word < 4; ++word) out[(begin + i) * 4 + word] = x.w[word][i];
        }
    }
}

}  // namespace

void fill_random(Tables& t) { t.philox = philox; }

}  // namespace tenora::cpu::TENORA_ISA
