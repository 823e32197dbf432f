// Reductions of contiguous runs.
//
//   sum   f16, bf16, f32: 32 float lanes over at most 512 elements, then double, so long sums do not drift.
//         f64: 16 lanes over at most 512 elements, blocks joined pairwise by the driver. Integers wrap.
//   prod  the same accumulators, one product after the other.
//   norm  the root of a sum of squares: squares and sum in double, which those of float32 cannot leave.
//   amax, amin  NaN wins.     any, all  bool accumulators over "is not zero".
//
// The order of additions depends on the run alone, not on the instruction set.
#include <cmath>
#include <complex>
#include <limits>
#include <type_traits>

#include "row_loops.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

template <class T>
T load(const T* x) {
    return *x;
}
inline float load(const float16* x) { return to_float(*x); }
inline float load(const bfloat16* x) { return to_float(*x); }

template <class T, class Acc>
void store(T* out, Acc acc) {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>)
        *out = narrow<T>(static_cast<float>(acc));
    else
        *out = static_cast<T>(acc);
}

// The accumulator of each element type: wide for floats below double, the type itself (unsigned) otherwise.
template <class T>
struct SumAccumulator {
    using type = T;
};
template <>
struct SumAccumulator<float16> {
    using type = double;
};
template <>
struct SumAccumulator<bfloat16> {
    using type = double;
};
template <>
struct SumAccumulator<float> {
    using type = double;
};
template <>
struct SumAccumulator<std::complex<float>> {
    using type = std::complex<double>;
};
template <class T>
using SumType = typename SumAccumulator<T>::type;

inline constexpr int64_t kRun = 512;

// A sum of at most kRun elements in kLanes independent lanes.
template <int kLanes, class Lane, class T>
Lane sum_run(const T* x, int64_t n) {
    Lane lane[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lane[l] += load(x + i + l);
    }
    for (int l = 0; i < n; ++i, ++l) lane[l] += load(x + i);
    for (int width = kLanes / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
    }
    return lane[0];
}

template <class T>
auto sum_block(const T* x, int64_t n) {
    if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
        float wide[kRun];
        widen_row(wide, x, n);
        return sum_run<32, float>(static_cast<const float*>(wide), n);
    } else if constexpr (std::is_same_v<T, float>) {
        return sum_run<32, float>(x, n);
    } else {
        return sum_run<16, T>(x, n);
    }
}

// Partial sums joined like the carries of a binary counter: pairwise summation without recursion.
template <class Acc>
struct Cascade {
    Acc partial[48];
    uint64_t count = 0;
    void push(Acc value) {
        int level = 0;
        for (uint64_t c = count++; c & 1; c >>= 1) value += partial[level++];
        partial[level] = value;
    }
    Acc total() const {
        Acc sum = Acc(0);
        int level = 0;
        for (uint64_t c = count; c; c >>= 1, ++level) {
            if (c & 1) sum += partial[level];
        }
        return sum;
    }
};

struct Sum {
    template <class T>
    using Acc = SumType<T>;
    template <class T>
    static void fold(void* acc, const void* in, int64_t n, bool first) {
        using A = Acc<T>;
        const T* x = static_cast<const T*>(in);
        A sum;
        if (n <= kRun) {
            sum = static_cast<A>(sum_block(x, n));
        } else {
            Cascade<A> cascade;
            for (int64_t i = 0; i < n; i += kRun)
                cascade.push(static_cast<A>(sum_block(x + i, n - i < kRun ? n - i : kRun)));
            sum = cascade.total();
        }
        A& a = *static_cast<A*>(acc);
        a = first ? sum : a + sum;
    }
    template <class A>
    static A join(A a, A b) {
        return a + b;
    }
};

struct Prod {
    template <class T>
    using Acc = SumType<T>;
    template <class T>
    static void fold(void* acc, const void* in, int64_t n, bool first) {
        using A = Acc<T>;
        const T* x = static_cast<const T*>(in);
        A product = A(1);
        for (int64_t i = 0; i < n; ++i) product *= static_cast<A>(load(x + i));
        A& a = *static_cast<A*>(acc);
        a = first ? product : a * product;
    }
    template <class A>
    static A join(A a, A b) {
        return a * b;
    }
};

// The accumulator holds the sum of squares.
struct SquareSum {
    template <class T>
    using Acc = double;
    template <class T>
    static void fold(void* acc, const void* in, int64_t n, bool first) {
        constexpr int kLanes = 16;
        const T* x = static_cast<const T*>(in);
        Cascade<double> cascade;
        for (int64_t begin = 0; begin < n; begin += kRun) {
            const int64_t end = n - begin < kRun ? n : begin + kRun;
            double lane[kLanes] = {};
            int64_t i = begin;
            for (; i + kLanes <= end; i += kLanes) {
                for (int l = 0; l < kLanes; ++l) {
                    const double value = x[i + l];
                    lane[l] += value * value;
                }
            }
            for (int l = 0; i < end; ++i, ++l) {
                const double value = x[i];
                lane[l] += value * value;
            }
            for (int width = kLanes / 2; width > 0; width /= 2) {
                for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
            }
            cascade.push(lane[0]);
        }
        double& a = *static_cast<double*>(acc);
        a = first ? cascade.total() : a + cascade.total();
    }
    static double join(double a, double b) { return a + b; }
};

template <class T>
using Loaded = decltype(load(static_cast<const T*>(nullptr)));

// kSign 1: largest, -1: smallest. NaN wins: a comparison with it is false, so `join` has a second test.
template <int kSign>
struct Extreme {
    template <class T>
    using Acc = Loaded<T>;
    template <class A>
    static A join(A a, A b) {
        const bool take_b = kSign > 0 ? b > a : b < a;
        return take_b | (b != b) ? b : a;
    }
    template <class T>
    static void fold(void* acc, const void* in, int64_t n, bool first) {
        using A = Acc<T>;
        const T* x = static_cast<const T*>(in);
        if (n == 0) return;
        A& a = *static_cast<A*>(acc);
        const A start = first ? load(x) : a;
        a = start;
        if (start != start) return;
        // A NaN is never larger or smaller, so the lanes pass it over; the flags say that there was one.
        constexpr int kLanes = 32;
        A lane[kLanes];
        std::conditional_t<sizeof(A) == 8, int64_t, int32_t> odd[kLanes] = {};
        for (int l = 0; l < kLanes; ++l) lane[l] = start;
        int64_t i = 0;
        for (; i + kLanes <= n; i += kLanes) {
            for (int l = 0; l < kLanes; ++l) {
                const A value = load(x + i + l);
                lane[l] = (kSign > 0 ? value > lane[l] : value < lane[l]) ? value : lane[l];
                odd[l] |= value != value;
            }
        }
        for (; i < n; ++i) lane[0] = join<A>(lane[0], load(x + i));
        for (int l = 1; l < kLanes; ++l) lane[0] = join<A>(lane[0], lane[l]);
        for (int l = 0; l < kLanes; ++l) {
            if (odd[l]) lane[0] = std::numeric_limits<A>::quiet_NaN();
        }
        a = lane[0];
    }
};

template <bool kAll>
struct Truth {
    template <class T>
    using Acc = uint8_t;
    static uint8_t join(uint8_t a, uint8_t b) { return kAll ? a & b : a | b; }
    template <class T>
    static void fold(void* acc, const void* in, int64_t n, bool first) {
        const T* x = static_cast<const T*>(in);
        uint8_t result = kAll;
        for (int64_t i = 0; i < n; ++i) result = join(result, load(x + i) != Loaded<T>(0));
        uint8_t& a = *static_cast<uint8_t*>(acc);
        a = first ? result : join(a, result);
    }
};

template <class R, class T>
void merge_row(void* acc, const void* in, int64_t n, bool first) {
    using A = typename R::template Acc<T>;
    A* a = static_cast<A*>(acc);
    const T* x = static_cast<const T*>(in);
    const auto value = [&](int64_t i) {
        if constexpr (std::is_same_v<R, Truth<true>> || std::is_same_v<R, Truth<false>>) {
            return static_cast<A>(load(x + i) != Loaded<T>(0));
        } else if constexpr (std::is_same_v<R, SquareSum>) {
            return static_cast<A>(x[i]) * static_cast<A>(x[i]);
        } else {
            return static_cast<A>(load(x + i));
        }
    };
    if (first) {
        for (int64_t i = 0; i < n; ++i) a[i] = value(i);
    } else {
        for (int64_t i = 0; i < n; ++i) a[i] = R::join(a[i], value(i));
    }
}

template <class R, class T>
void join_row(void* acc, const void* other, int64_t n) {
    using A = typename R::template Acc<T>;
    A* a = static_cast<A*>(acc);
    const A* b = static_cast<const A*>(other);
    for (int64_t i = 0; i < n; ++i) a[i] = R::join(a[i], b[i]);
}

template <class R, class T>
void finish_row(void* out, const void* acc, int64_t n) {
    using A = typename R::template Acc<T>;
    const A* a = static_cast<const A*>(acc);
    if constexpr (std::is_same_v<R, Truth<true>> || std::is_same_v<R, Truth<false>>) {
        for (int64_t i = 0; i < n; ++i) static_cast<uint8_t*>(out)[i] = a[i];
    } else if constexpr (std::is_same_v<R, SquareSum>) {
        for (int64_t i = 0; i < n; ++i) static_cast<T*>(out)[i] = static_cast<T>(std::sqrt(a[i]));
    } else {
        for (int64_t i = 0; i < n; ++i) store(static_cast<T*>(out) + i, a[i]);
    }
}

template <class R, class T>
void fill_one(Tables& t, Reduction op, tnr_dtype d) {
    t.reduction[static_cast<int>(op)][d] = {&R::template fold<T>, merge_row<R, T>, join_row<R, T>,
                                            finish_row<R, T>, sizeof(typename R::template Acc<T>)};
}

template <class T>
void fill_sums(Tables& t, tnr_dtype d) {
    fill_one<Sum, T>(t, Reduction::sum, d);
    fill_one<Prod, T>(t, Reduction::prod, d);
}

template <class T>
void fill_orders(Tables& t, tnr_dtype d) {
    fill_one<Extreme<1>, T>(t, Reduction::amax, d);
    fill_one<Extreme<-1>, T>(t, Reduction::amin, d);
}

template <class T>
void fill_truths(Tables& t, tnr_dtype d) {
    fill_one<Truth<true>, T>(t, Reduction::all, d);
    fill_one<Truth<false>, T>(t, Reduction::any, d);
}

template <class T>
void fill_real(Tables& t, tnr_dtype d) {
    fill_sums<T>(t, d);
    fill_orders<T>(t, d);
    fill_truths<T>(t, d);
}

// Sums of signed integers are done in the unsigned type, which wraps.
template <class Signed>
[[maybe_unused]] void fill_integers(Tables& t, tnr_dtype signed_dtype, tnr_dtype unsigned_dtype) {
    using U = std::make_unsigned_t<Signed>;
    fill_real<U>(t, unsigned_dtype);
    fill_sums<U>(t, signed_dtype);
    fill_truths<U>(t, signed_dtype);
    fill_orders<Signed>(t, signed_dtype);
}

}  // namespace

void fill_reduce(Tables& t) {
    fill_real<float>(t, TNR_F32);
    fill_real<double>(t, TNR_F64);
    fill_one<SquareSum, float>(t, Reduction::norm, TNR_F32);
    fill_one<SquareSum, double>(t, Reduction::norm, TNR_F64);
    fill_real<float16>(t, TNR_F16);
    fill_real<bfloat16>(t, TNR_BF16);
#if !defined(__AVX512F__)
    fill_integers<int8_t>(t, TNR_I8, TNR_U8);
    fill_integers<int16_t>(t, TNR_I16, TNR_U16);
    fill_integers<int32_t>(t, TNR_I32, TNR_U32);
    fill_integers<int64_t>(t, TNR_I64, TNR_U64);
    fill_orders<uint8_t>(t, TNR_BOOL);
    fill_truths<uint8_t>(t, TNR_BOOL);
    fill_one<Truth<false>, uint8_t>(t, Reduction::sum, TNR_BOOL);
    fill_one<Truth<true>, uint8_t>(t, Reduction::prod, TNR_BOOL);
#endif
#if !defined(__AVX2__)
    fill_sums<std::complex<float>>(t, TNR_C64);
    fill_sums<std::complex<double>>(t, TNR_C128);
    fill_truths<std::complex<float>>(t, TNR_C64);
    fill_truths<std::complex<double>>(t, TNR_C128);
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
