// Convolution of one input channel per group (depthwise): rows times numbers, no product of matrices.
#pragma once

#include "convolution_layout.h"

namespace tenora::cpu::TENORA_ISA {

template <class T>
void add_row(T* __restrict y, const T* __restrict x, T factor, int64_t n, int64_t step) {
    with_step(step, [&](auto at) {
        for (int64_t i = 0; i < n; ++i) y[i] += factor * x[at(i)];
    });
}
template <class T>
void dot_row(T (&sums)[16], const T* __restrict y, const T* __restrict x, int64_t n, int64_t step) {
    with_step(step, [&](auto at) {
        int64_t i = 0;
        for (; i + 16 <= n; i += 16) {
            for (int l = 0; l < 16; ++l) sums[l] += y[i + l] * x[at(i + l)];
        }
        for (; i < n; ++i) sums[i & 15] += y[i] * x[at(i)];
    });
}

// f(x's padded plane, w of the pair, y's plane, number of the output channel) for every pair of planes.
template <class T, class F>
void each_plane(const Convolution& c, const Layout& layout, const T* x, T* padded, F&& f) {
    for (int64_t n = 0; n < c.batch; ++n) {
        for (int64_t g = 0; g < c.groups; ++g, x += volume(c.size)) {
            const T* source = x;
            if (layout.padded) {
                pad_planes(padded, layout.room, x, c.size, c.padding, 1);
                source = padded;
            }
            for (int64_t k = 0; k < c.out_channels; ++k) {
                const int64_t channel = g * c.out_channels + k;
                f(source, channel, (n * c.groups * c.out_channels + channel) * layout.places);
            }
        }
    }
}

template <class T>
int32_t depthwise(const Convolution& c, const T* x, const T* w, const T* bias, T* y) {
    const Layout layout(c);
    Room room;
    if (!room.fits(Room::padded<T>(layout.plane()))) return TNR_OUT_OF_MEMORY;
    each_plane(c, layout, x, room.take<T>(layout.plane()), [&](const T* source, int64_t channel, int64_t at) {
        const T first = bias ? bias[channel] : T(0), *factor = w + channel * layout.taps;
        for (int64_t i = 0; i < layout.places; ++i) y[at + i] = first;
        each_row(c, layout, [&](int64_t tap, int64_t from, int64_t to) {
            add_row(y + at + to, source + from, factor[tap], c.out[2], c.stride[2]);
        });
    });
    return TNR_OK;
}

template <class T>
int32_t depthwise_to_weight(const Convolution& c, const T* grad, const T* x, T* w) {
    const Layout layout(c);
    Room room;
    if (!room.fits(Room::padded<T>(layout.plane()))) return TNR_OUT_OF_MEMORY;
    const int64_t weights = c.groups * c.out_channels * layout.taps;
    std::memset(w, 0, static_cast<size_t>(weights) * sizeof(T));
    each_plane(c, layout, x, room.take<T>(layout.plane()), [&](const T* source, int64_t channel, int64_t at) {
        T sums[16] = {};
        int64_t last = 0;
        const auto finish = [&] {
            T total = 0;
            for (int l = 0; l < 16; ++l) total += sums[l];
            w[channel * layout.taps + last] += total;
            std::memset(sums, 0, sizeof sums);
        };
        each_row(c, layout, [&](int64_t tap, int64_t from, int64_t to) {
            if (tap != last) finish();
            last = tap;
            dot_row(sums, grad + at + to, source + from, c.out[2], c.stride[2]);
        });
        finish();
    });
    return TNR_OK;
}

template <class T>
int32_t depthwise_to_input(const Convolution& c, const T* grad, const T* w, T* x) {
    Layout layout(c);
    layout.padded = true;
    for (int d = 0; d < 3; ++d)
        layout.room[d] = (c.out[d] - 1) * c.stride[d] + c.dilation[d] * (c.kernel[d] - 1) + 1;
    Room room;
    if (!room.fits(Room::padded<T>(layout.plane()))) return TNR_OUT_OF_MEMORY;
    T* whole = room.take<T>(layout.plane());
    for (int64_t plane = 0; plane < c.batch * c.groups; ++plane, x += volume(c.size)) {
        std::memset(whole, 0, static_cast<size_t>(layout.plane()) * sizeof(T));
        for (int64_t k = 0; k < c.out_channels; ++k, grad += layout.places) {
            const T* factor = w + (plane % c.groups * c.out_channels + k) * layout.taps;
            each_row(c, layout, [&](int64_t tap, int64_t to, int64_t from) {
                spread_row(whole + to, grad + from, factor[tap], c.out[2], c.stride[2]);
            });
        }
        cut_planes(x, c.size, whole, layout.room, c.padding, 1);
    }
    return TNR_OK;
}

}  // namespace tenora::cpu::TENORA_ISA
