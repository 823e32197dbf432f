// Convolution and its two adjoints, float and double.
//
//   - One matrix product per group over the windows of some images: no matrix of windows is made; the product
//   packs
//     its panels from the padded images by tables of offsets (row and column add up to a place).
//   - Images are taken together until the product has enough columns; an image that has enough writes
//   straight to y.
//   - The gradient for the input is a convolution with the turned kernel where the stride is 1; else a
//   product, whose
//     columns are added to their windows.
//   - One input channel per group (depthwise): rows times numbers, no product.
#include "gemm_pack.h"
#include "image.h"
#include "tables.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

constexpr int64_t kColumns = 1024;  // of a product, at least, if there are as many

template <class T>
constexpr tnr_dtype kDtype = sizeof(T) == 4 ? TNR_F32 : TNR_F64;

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
        images = places >= kColumns ? 1 : kColumns / (places > 0 ? places : 1);
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

// The chunks of images of one call: f(first image, images, padded images).
template <class T, class F>
int32_t each_chunk(const Convolution& c, const Layout& layout, const T* x, T* padded, F&& f) {
    const int64_t image = volume(c.size) * c.in_channels * c.groups;
    for (int64_t n = 0; n < c.batch; n += layout.images) {
        const int64_t images = c.batch - n < layout.images ? c.batch - n : layout.images;
        const T* source = x + n * image;
        if (layout.padded) {
            pad_planes(padded, layout.room, source, c.size, c.padding, images * c.in_channels * c.groups);
            source = padded;
        }
        const int32_t status = f(n, images, source);
        if (status != TNR_OK) return status;
    }
    return TNR_OK;
}

// Rows of (images, channels, places) as rows of (channels, images * places), and back.
template <class T>
void gather_rows(T* to, const T* from, int64_t image, int64_t images, int64_t channels, int64_t places) {
    for (int64_t k = 0; k < channels; ++k) {
        for (int64_t n = 0; n < images; ++n, to += places)
            std::memcpy(to, from + n * image + k * places, static_cast<size_t>(places) * sizeof(T));
    }
}
template <class T>
void scatter_rows(T* to, const T* from, int64_t image, int64_t images, int64_t channels, int64_t places) {
    for (int64_t k = 0; k < channels; ++k) {
        for (int64_t n = 0; n < images; ++n, from += places)
            std::memcpy(to + n * image + k * places, from, static_cast<size_t>(places) * sizeof(T));
    }
}

template <class T>
void fill_rows(T* to, const T* bias, int64_t channels, int64_t columns) {
    for (int64_t k = 0; k < channels; ++k) {
        for (int64_t j = 0; j < columns; ++j) to[k * columns + j] = bias[k];
    }
}

// ---- one input channel per group ----
template <class T>
void add_row(T* __restrict y, const T* __restrict x, T factor, int64_t n, int64_t step) {
    with_step(step, [&](auto at) {
        for (int64_t i = 0; i < n; ++i) y[i] += factor * x[at(i)];
    });
}
template <class T>
void spread_row(T* __restrict x, const T* __restrict y, T factor, int64_t n, int64_t step) {
    with_step(step, [&](auto at) {
#pragma GCC ivdep
        for (int64_t i = 0; i < n; ++i) x[at(i)] += factor * y[i];
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

// ---- products ----
template <class T>
int32_t forward(const Convolution& c, const T* x, const T* w, const T* bias, T* y) {
    if (c.in_channels == 1 && c.groups > 1) return depthwise(c, x, w, bias, y);
    const Layout layout(c);
    const bool direct = layout.images == 1;
    const int64_t padded = layout.padded ? layout.images * layout.image(c) : 0;
    const int64_t buffer = direct ? 0 : c.out_channels * layout.columns();
    Room room;
    if (!room.fits(Room::padded<T>(padded) + Room::padded<T>(buffer) + Room::padded<int64_t>(layout.taps) +
                   Room::padded<int64_t>(layout.columns())))
        return TNR_OUT_OF_MEMORY;
    T *images_at = room.take<T>(padded), *columns = room.take<T>(buffer);
    int64_t *tap_at = room.take<int64_t>(layout.taps), *column_at = room.take<int64_t>(layout.columns());
    layout.fill_taps(c, tap_at);
    layout.fill_columns(c, column_at);
    const int64_t y_image = c.groups * c.out_channels * layout.places;
    return each_chunk(c, layout, x, images_at, [&](int64_t n, int64_t images, const T* source) -> int32_t {
        for (int64_t g = 0; g < c.groups; ++g) {
            T* target = y + n * y_image + g * c.out_channels * layout.places;
            T* out = direct ? target : columns;
            const int64_t count = images * layout.places;
            if (bias) fill_rows(out, bias + g * c.out_channels, c.out_channels, count);
            Gemm product{c.out_channels,
                         count,
                         layout.taps,
                         w + g * c.out_channels * layout.taps,
                         source + g * c.in_channels * layout.plane(),
                         out,
                         layout.taps,
                         1,
                         0,
                         0,
                         count,
                         1,
                         bias != nullptr,
                         1.0,
                         nullptr,
                         1,
                         tap_at,
                         column_at};
            const int32_t status = tables.gemm[kDtype<T>](product);
            if (status != TNR_OK) return status;
            if (!direct) scatter_rows(target, out, y_image, images, c.out_channels, layout.places);
        }
        return TNR_OK;
    });
}

template <class T>
int32_t to_weight(const Convolution& c, const T* grad, const T* x, T* w) {
    if (c.in_channels == 1 && c.groups > 1) return depthwise_to_weight(c, grad, x, w);
    const Layout layout(c);
    const bool direct = layout.images == 1;
    const int64_t padded = layout.padded ? layout.images * layout.image(c) : 0;
    const int64_t buffer = direct ? 0 : c.out_channels * layout.columns();
    Room room;
    if (!room.fits(Room::padded<T>(padded) + Room::padded<T>(buffer) + Room::padded<int64_t>(layout.taps) +
                   Room::padded<int64_t>(layout.columns())))
        return TNR_OUT_OF_MEMORY;
    T *images_at = room.take<T>(padded), *rows = room.take<T>(buffer);
    int64_t *tap_at = room.take<int64_t>(layout.taps), *column_at = room.take<int64_t>(layout.columns());
    layout.fill_taps(c, tap_at);
    layout.fill_columns(c, column_at);
    const int64_t y_image = c.groups * c.out_channels * layout.places;
    std::memset(w, 0, static_cast<size_t>(c.groups * c.out_channels * layout.taps) * sizeof(T));
    return each_chunk(c, layout, x, images_at, [&](int64_t n, int64_t images, const T* source) -> int32_t {
        for (int64_t g = 0; g < c.groups; ++g) {
            const T* slopes = grad + n * y_image + g * c.out_channels * layout.places;
            const int64_t count = images * layout.places;
            if (!direct) gather_rows(rows, slopes, y_image, images, c.out_channels, layout.places);
            Gemm product{c.out_channels,
                         layout.taps,
                         count,
                         direct ? slopes : rows,
                         source + g * c.in_channels * layout.plane(),
                         w + g * c.out_channels * layout.taps,
                         count,
                         1,
                         0,
                         0,
                         layout.taps,
                         1,
                         true,
                         1.0,
                         nullptr,
                         1,
                         column_at,
                         tap_at};
            const int32_t status = tables.gemm[kDtype<T>](product);
            if (status != TNR_OK) return status;
        }
        return TNR_OK;
    });
}

// w (G, K, C, kernel) as (G, C, K, kernel turned around).
template <class T>
void turn(T* to, const T* w, const Convolution& c) {
    const int64_t area = volume(c.kernel);
    for (int64_t g = 0; g < c.groups; ++g, w += c.out_channels * c.in_channels * area) {
        for (int64_t i = 0; i < c.in_channels; ++i) {
            for (int64_t k = 0; k < c.out_channels; ++k) {
                const T* kernel = w + (k * c.in_channels + i) * area;
                for (int64_t tap = area - 1; tap >= 0; --tap) *to++ = kernel[tap];
            }
        }
    }
}

// Adds columns (C * kernel, places) to their windows of padded planes.
template <class T>
void add_columns(const Convolution& c, const Layout& layout, const T* columns, T* planes) {
    for (int64_t channel = 0; channel < c.in_channels; ++channel, planes += layout.plane()) {
        each_row(c, layout, [&](int64_t tap, int64_t to, int64_t from) {
            spread_row(planes + to, columns + tap * layout.places + from, T(1), c.out[2], c.stride[2]);
        });
        columns += volume(c.kernel) * layout.places;
    }
}

template <class T>
int32_t by_columns(const Convolution& c, const T* grad, const T* w, T* x) {
    Layout layout(c);
    for (int d = 0; d < 3; ++d)
        layout.room[d] = (c.out[d] - 1) * c.stride[d] + c.dilation[d] * (c.kernel[d] - 1) + 1;
    const int64_t whole = c.in_channels * layout.plane();
    Room room;
    if (!room.fits(Room::padded<T>(whole) + Room::padded<T>(layout.taps * layout.places)))
        return TNR_OUT_OF_MEMORY;
    T *planes = room.take<T>(whole), *columns = room.take<T>(layout.taps * layout.places);
    for (int64_t n = 0; n < c.batch * c.groups; ++n) {
        Gemm product{layout.taps,
                     layout.places,
                     c.out_channels,
                     w + n % c.groups * c.out_channels * layout.taps,
                     grad,
                     columns,
                     1,
                     layout.taps,
                     layout.places,
                     1,
                     layout.places,
                     1,
                     false,
                     1.0,
                     nullptr,
                     1};
        const int32_t status = tables.gemm[kDtype<T>](product);
        if (status != TNR_OK) return status;
        std::memset(planes, 0, static_cast<size_t>(whole) * sizeof(T));
        add_columns(c, layout, columns, planes);
        cut_planes(x, c.size, planes, layout.room, c.padding, c.in_channels);
        grad += c.out_channels * layout.places;
        x += c.in_channels * volume(c.size);
    }
    return TNR_OK;
}

template <class T>
int32_t to_input(const Convolution& c, const T* grad, const T* w, T* x) {
    if (c.in_channels == 1 && c.groups > 1) return depthwise_to_input(c, grad, w, x);
    Convolution turned = c;
    bool fits = true;
    for (int d = 0; d < 3; ++d) {
        turned.size[d] = c.out[d];
        turned.out[d] = c.size[d];
        turned.padding[d] = c.dilation[d] * (c.kernel[d] - 1) - c.padding[d];
        fits &= c.stride[d] == 1 && turned.padding[d] >= 0;
    }
    turned.in_channels = c.out_channels;
    turned.out_channels = c.in_channels;
    if (!fits) return by_columns(c, grad, w, x);
    thread_local Scratch weights;
    const int64_t count = c.groups * c.out_channels * c.in_channels * volume(c.kernel);
    T* kernel = static_cast<T*>(weights.get(static_cast<size_t>(count) * sizeof(T)));
    if (!kernel) return TNR_OUT_OF_MEMORY;
    turn(kernel, w, c);
    return forward<T>(turned, grad, kernel, nullptr, x);
}

template <class T>
ConvolutionRows rows() {
    return {
        [](const Convolution& c, const void* x, const void* w, const void* bias, void* y) {
            return forward<T>(c, static_cast<const T*>(x), static_cast<const T*>(w),
                              static_cast<const T*>(bias), static_cast<T*>(y));
        },
        [](const Convolution& c, const void* grad, const void* w, void* x) {
            return to_input<T>(c, static_cast<const T*>(grad), static_cast<const T*>(w), static_cast<T*>(x));
        },
        [](const Convolution& c, const void* grad, const void* x, void* w) {
            return to_weight<T>(c, static_cast<const T*>(grad), static_cast<const T*>(x), static_cast<T*>(w));
        }};
}

}  // namespace

void fill_convolution(Tables& t) {
    t.convolution[TNR_F32] = rows<float>();
    t.convolution[TNR_F64] = rows<double>();
}

}  // namespace tenora::cpu::TENORA_ISA
