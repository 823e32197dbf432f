// Shape rules of ops whose windows slide over the last dims: convolution, pooling, unfold and fold.
//
//   - Tensors are (N, C, spatial...) or (C, spatial...). An int[] of one item stands for every spatial dim.
//   - Sums that users' numbers may drive beyond 64 bits are done in 128.
#include <algorithm>
#include <array>

#include "rules.h"

namespace tenora {
namespace {

using Wide = __int128;

// Written as Python writes a tuple.
struct Tuple {
    std::span<const int64_t> items;
};
void append(std::string& s, Tuple t) {
    s += '(';
    for (size_t i = 0; i < t.items.size(); ++i) {
        if (i) s += ", ";
        s += std::to_string(t.items[i]);
    }
    s += t.items.size() == 1 ? ",)" : ")";
}

template <int N>
using Sizes = std::array<int64_t, size_t(N)>;

// The rules of one op, under the name that its users know.
struct Rule {
    Infer& c;
    std::string name;

    template <class... T>
    [[noreturn]] void refuse(const T&... parts) const {
        fail(ErrorKind::Runtime, "shape", name, text(parts...));
    }
    int64_t narrow(Wide value) const {
        if (value > Wide(INT64_MAX) || value < Wide(INT64_MIN))
            refuse("a size overflows 64 bits: got more than 2^63 - 1, expected less. Use smaller sizes.");
        return int64_t(value);
    }
    template <int N>
    Sizes<N> spread(size_t attr, const char* what, int64_t least) const {
        std::span<const int64_t> given = span_attr(c, attr, what);
        if (given.size() != 1 && given.size() != size_t(N))
            refuse("wrong number of items in ", what, ": got ", Tuple{given}, ", expected 1 or ", N,
                   ". Give one number per spatial dim.");
        if (*std::min_element(given.begin(), given.end()) < least)
            refuse(what, " is too small: got ", Tuple{given}, ", expected at least ", least,
                   ". Choose larger numbers.");
        Sizes<N> out;
        for (size_t d = 0; d < size_t(N); ++d) out[d] = given[given.size() == 1 ? 0 : d];
        return out;
    }
    std::span<const int64_t> input(size_t i, int n, bool channels = true) const {
        return image(tensor_in(c, i, "input")->shape(), n, channels);
    }
    // `channels`: there must be some.
    std::span<const int64_t> image(std::span<const int64_t> x, int n, bool channels = true) const {
        if (int(x.size()) != n + 1 && int(x.size()) != n + 2)
            refuse("wrong rank of input: got ", Tuple{x}, ", expected ", n + 1, " (unbatched) or ", n + 2,
                   " (batched) dims. Reshape it to (N, C, spatial...).");
        for (int64_t size : x.last(size_t(n) + channels)) {
            if (size == 0)
                refuse("input has no elements: got ", Tuple{x}, ", expected only the batch",
                       channels ? "" : " or the channels", " to be empty. Check its sizes.");
        }
        return x;
    }
    // The result: the first `kept` sizes of x, then channels (if any), then `sizes`.
    void give(int i, std::span<const int64_t> kept, std::span<const int64_t> channels,
              std::span<const int64_t> sizes) const {
        int64_t* to = c.out[i].shape;
        for (auto part : {kept, channels, sizes}) to = std::copy(part.begin(), part.end(), to);
        c.out[i].rank = int(to - c.out[i].shape);
        check_shape(c, {c.out[i].shape, size_t(c.out[i].rank)});
    }
    // `terms`: additions for each element of the result.
    void estimate(double terms) const {
        for (int d = 0; d < c.out[0].rank; ++d) terms *= double(c.out[0].shape[d]);
        c.work = terms;
    }
};

template <size_t N>
double product(const std::array<int64_t, N>& sizes) {
    double total = 1;
    for (int64_t size : sizes) total *= double(size);
    return total;
}

// How many windows of a kernel a dim has, none where it is less than one; `both`: padding before and behind.
// `ceil_mode` keeps a last one that leaves the padded input, if it begins inside input or padding before it.
Wide window_count(Wide size, Wide both, Wide kernel, Wide stride, Wide dilation, bool ceil_mode = false) {
    Wide room = size + both - dilation * (kernel - 1) - 1;
    Wide steps = ceil_mode ? room + stride - 1 : room;
    Wide count = (steps < 0 ? -((-steps + stride - 1) / stride) : steps / stride) + 1;
    return ceil_mode && (count - 1) * stride >= size + both / 2 ? count - 1 : count;
}

// ---- convolution ----
// `channels`: the dim of the weight that faces the input, times groups where it counts one group.
void check_weight(const Rule& r, std::span<const int64_t> x, std::span<const int64_t> w, bool transposed,
                  int64_t groups, int n) {
    if (groups < 1)
        r.refuse("wrong number of groups: got ", groups,
                 ", expected at least 1. Pass groups=1 for a full convolution.");
    if (int(w.size()) != n + 2)
        r.refuse("wrong rank of weight: got ", Tuple{w}, ", expected ", n + 2,
                 " dims. Give (out, in / groups, kernel...).");
    if (*std::min_element(w.begin() + 2, w.end()) < 1)
        r.refuse("the kernel is empty: got ", Tuple{w}, ", expected sizes of at least 1. Give a kernel.");
    if (w[0] < 1 || (transposed && w[1] < 1))
        r.refuse("the weight is empty: got ", Tuple{w}, ", expected channels. Give it at least one.");
    if (w[0] % groups)
        r.refuse("groups do not divide the weight: got ", Tuple{w}, " for ", groups,
                 " groups, expected a multiple in dim 0. Change the number of groups.");
    int64_t channels = transposed ? w[0] : r.narrow(Wide(w[1]) * groups);
    if (x[x.size() - size_t(n) - 1] != channels)
        r.refuse("channels do not fit: got ", Tuple{x}, " with weight ", Tuple{w}, " and ", groups,
                 " groups, expected ", channels, " channels of input. Check the layer's channels.");
}

void check_bias(const Rule& r, int64_t channels) {
    if (r.c.in.size() < 3 || !r.c.in[2].tensor) return;
    std::span<const int64_t> bias = r.c.in[2].tensor->shape();
    if (bias.size() != 1 || bias[0] != channels)
        r.refuse("bias does not fit: got ", Tuple{bias}, ", expected ", Tuple{{&channels, 1}},
                 ". Give one number per output channel.");
}

template <int N>
std::array<Wide, size_t(N)> named_padding(const Rule& r, const Sizes<N>& kernel, const Sizes<N>& stride,
                                          const Sizes<N>& dilation) {
    std::string_view padding = string_attr(r.c);
    if (padding != "same" && padding != "valid")
        r.refuse("unknown padding: got '", padding,
                 "', expected 'same' or 'valid'. Pass one of these, or numbers.");
    std::array<Wide, size_t(N)> both = {};
    if (padding == "valid") return both;
    if (*std::max_element(stride.begin(), stride.end()) > 1)
        r.refuse("padding='same' with a stride: got ", Tuple{stride},
                 ", expected stride 1. Pass the padding as numbers.");
    for (size_t d = 0; d < size_t(N); ++d) both[d] = Wide(dilation[d]) * (kernel[d] - 1);
    return both;
}

// How many windows of the weight's kernel fit; `both`: padding before and behind.
template <int N>
Sizes<N> window_counts(const Rule& r, std::span<const int64_t> x, std::span<const int64_t> w,
                       const Sizes<N>& stride, const std::array<Wide, size_t(N)>& both,
                       const Sizes<N>& dilation) {
    std::span<const int64_t> sizes = x.last(size_t(N)), kernel = w.last(size_t(N));
    Sizes<N> out;
    for (size_t d = 0; d < size_t(N); ++d) {
        Wide count = window_count(sizes[d], both[d], kernel[d], stride[d], dilation[d]);
        if (count < 1)
            r.refuse(
                "the kernel is larger than the padded input: got kernel ", Tuple{kernel}, " on ",
                Tuple{sizes},
                ", expected at most the padded size in every dim. Use a smaller kernel or more padding.");
        out[d] = r.narrow(count);
    }
    return out;
}

template <int N>
std::array<Wide, size_t(N)> both_sides(const Sizes<N>& padding) {
    std::array<Wide, size_t(N)> both;
    for (size_t d = 0; d < size_t(N); ++d) both[d] = Wide(padding[d]) * 2;
    return both;
}

// Products for each element of a convolution's result, in nanoseconds of one core.
double convolution_work(std::span<const int64_t> w) {
    double terms = 0.1;
    for (int64_t size : w.subspan(1)) terms *= double(size);
    return terms;
}

template <int N, bool kNamed>
void conv(Infer& c) {
    Rule r{c, text("conv", N, "d")};
    Sizes<N> stride = r.spread<N>(0, "stride", 1), dilation = r.spread<N>(2, "dilation", 1), kernel;
    int64_t groups = int_attr(c, 3, "groups");
    std::span<const int64_t> x = r.input(0, N, false), w = tensor_in(c, 1, "weight")->shape();
    check_weight(r, x, w, false, groups, N);
    check_bias(r, w[0]);
    std::copy(w.begin() + 2, w.end(), kernel.begin());
    std::array<Wide, size_t(N)> both;
    if constexpr (kNamed)
        both = named_padding<N>(r, kernel, stride, dilation);
    else
        both = both_sides<N>(r.spread<N>(1, "padding", 0));
    r.give(0, x.first(x.size() - size_t(N) - 1), w.first(1),
           window_counts<N>(r, x, w, stride, both, dilation));
    r.estimate(convolution_work(w));
}

template <int N>
void conv_transpose(Infer& c) {
    Rule r{c, text("conv_transpose", N, "d")};
    Sizes<N> stride = r.spread<N>(0, "stride", 1), dilation = r.spread<N>(4, "dilation", 1),
             padding = r.spread<N>(1, "padding", 0), extra = r.spread<N>(2, "output_padding", 0), out;
    int64_t groups = int_attr(c, 3, "groups");
    std::span<const int64_t> x = r.input(0, N), w = tensor_in(c, 1, "weight")->shape();
    check_weight(r, x, w, true, groups, N);
    int64_t channels = r.narrow(Wide(w[1]) * groups);
    check_bias(r, channels);
    for (size_t d = 0; d < size_t(N); ++d) {
        if (extra[d] >= std::max(stride[d], dilation[d]))
            r.refuse("output_padding is too large: got ", Tuple{extra}, ", expected less than stride ",
                     Tuple{stride}, " or dilation ", Tuple{dilation}, ". Use a smaller one.");
    }
    std::span<const int64_t> sizes = x.last(size_t(N));
    for (size_t d = 0; d < size_t(N); ++d) {
        out[d] = r.narrow(Wide(sizes[d] - 1) * stride[d] - Wide(padding[d]) * 2 +
                          Wide(dilation[d]) * (w[d + 2] - 1) + extra[d] + 1);
    }
    if (*std::min_element(out.begin(), out.end()) < 1)
        r.refuse("the result would be empty: got ", Tuple{out},
                 ", expected sizes of at least 1. Use less padding.");
    r.give(0, x.first(x.size() - size_t(N) - 1), {&channels, 1}, out);
}

// The adjoints are told the size of their result. A gradient may have fewer windows than fit: a transposed
// convolution with an output_padding beyond its stride leaves some without an element.
template <int N, bool kWeight>
void conv_adjoint(Infer& c) {
    Rule r{c, text("conv", N, "d")};
    std::span<const int64_t> size = span_attr(c, 0, "size"), other = tensor_in(c, 1, "operand")->shape();
    check_shape(c, size);
    Sizes<N> stride = r.spread<N>(1, "stride", 1), padding = r.spread<N>(2, "padding", 0),
             dilation = r.spread<N>(3, "dilation", 1);
    std::span<const int64_t> x = r.image(kWeight ? other : size, N, false), w = kWeight ? size : other;
    check_weight(r, x, w, false, int_attr(c, 4, "groups"), N);
    Sizes<N> out = window_counts<N>(r, x, w, stride, both_sides<N>(padding), dilation);
    std::span<const int64_t> g = r.input(0, N);
    size_t lead = x.size() - size_t(N) - 1;
    bool fits = g.size() == x.size() && std::equal(g.begin(), g.begin() + std::ptrdiff_t(lead), x.begin());
    fits = fits && g[lead] == w[0];
    for (size_t d = 0; fits && d < size_t(N); ++d) fits = g[lead + 1 + d] <= out[d];
    if (!fits)
        r.refuse("gradient does not fit: got ", Tuple{g}, " for input ", Tuple{x}, " and weight ", Tuple{w},
                 ", expected the batch, ", w[0], " channels and at most ", Tuple{out},
                 " windows. Pass the gradient of this op's result.");
    set_shape(c.out[0], size);
    c.work = double(tensor_in(c, 0, "grad")->numel) * convolution_work(w);
}

// ---- pooling ----
template <int N>
void pool_sizes(const Rule& r, size_t first, std::span<const int64_t> x, bool moves, bool dilates,
                bool ceil_mode, Sizes<N>& out) {
    Sizes<N> kernel = r.spread<N>(first, "kernel_size", 1);
    Sizes<N> stride = has_attr(r.c, first + 1) ? r.spread<N>(first + 1, "stride", 1) : kernel;
    Sizes<N> padding = {}, dilation;
    dilation.fill(1);
    if (moves) padding = r.spread<N>(first + 2, "padding", 0);
    if (dilates) dilation = r.spread<N>(first + 3, "dilation", 1);
    for (size_t d = 0; d < size_t(N); ++d) {
        if (Wide(padding[d]) * 2 > kernel[d])
            r.refuse("padding is too large: got ", Tuple{padding}, ", expected at most half of kernel_size ",
                     Tuple{kernel}, ". Pad less.");
    }
    std::span<const int64_t> sizes = x.last(size_t(N));
    for (size_t d = 0; d < size_t(N); ++d) {
        out[d] = r.narrow(
            window_count(sizes[d], Wide(padding[d]) * 2, kernel[d], stride[d], dilation[d], ceil_mode));
    }
    if (*std::min_element(out.begin(), out.end()) < 1)
        r.refuse("the result would be empty: got kernel_size ", Tuple{kernel}, " on ", Tuple{sizes},
                 ", expected windows that fit. Use a smaller kernel or more padding.");
    r.c.work =
        product(kernel) * product(out) * double(x[0]) * (int(x.size()) > N + 1 ? double(x[1]) : 1.0) / 4;
}

void expect_floating(const Rule& r, Tensor* x) {
    if (!is_floating(x->dtype))
        fail(ErrorKind::NotImplemented, "dtype", r.name,
             text("wrong dtype: got tenora.", x->dtype,
                  ", expected a floating dtype. Cast with .to(tenora.float32)."));
}

template <int N>
void max_pool(Infer& c) {
    Rule r{c, text("max_pool", N, "d")};
    expect_floating(r, tensor_in(c, 0, "input"));
    std::span<const int64_t> x = r.input(0, N);
    Sizes<N> out;
    pool_sizes<N>(r, 0, x, true, true, bool_attr(c, 4, false), out);
    for (int i = 0; i < 2; ++i) r.give(i, x.first(x.size() - size_t(N)), {}, out);
}

template <int N, bool kBack>
void avg_pool(Infer& c) {
    Rule r{c, text("avg_pool", N, "d")};
    std::span<const int64_t> x = r.input(kBack ? 1 : 0, N);
    Sizes<N> out;
    pool_sizes<N>(r, 0, x, true, false, bool_attr(c, 3, false), out);
    if (N > 1 && has_attr(c, 5) && int_attr(c, 5, "divisor_override") == 0)
        r.refuse("divisor_override: got 0, expected another number. Leave it out.");
    r.give(0, x.first(x.size() - size_t(N)), {}, out);
    if (!kBack) return;
    std::span<const int64_t> g = tensor_in(c, 0, "grad")->shape();
    std::span<const int64_t> wanted(c.out[0].shape, size_t(c.out[0].rank));
    if (!std::equal(g.begin(), g.end(), wanted.begin(), wanted.end()))
        r.refuse("gradient does not fit: got ", Tuple{g}, " for input ", Tuple{x}, ", expected ",
                 Tuple{wanted}, ". Pass the gradient of this op's result.");
    set_shape(c.out[0], x);
}

template <int N>
void lp_pool(Infer& c) {
    Rule r{c, text("lp_pool", N, "d")};
    std::span<const int64_t> x = r.input(0, N);
    Sizes<N> out;
    pool_sizes<N>(r, 1, x, false, false, bool_attr(c, 3, false), out);
    r.give(0, x.first(x.size() - size_t(N)), {}, out);
}

template <int N, bool kLargest>
void adaptive_pool(Infer& c) {
    Rule r{c, text(kLargest ? "adaptive_max_pool" : "adaptive_avg_pool", N, "d")};
    bool batched = tensor_in(c, 0, "input")->shape().size() == size_t(N) + 2;
    std::span<const int64_t> x = r.input(0, N, kLargest && batched);
    expect_floating(r, tensor_in(c, 0, "input"));
    Sizes<N> out = r.spread<N>(0, "output_size", 0);
    for (int i = 0; i < (kLargest ? 2 : 1); ++i) r.give(i, x.first(x.size() - size_t(N)), {}, out);
    c.work = double(first_tensor(c)->numel) / 2;
}

template <int N>
void adaptive_avg_pool_backward(Infer& c) {
    Rule r{c, text("adaptive_avg_pool", N, "d")};
    std::span<const int64_t> g = tensor_in(c, 0, "grad")->shape(),
                             x = r.input(1, N, false);  // g may be empty
    size_t kept = x.size() - size_t(N);
    if (g.size() != x.size() || !std::equal(x.begin(), x.begin() + std::ptrdiff_t(kept), g.begin()))
        r.refuse("gradient does not fit: got ", Tuple{g}, " for input ", Tuple{x},
                 ", expected the same batch and channels. Pass the gradient of this op's result.");
    set_shape(c.out[0], x);
}

// ---- windows as columns ----
// Attributes from `first` on: kernel_size, dilation, padding, stride.
Sizes<2> positions(const Rule& r, size_t first, std::span<const int64_t> size, Sizes<2>& kernel) {
    kernel = r.spread<2>(first, "kernel_size", 1);
    Sizes<2> dilation = r.spread<2>(first + 1, "dilation", 1), padding = r.spread<2>(first + 2, "padding", 0),
             stride = r.spread<2>(first + 3, "stride", 1), out;
    for (size_t d = 0; d < 2; ++d) {
        Wide count = window_count(size[d], Wide(padding[d]) * 2, kernel[d], stride[d], dilation[d]);
        out[d] = count < 1 ? 0 : r.narrow(count);
    }
    return out;
}

void expect_window(const Rule& r, const Sizes<2>& out, const Sizes<2>& kernel,
                   std::span<const int64_t> size) {
    if (std::min(out[0], out[1]) < 1)
        r.refuse("no window fits: got kernel_size ", Tuple{kernel}, " on ", Tuple{size},
                 ", expected at most the padded size. Use a smaller kernel or more padding.");
}

void unfold_windows(Infer& c) {
    Rule r{c, "unfold"};
    std::span<const int64_t> x = tensor_in(c, 0, "input")->shape();
    bool fits = x.size() == 3 || x.size() == 4;
    for (size_t i = 1; fits && i <= 3; ++i) fits = x[x.size() - i] != 0;
    if (!fits)
        r.refuse("wrong input: got shape ", Tuple{x},
                 ", expected (N, C, H, W) or (C, H, W) with elements. Reshape it.");
    Sizes<2> kernel, out = positions(r, 0, x.last(2), kernel);
    expect_window(r, out, kernel, x.last(2));
    int64_t rows = r.narrow(Wide(x[x.size() - 3]) * kernel[0] * kernel[1]),
            columns = r.narrow(Wide(out[0]) * out[1]);
    r.give(0, x.first(x.size() - 3), {&rows, 1}, {&columns, 1});
}

void fold_windows(Infer& c) {
    Rule r{c, "fold"};
    std::span<const int64_t> x = tensor_in(c, 0, "input")->shape();
    Sizes<2> size = r.spread<2>(0, "output_size", 1), kernel, out = positions(r, 1, size, kernel);
    Wide each = Wide(kernel[0]) * kernel[1];
    bool fits = x.size() == 2 || x.size() == 3;
    if (!fits || x[x.size() - 1] == 0 || x[x.size() - 2] == 0 || x[x.size() - 2] % each)
        r.refuse("wrong input: got shape ", Tuple{x}, ", expected (N, C * ", r.narrow(each),
                 ", windows). Check kernel_size.");
    expect_window(r, out, kernel, size);
    if (x.back() != Wide(out[0]) * out[1])
        r.refuse("wrong number of windows: got ", x.back(), ", expected ", out[0], " * ", out[1],
                 " for output_size ", Tuple{size}, ". Check the sizes.");
    int64_t channels = int64_t(x[x.size() - 2] / each);
    r.give(0, x.first(x.size() - 2), {&channels, 1}, size);
}

constexpr RuleName kRules[] = {
    {"conv1d", conv<1, false>},
    {"conv2d", conv<2, false>},
    {"conv3d", conv<3, false>},
    {"conv1d_padding", conv<1, true>},
    {"conv2d_padding", conv<2, true>},
    {"conv3d_padding", conv<3, true>},
    {"conv_transpose1d", conv_transpose<1>},
    {"conv_transpose2d", conv_transpose<2>},
    {"conv_transpose3d", conv_transpose<3>},
    {"conv1d_input", conv_adjoint<1, false>},
    {"conv2d_input", conv_adjoint<2, false>},
    {"conv3d_input", conv_adjoint<3, false>},
    {"conv1d_weight", conv_adjoint<1, true>},
    {"conv2d_weight", conv_adjoint<2, true>},
    {"conv3d_weight", conv_adjoint<3, true>},
    {"max_pool1d", max_pool<1>},
    {"max_pool2d", max_pool<2>},
    {"max_pool3d", max_pool<3>},
    {"avg_pool1d", avg_pool<1, false>},
    {"avg_pool2d", avg_pool<2, false>},
    {"avg_pool3d", avg_pool<3, false>},
    {"avg_pool1d_backward", avg_pool<1, true>},
    {"avg_pool2d_backward", avg_pool<2, true>},
    {"avg_pool3d_backward", avg_pool<3, true>},
    {"lp_pool1d", lp_pool<1>},
    {"lp_pool2d", lp_pool<2>},
    {"lp_pool3d", lp_pool<3>},
    {"adaptive_avg_pool1d", adaptive_pool<1, false>},
    {"adaptive_avg_pool2d", adaptive_pool<2, false>},
    {"adaptive_avg_pool3d", adaptive_pool<3, false>},
    {"adaptive_avg_pool1d_backward", adaptive_avg_pool_backward<1>},
    {"adaptive_avg_pool2d_backward", adaptive_avg_pool_backward<2>},
    {"adaptive_avg_pool3d_backward", adaptive_avg_pool_backward<3>},
    {"adaptive_max_pool1d", adaptive_pool<1, true>},
    {"adaptive_max_pool2d", adaptive_pool<2, true>},
    {"adaptive_max_pool3d", adaptive_pool<3, true>},
    {"unfold_windows", unfold_windows},
    {"fold_windows", fold_windows},
};

}  // namespace

std::span<const RuleName> window_shape_rules() { return kRules; }

}  // namespace tenora
