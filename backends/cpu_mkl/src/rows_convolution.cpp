// Convolution and its two adjoints, float and double.
//
//   - One matrix product per group over the windows of some images. No matrix of windows is made: the product
//     packs its panels from the padded images by tables of offsets (row and column add up to a place).
//   - Images are taken together until the product has enough columns; one that has enough writes straight to
//     y.
//   - The gradient for the input is a convolution with the turned kernel where the stride is 1; else a
//     product whose columns are added to their windows.
//   - One input channel per group: depthwise.h.
#include "depthwise.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

template <class T>
constexpr tnr_dtype kDtype = sizeof(T) == 4 ? TNR_F32 : TNR_F64;

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
