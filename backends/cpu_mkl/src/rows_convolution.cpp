// Convolution and its two adjoints, float and double.
//
//   - One matrix product per group over the windows of some images. No matrix of windows is made: the product
//     packs its panels from the padded images by tables of offsets (row and column add up to a place).
//   - Images are taken together until the product has enough columns; one that has enough writes straight to
//     y.
//   - The gradient for the input is a convolution with the turned kernel where the stride is 1; else a
//     product whose columns are added to their windows. So too where a weight is infinite or NaN: the zeros
//     around the turned convolution are no elements of y, and 0 * inf would be NaN.
//   - The zeros around x are elements, in every group: an infinite weight makes NaN of them.
//   - One input channel per group: depthwise.h.
#include <limits>

#include "depthwise.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

template <class T>
constexpr tnr_dtype kDtype = sizeof(T) == 4 ? TNR_F32 : TNR_F64;

// The memory of one call: padded images of a chunk, rows between the product and y, tables of offsets.
template <class T>
struct Workspace : Layout {
    bool direct;  // one image per chunk: the product meets y itself
    T *padded_images = nullptr, *rows = nullptr;
    int64_t *tap_at = nullptr, *column_at = nullptr;

    explicit Workspace(const Convolution& c) : Layout(c), direct(images == 1) {}

    bool reserve(const Convolution& c) {
        const int64_t in_images = padded ? images * image(c) : 0;
        const int64_t in_rows = direct ? 0 : c.out_channels * columns();
        Room memory;
        if (!memory.fits(Room::padded<T>(in_images) + Room::padded<T>(in_rows) + Room::padded<int64_t>(taps) +
                         Room::padded<int64_t>(columns())))
            return false;
        padded_images = memory.take<T>(in_images);
        rows = memory.take<T>(in_rows);
        tap_at = memory.take<int64_t>(taps);
        column_at = memory.take<int64_t>(columns());
        fill_taps(c, tap_at);
        fill_columns(c, column_at);
        return true;
    }
};

// The chunks of images of one call, one group after another: f(group, images, the group's padded images, its
// first place in y, which is (N, G * K, places)).
template <class T, class F>
int32_t each_chunk(const Convolution& c, const Workspace<T>& space, const T* x, F&& f) {
    const int64_t x_image = volume(c.size) * c.in_channels * c.groups, rows = c.out_channels * space.places;
    for (int64_t n = 0; n < c.batch; n += space.images) {
        const int64_t images = c.batch - n < space.images ? c.batch - n : space.images;
        const T* source = x + n * x_image;
        if (space.padded) {
            pad_planes(space.padded_images, space.room, source, c.size, c.padding,
                       images * c.in_channels * c.groups);
            source = space.padded_images;
        }
        for (int64_t g = 0; g < c.groups; ++g, source += c.in_channels * space.plane()) {
            const int32_t status = f(g, images, source, (n * c.groups + g) * rows);
            if (status != TNR_OK) return status;
        }
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

template <class T>
int32_t forward(const Convolution& c, const T* x, const T* w, const T* bias, T* y) {
    if (c.in_channels == 1 && c.groups > 1) return depthwise(c, x, w, bias, y);
    Workspace<T> space(c);
    if (!space.reserve(c)) return TNR_OUT_OF_MEMORY;
    const int64_t y_image = c.groups * c.out_channels * space.places;
    return each_chunk(c, space, x, [&](int64_t g, int64_t images, const T* source, int64_t at) -> int32_t {
        T* out = space.direct ? y + at : space.rows;
        const int64_t count = images * space.places;
        if (bias) fill_rows(out, bias + g * c.out_channels, c.out_channels, count);
        const int32_t status = tables.gemm[kDtype<T>]({.m = c.out_channels,
                                                       .n = count,
                                                       .k = space.taps,
                                                       .a = w + g * c.out_channels * space.taps,
                                                       .b = source,
                                                       .c = out,
                                                       .a_row = space.taps,
                                                       .a_col = 1,
                                                       .c_row = count,
                                                       .c_col = 1,
                                                       .accumulate = bias != nullptr,
                                                       .alpha = 1.0,
                                                       .b_row_at = space.tap_at,
                                                       .b_col_at = space.column_at});
        if (status == TNR_OK && !space.direct)
            scatter_rows(y + at, out, y_image, images, c.out_channels, space.places);
        return status;
    });
}

template <class T>
int32_t to_weight(const Convolution& c, const T* grad, const T* x, T* w) {
    if (c.in_channels == 1 && c.groups > 1) return depthwise_to_weight(c, grad, x, w);
    Workspace<T> space(c);
    if (!space.reserve(c)) return TNR_OUT_OF_MEMORY;
    const int64_t y_image = c.groups * c.out_channels * space.places;
    std::memset(w, 0, static_cast<size_t>(c.groups * c.out_channels * space.taps) * sizeof(T));
    return each_chunk(c, space, x, [&](int64_t g, int64_t images, const T* source, int64_t at) -> int32_t {
        const int64_t count = images * space.places;
        if (!space.direct) gather_rows(space.rows, grad + at, y_image, images, c.out_channels, space.places);
        return tables.gemm[kDtype<T>]({.m = c.out_channels,
                                       .n = space.taps,
                                       .k = count,
                                       .a = space.direct ? grad + at : space.rows,
                                       .b = source,
                                       .c = w + g * c.out_channels * space.taps,
                                       .a_row = count,
                                       .a_col = 1,
                                       .c_row = space.taps,
                                       .c_col = 1,
                                       .accumulate = true,
                                       .alpha = 1.0,
                                       .b_row_at = space.column_at,
                                       .b_col_at = space.tap_at});
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
        const int32_t status = tables.gemm[kDtype<T>]({.m = layout.taps,
                                                       .n = layout.places,
                                                       .k = c.out_channels,
                                                       .a = w + n % c.groups * c.out_channels * layout.taps,
                                                       .b = grad,
                                                       .c = columns,
                                                       .a_row = 1,
                                                       .a_col = layout.taps,
                                                       .b_row = layout.places,
                                                       .b_col = 1,
                                                       .c_row = layout.places,
                                                       .c_col = 1,
                                                       .alpha = 1.0});
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
bool all_finite(const T* x, int64_t n) {
    constexpr T kLargest = std::numeric_limits<T>::max();
    bool finite = true;
    for (int64_t i = 0; i < n; ++i) finite &= x[i] <= kLargest && x[i] >= -kLargest;
    return finite;
}

template <class T>
int32_t to_input(const Convolution& c, const T* grad, const T* w, T* x) {
    if (c.in_channels == 1 && c.groups > 1) return depthwise_to_input(c, grad, w, x);
    Convolution turned = c;
    bool fits = true, padded = false;
    for (int d = 0; d < 3; ++d) {
        turned.size[d] = c.out[d];
        turned.out[d] = c.size[d];
        turned.padding[d] = c.dilation[d] * (c.kernel[d] - 1) - c.padding[d];
        fits &= c.stride[d] == 1 && turned.padding[d] >= 0;
        padded |= turned.padding[d] > 0;
    }
    turned.in_channels = c.out_channels;
    turned.out_channels = c.in_channels;
    const int64_t count = c.groups * c.out_channels * c.in_channels * volume(c.kernel);
    if (!fits || (padded && !all_finite(w, count))) return by_columns(c, grad, w, x);
    thread_local Scratch weights;
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
