// Images in padded memory: copying planes in and out, rows with a step between elements.
#pragma once

#include <cstring>

#include "windows.h"

namespace tenora::cpu::TENORA_ISA {

inline int64_t volume(const int64_t* size) { return size[0] * size[1] * size[2]; }

// Zeros of `room` around `planes` planes of `size`; what does not fit behind is left out.
template <class T>
void pad_planes(T* to, const int64_t* room, const T* from, const int64_t* size, const int64_t* before,
                int64_t planes) {
    int64_t kept[3];
    for (int d = 0; d < 3; ++d) kept[d] = size[d] < room[d] - before[d] ? size[d] : room[d] - before[d];
    std::memset(to, 0, static_cast<size_t>(planes * volume(room)) * sizeof(T));
    if (kept[2] <= 0) return;
    for (int64_t p = 0; p < planes; ++p, to += volume(room), from += volume(size)) {
        for (int64_t i = 0; i < kept[0]; ++i) {
            for (int64_t j = 0; j < kept[1]; ++j) {
                T* target = to + ((i + before[0]) * room[1] + j + before[1]) * room[2] + before[2];
                std::memcpy(target, from + (i * size[1] + j) * size[2],
                            static_cast<size_t>(kept[2]) * sizeof(T));
            }
        }
    }
}

// The way back; elements that the room does not have are zero.
template <class T>
void cut_planes(T* to, const int64_t* size, const T* from, const int64_t* room, const int64_t* before,
                int64_t planes) {
    for (int64_t p = 0; p < planes; ++p, from += volume(room)) {
        for (int64_t i = before[0]; i < size[0] + before[0]; ++i) {
            for (int64_t j = before[1]; j < size[1] + before[1]; ++j, to += size[2]) {
                int64_t there = i < room[0] && j < room[1] ? room[2] - before[2] : 0;
                there = there < 0 ? 0 : there < size[2] ? there : size[2];
                const T* source = from + (i * room[1] + j) * room[2] + before[2];
                if (there > 0) std::memcpy(to, source, static_cast<size_t>(there) * sizeof(T));
                for (int64_t k = there; k < size[2]; ++k) to[k] = T(0);
            }
        }
    }
}

// f(step) with the common steps as constants, so that the loop over a row is compiled for each.
template <class F>
inline void with_step(int64_t step, F&& f) {
    if (step == 1)
        f([](int64_t i) { return i; });
    else if (step == 2)
        f([](int64_t i) { return 2 * i; });
    else
        f([step](int64_t i) { return step * i; });
}

}  // namespace tenora::cpu::TENORA_ISA
