// What the files of convolution share: memory of the thread, how windows lie in padded images, rows.
#pragma once

#include "gemm_pack.h"
#include "image.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

inline constexpr int64_t kProductColumns = 1024;  // at least, if there are as many

// Memory of this thread, in parts; NULL parts mean there is none.
class Room {
  public:
    bool fits(size_t bytes) {
        data_ = static_cast<char*>(scratch().get(bytes));
        return data_ != nullptr;
    }
    template <class T>
    T* take(int64_t count) {
        T* part = reinterpret_cast<T*>(data_);
        data_ += padded<T>(count);
        return part;
    }
    template <class T>
    static size_t padded(int64_t count) {
        return (static_cast<size_t>(count) * sizeof(T) + 63) & ~size_t{63};
    }

  private:
    static Scratch& scratch() {
        thread_local Scratch own;
        return own;
    }
    char* data_ = nullptr;
};

// How windows lie in the padded images of one chunk.
struct Layout {
    int64_t room[3];  // size of a padded plane
    bool padded;      // whether it differs from the image
    int64_t places;   // windows of an image
    int64_t taps;     // elements of a window
    int64_t images;   // in a chunk

    explicit Layout(const Convolution& c)
        : padded(false), places(volume(c.out)), taps(c.in_channels * volume(c.kernel)) {
        for (int d = 0; d < 3; ++d) {
            room[d] = (c.out[d] - 1) * c.stride[d] + c.dilation[d] * (c.kernel[d] - 1) + 1;
            padded |= c.padding[d] != 0 || room[d] > c.size[d];
        }
        if (!padded) {
            for (int d = 0; d < 3; ++d) room[d] = c.size[d];
        }
        images = places >= kProductColumns ? 1 : kProductColumns / (places > 0 ? places : 1);
        images = images < c.batch ? images : c.batch;
    }
    int64_t plane() const { return volume(room); }
    int64_t image(const Convolution& c) const { return plane() * c.in_channels * c.groups; }
    int64_t columns() const { return images * places; }

    void fill_columns(const Convolution& c, int64_t* at) const {
        for (int64_t n = 0; n < images; ++n) {
            for (int64_t i = 0; i < c.out[0]; ++i) {
                for (int64_t j = 0; j < c.out[1]; ++j) {
                    const int64_t row = (i * c.stride[0] * room[1] + j * c.stride[1]) * room[2];
                    for (int64_t k = 0; k < c.out[2]; ++k) *at++ = n * image(c) + row + k * c.stride[2];
                }
            }
        }
    }
    void fill_taps(const Convolution& c, int64_t* at) const {
        for (int64_t channel = 0; channel < c.in_channels; ++channel) {
            for (int64_t i = 0; i < c.kernel[0]; ++i) {
                for (int64_t j = 0; j < c.kernel[1]; ++j) {
                    const int64_t row = (i * c.dilation[0] * room[1] + j * c.dilation[1]) * room[2];
                    for (int64_t k = 0; k < c.kernel[2]; ++k)
                        *at++ = channel * plane() + row + k * c.dilation[2];
                }
            }
        }
    }
};

// x[i * step] += factor * y[i]
template <class T>
void spread_row(T* __restrict x, const T* __restrict y, T factor, int64_t n, int64_t step) {
    with_step(step, [&](auto at) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) x[at(i)] += factor * y[i];
    });
}
// f(tap number, offset of the row in the padded plane, offset of the row in y) for all rows of a plane.
template <class F>
void each_row(const Convolution& c, const Layout& layout, F&& f) {
    const int64_t* room = layout.room;
    int64_t tap = 0;
    for (int64_t a = 0; a < c.kernel[0]; ++a) {
        for (int64_t b = 0; b < c.kernel[1]; ++b) {
            for (int64_t e = 0; e < c.kernel[2]; ++e, ++tap) {
                for (int64_t i = 0; i < c.out[0]; ++i) {
                    for (int64_t j = 0; j < c.out[1]; ++j) {
                        const int64_t plane = i * c.stride[0] + a * c.dilation[0],
                                      row = j * c.stride[1] + b * c.dilation[1];
                        f(tap, (plane * room[1] + row) * room[2] + e * c.dilation[2],
                          (i * c.out[1] + j) * c.out[2]);
                    }
                }
            }
        }
    }
}

}  // namespace tenora::cpu::TENORA_ISA
