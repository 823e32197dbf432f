// Convolution and pooling as plain numbers, for tables.h: three spatial dims, missing ones in front of
// size 1.
#pragma once

#include <cstdint>

namespace tenora::cpu {

struct Window {
    int64_t size[3], kernel[3], stride[3], padding[3], dilation[3], out[3];
};

// x (N, G, C, size), w (G, K, C, kernel), y (N, G, K, out), all dense.
struct Convolution : Window {
    int64_t batch, groups, in_channels, out_channels;  // channels of one group
};

// x (planes, size), y (planes, out), all dense.
struct Pooling : Window {
    int64_t planes;
    bool include_padding;  // averages: padding counts in the divisor
    double divisor;        // averages: instead of the count, if not 0
    bool adaptive;         // windows from floor(i size / out) to ceil((i + 1) size / out)
};

// Of one dtype, float or double; halves come as float. Statuses are tnr_status.
struct ConvolutionRows {
    int32_t (*forward)(const Convolution& c, const void* x, const void* w, const void* bias, void* y);
    int32_t (*to_input)(const Convolution& c, const void* grad, const void* w, void* x);
    int32_t (*to_weight)(const Convolution& c, const void* grad, const void* x, void* w);
};
struct PoolingRows {
    int32_t (*largest)(const Pooling& p, const void* x, void* values, int64_t* positions);
    int32_t (*average)(const Pooling& p, const void* x, void* y);
    int32_t (*average_backward)(const Pooling& p, const void* grad, void* x);
};

}  // namespace tenora::cpu
