// The engine's own test harness: named tests, three kinds of
// check, a summary, a non-zero exit when anything failed.
//   test_x.cpp:  TEST(name) { CHECK(condition); CHECK_EQ(got, expected); CHECK_THROWS(ErrorKind::Index,
//   "text", expression); }
//                int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
// Arguments choose tests by a part of their name. A failed check ends its test; the others still run. A
// program whose choice of tests is empty fails.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenora/error.h"

namespace tenora_test {

struct Failure : std::exception {
    explicit Failure(std::string text) : text(std::move(text)) {}
    const char* what() const noexcept override { return text.c_str(); }
    std::string text;
};

struct Case {
    const char* name;
    void (*body)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Register {
    Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

template <class T>
std::string show(const T& value) {
    if constexpr (requires(std::ostringstream& out) { out << value; }) {
        std::ostringstream out;
        out << value;
        return out.str();
    } else {
        return "<value>";
    }
}

[[noreturn]] inline void fail_check(const char* file, int line, const std::string& text) {
    throw Failure(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

template <class A, class B>
void check_equal(const A& got, const B& expected, const char* text, const char* file, int line) {
    bool equal;
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B> && !std::is_same_v<A, bool> &&
                  !std::is_same_v<B, bool>) {
        equal = std::cmp_equal(got, expected);
    } else {
        equal = got == expected;
    }
    if (equal) return;
    fail_check(file, line, std::string(text) + ": got " + show(got) + ", expected " + show(expected));
}

template <class Body>
void check_throws(tenora::ErrorKind kind, const char* part, Body body, const char* text, const char* file,
                  int line) {
    try {
        body();
    } catch (const tenora::Error& error) {
        if (error.kind != kind)
            fail_check(file, line, std::string(text) + ": wrong kind of error: " + error.message);
        if (error.message.find(part) == std::string::npos) {
            fail_check(file, line, std::string(text) + ": '" + part + "' is not in: " + error.message);
        }
        return;
    }
    fail_check(file, line, std::string(text) + ": nothing was thrown");
}

// True when the test passed.
inline bool run_one(const Case& test) {
    try {
        test.body();
        return true;
    } catch (const Failure& failure) {
        std::printf("FAILED %s\n  %s\n", test.name, failure.what());
    } catch (const tenora::Error& error) {
        std::printf("FAILED %s\n  unexpected error: %s\n", test.name, error.what());
    } catch (const std::exception& error) {
        std::printf("FAILED %s\n  unexpected exception: %s\n", test.name, error.what());
    }
    return false;
}

inline bool chosen(const Case& test, int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        if (std::strstr(test.name, argv[i])) return true;
    }
    return argc < 2;
}

inline int run(int argc, char** argv) {
    int passed = 0, failed = 0;
    for (const Case& test : cases()) {
        if (chosen(test, argc, argv)) ++(run_one(test) ? passed : failed);
        std::fflush(stdout);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed ? 1 : 0;
}

}  // namespace tenora_test

#define TEST(name)                                                          \
    static void test_##name();                                              \
    static const tenora_test::Register register_##name(#name, test_##name); \
    static void test_##name()

#define CHECK(condition)                                                           \
    do {                                                                           \
        if (!(condition)) tenora_test::fail_check(__FILE__, __LINE__, #condition); \
    } while (0)

#define CHECK_EQ(got, expected) \
    tenora_test::check_equal((got), (expected), #got " == " #expected, __FILE__, __LINE__)

#define CHECK_THROWS(kind, part, ...) \
    tenora_test::check_throws((kind), (part), [&] { (void)(__VA_ARGS__); }, #__VA_ARGS__, __FILE__, __LINE__)
