// Reductions, running sums, sorting and matrix products.
//   - The output of a reduction has size 1 in the reduced dimensions.
//   - Sums and products of float32 and half types are held in double and rounded once.
#include <numeric>

#include "kernels.h"

namespace newbackend {
namespace {

// A fold takes elements one by one; `result` is what is stored. This one combines them in an S.
template <class T, class S, class F, int start>
struct Fold {
    S value = S(start);
    void take(Wide<T> x) { value = F{}(value, convert<S>(x)); }
    S result() const { return value; }
};

// The first of the extreme elements, or its place; NaN is more extreme than anything.
template <class T, bool largest, bool position>
struct Extreme {
    Wide<T> value{};
    int64_t place = 0, seen = 0;
    void take(Wide<T> x) {
        const bool better = largest ? x > value : x < value;
        if (seen++ && (value != value || !(better || x != x))) return;
        value = x;
        place = seen - 1;
    }
    auto result() const { return std::get<position>(std::tuple(value, place)); }
};

template <class T, class Fold>
void reduce(const DLTensor& input, const DLTensor& target) {
    using R = decltype(Fold{}.result());
    using Out = std::conditional_t<std::same_as<R, SumOf<T>> || std::same_as<R, Wide<T>>, T, R>;
    std::array<int64_t, kMaxRank> inner{};  // sizes of the reduced dimensions, 1 elsewhere
    for (int d = 0; d < input.ndim; ++d) inner[size_t(d)] = target.shape[d] == 1 ? input.shape[d] : 1;
    walk<2>(shape_of(target), {input.strides, target.strides}, [&](const auto& at) {
        Fold fold;
        const T* in = data_of<const T>(input) + at[0];
        walk<1>({inner.data(), size_t(input.ndim)}, {input.strides},
                [&](const auto& step) { fold.take(widen(in[step[0]])); });
        data_of<Out>(target)[at[1]] = convert<Out>(fold.result());
    });
}

template <class F, int start, bool truth>
int32_t combine(const tnr_call* call) {  // sum, prod; any, all of truth values
    return visit(call->in[0]->dtype, [&]<class T>(T) {
        reduce<T, Fold<T, std::conditional_t<truth, bool, SumOf<T>>, F, start>>(*call->in[0], *call->out[0]);
    });
}

template <bool largest, bool position>
int32_t extreme(const tnr_call* call) {  // amax, amin, argmax, argmin
    return visit(call->in[0]->dtype, [&]<class T>(T)
                     requires(!Complex<T>)
                 { reduce<T, Extreme<T, largest, position>>(*call->in[0], *call->out[0]); });
}

// The dimension that attribute 0 names; a number is a line of one.
struct Lines {
    explicit Lines(const tnr_call* call)
        : shape(shape_of(*call->in[0])), dim(shape.empty() ? 0 : whole_attr(call, 0)) {}
    int64_t length() const { return shape.empty() ? 1 : shape[size_t(dim)]; }
    int64_t step(const DLTensor& t) const { return shape.empty() ? 0 : t.strides[dim]; }
    template <size_t n, class F>
    void each(const std::array<const int64_t*, n>& strides, F&& f) const {
        std::vector<int64_t> first(shape.begin(), shape.end());
        if (!first.empty() && first[size_t(dim)]) first[size_t(dim)] = 1;
        walk<n>(first, strides, f);
    }
    std::span<const int64_t> shape;
    int64_t dim;
};

int32_t cumsum(const tnr_call* call) {
    const DLTensor &input = *call->in[0], &target = *call->out[0];
    const Lines lines(call);
    return visit(input.dtype, [&]<class T>(T) {
        lines.each<2>({input.strides, target.strides}, [&](const auto& at) {
            Fold<T, SumOf<T>, Plus, 0> total;
            for (int64_t i = 0; i < lines.length(); ++i) {
                total.take(widen(data_of<const T>(input)[at[0] + i * lines.step(input)]));
                data_of<T>(target)[at[1] + i * lines.step(target)] = convert<T>(total.result());
            }
        });
    });
}

// Stable; NaN counts as the largest.
int32_t sort(const tnr_call* call) {
    const DLTensor &input = *call->in[0], &values = *call->out[0], &places = *call->out[1];
    const bool descending = whole_attr(call, 1) != 0;
    const Lines lines(call);
    return visit(
        input.dtype, [&]<class T>(T)
            requires(!Complex<T>)
        {
            std::vector<int64_t> order(static_cast<size_t>(lines.length()));
            lines.each<3>({input.strides, values.strides, places.strides}, [&](const auto& at) {
                auto in = [&](int64_t i) { return data_of<const T>(input)[at[0] + i * lines.step(input)]; };
                std::iota(order.begin(), order.end(), 0);
                std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
                    const Wide<T> a = widen(in(descending ? j : i)), b = widen(in(descending ? i : j));
                    return a == a && (a < b || b != b);
                });
                for (int64_t i = 0; i < lines.length(); ++i) {
                    data_of<T>(values)[at[1] + i * lines.step(values)] = in(order[size_t(i)]);
                    data_of<int64_t>(places)[at[2] + i * lines.step(places)] = order[size_t(i)];
                }
            });
        });
}

// (B..., M, K) x (B..., K, N) -> (B..., M, N): three plain loops. Of bools it is "or" of "and".
int32_t matmul(const tnr_call* call) {
    const DLTensor &a = *call->in[0], &b = *call->in[1], &target = *call->out[0];
    const int rank = target.ndim, row = rank - 2, column = rank - 1;
    const int64_t depth = a.shape[column], step_a = a.strides[column], step_b = b.strides[row];
    // Rows of a and columns of b are walked with the output's indices.
    std::array<int64_t, kMaxRank> of_a{}, of_b{};
    std::copy_n(a.strides, rank, of_a.begin());
    std::copy_n(b.strides, rank, of_b.begin());
    of_a[size_t(column)] = of_b[size_t(row)] = 0;
    return visit(target.dtype, [&]<class T>(T) {
        const T *x = data_of<const T>(a), *y = data_of<const T>(b);
        T* out = data_of<T>(target);
        walk<3>(shape_of(target), {of_a.data(), of_b.data(), target.strides}, [&](const auto& at) {
            SumOf<T> sum{};
            for (int64_t k = 0; k < depth; ++k)
                sum = Plus{}(sum, Times{}(SumOf<T>(widen(x[at[0] + k * step_a])),
                                          SumOf<T>(widen(y[at[1] + k * step_b]))));
            out[at[2]] = convert<T>(sum);
        });
    });
}

constexpr uint32_t kOrdered = TNR_MASK_ALL & ~TNR_MASK_COMPLEX;

}  // namespace

void add_reductions(Kernels& k) {
    k.insert(k.end(), {{"sum", combine<Plus, 0, false>, TNR_MASK_ALL, kAnyLayout},
                       {"prod", combine<Times, 1, false>, TNR_MASK_ALL, kAnyLayout},
                       {"any", combine<Plus, 0, true>, TNR_MASK_ALL, kAnyLayout},
                       {"all", combine<Times, 1, true>, TNR_MASK_ALL, kAnyLayout},
                       {"amax", extreme<true, false>, kOrdered, kAnyLayout},
                       {"amin", extreme<false, false>, kOrdered, kAnyLayout},
                       {"argmax", extreme<true, true>, kOrdered, kAnyLayout},
                       {"argmin", extreme<false, true>, kOrdered, kAnyLayout},
                       {"cumsum", cumsum, TNR_MASK_ALL, kAnyLayout},
                       {"sort", sort, kOrdered, kAnyLayout},
                       {"matmul", matmul, TNR_MASK_ALL, kAnyLayout}});
}

}  // namespace newbackend
