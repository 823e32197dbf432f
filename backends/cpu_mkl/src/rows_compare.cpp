// Comparisons and logic: any dtype in, bool out. Comparison by value, so -0 equals 0 and NaN equals nothing.
#include <complex>

#include "row_loops.h"

namespace tenora::cpu::TENORA_ISA {

namespace {

struct Eq {
    template <class T>
    static uint8_t apply(T a, T b) {
        return a == b;
    }
};
struct Ne {
    template <class T>
    static uint8_t apply(T a, T b) {
        return a != b;
    }
};
struct Lt {
    template <class T>
    static uint8_t apply(T a, T b) {
        return a < b;
    }
};
struct Le {
    template <class T>
    static uint8_t apply(T a, T b) {
        return a <= b;
    }
};
struct Gt {
    template <class T>
    static uint8_t apply(T a, T b) {
        return a > b;
    }
};
struct Ge {
    template <class T>
    static uint8_t apply(T a, T b) {
        return a >= b;
    }
};
struct And {
    template <class T>
    static uint8_t apply(T a, T b) {
        return (a != T(0)) & (b != T(0));
    }
};
struct Or {
    template <class T>
    static uint8_t apply(T a, T b) {
        return (a != T(0)) | (b != T(0));
    }
};
struct Xor {
    template <class T>
    static uint8_t apply(T a, T b) {
        return (a != T(0)) ^ (b != T(0));
    }
};
struct Not {
    template <class T>
    static uint8_t apply(T a) {
        return a == T(0);
    }
};
struct IsNan {
    template <class T>
    static uint8_t apply(T a) {
        return a != a;
    }
};

template <class Op, class T>
constexpr BinaryRow kTest = binary_row<Op, T, uint8_t>;

template <class T>
void fill_equality(Tables& t, tnr_dtype d) {
    t.binary[static_cast<int>(Binary::eq)][d] = kTest<Eq, T>;
    t.binary[static_cast<int>(Binary::ne)][d] = kTest<Ne, T>;
    t.binary[static_cast<int>(Binary::logical_and)][d] = kTest<And, T>;
    t.binary[static_cast<int>(Binary::logical_or)][d] = kTest<Or, T>;
    t.binary[static_cast<int>(Binary::logical_xor)][d] = kTest<Xor, T>;
    t.unary[static_cast<int>(Unary::logical_not)][d] = unary_row<Not, T, uint8_t>;
    t.unary[static_cast<int>(Unary::isnan)][d] = unary_row<IsNan, T, uint8_t>;
}

template <class T>
void fill_order(Tables& t, tnr_dtype d) {
    t.binary[static_cast<int>(Binary::lt)][d] = kTest<Lt, T>;
    t.binary[static_cast<int>(Binary::le)][d] = kTest<Le, T>;
    t.binary[static_cast<int>(Binary::gt)][d] = kTest<Gt, T>;
    t.binary[static_cast<int>(Binary::ge)][d] = kTest<Ge, T>;
}

template <class T>
void fill_real(Tables& t, tnr_dtype d) {
    fill_equality<T>(t, d);
    fill_order<T>(t, d);
}

template <class Half, class Op>
constexpr BinaryRow kHalfTest = half_binary<Half, kTest<Op, float>, true>;

template <class Half>
void fill_half(Tables& t, tnr_dtype d) {
    t.binary[static_cast<int>(Binary::eq)][d] = kHalfTest<Half, Eq>;
    t.binary[static_cast<int>(Binary::ne)][d] = kHalfTest<Half, Ne>;
    t.binary[static_cast<int>(Binary::lt)][d] = kHalfTest<Half, Lt>;
    t.binary[static_cast<int>(Binary::le)][d] = kHalfTest<Half, Le>;
    t.binary[static_cast<int>(Binary::gt)][d] = kHalfTest<Half, Gt>;
    t.binary[static_cast<int>(Binary::ge)][d] = kHalfTest<Half, Ge>;
    t.binary[static_cast<int>(Binary::logical_and)][d] = kHalfTest<Half, And>;
    t.binary[static_cast<int>(Binary::logical_or)][d] = kHalfTest<Half, Or>;
    t.binary[static_cast<int>(Binary::logical_xor)][d] = kHalfTest<Half, Xor>;
    t.unary[static_cast<int>(Unary::logical_not)][d] = half_test<Half, unary_row<Not, float, uint8_t>>;
    t.unary[static_cast<int>(Unary::isnan)][d] = half_test<Half, unary_row<IsNan, float, uint8_t>>;
}

}  // namespace

void fill_compare(Tables& t) {
    fill_real<float>(t, TNR_F32);
    fill_real<double>(t, TNR_F64);
    fill_half<float16>(t, TNR_F16);
    fill_half<bfloat16>(t, TNR_BF16);
    // Integers gain nothing from AVX-512 that AVX2 does not give.
#if !defined(__AVX512F__)
    fill_real<uint8_t>(t, TNR_BOOL);
    fill_real<uint8_t>(t, TNR_U8);
    fill_real<uint16_t>(t, TNR_U16);
    fill_real<uint32_t>(t, TNR_U32);
    fill_real<uint64_t>(t, TNR_U64);
    fill_real<int8_t>(t, TNR_I8);
    fill_real<int16_t>(t, TNR_I16);
    fill_real<int32_t>(t, TNR_I32);
    fill_real<int64_t>(t, TNR_I64);
#endif
#if !defined(__AVX2__)
    fill_equality<std::complex<float>>(t, TNR_C64);
    fill_equality<std::complex<double>>(t, TNR_C128);
#endif
}

}  // namespace tenora::cpu::TENORA_ISA
