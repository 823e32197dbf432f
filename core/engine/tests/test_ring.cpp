// The event ring, its Chrome trace, and no_hidden_copies.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <thread>
#include <vector>

#include "check.h"
#include "tenora/ring.h"

using namespace tenora;

namespace {

RingEvent event(RingKind kind, uint64_t begin, uint64_t end, const char* detail) {
    RingEvent e{};
    e.kind = kind;
    e.op = kNoOp;
    e.backend = kNoBackend;
    e.bytes = 64;
    e.begin_ns = begin;
    e.end_ns = end;
    e.detail = detail;
    return e;
}

// A strict JSON reader that keeps nothing: true when the text is one valid value.
class Json {
  public:
    explicit Json(const std::string& text) : p_(text.c_str()), end_(p_ + text.size()) {}
    bool valid() {
        bool fine = value();
        space();
        return fine && p_ == end_;
    }

  private:
    void space() {
        while (p_ < end_ && std::isspace((unsigned char)*p_)) ++p_;
    }
    bool take(char c) {
        space();
        if (p_ >= end_ || *p_ != c) return false;
        ++p_;
        return true;
    }
    bool word(std::string_view w) {
        if (!std::string_view(p_, size_t(end_ - p_)).starts_with(w)) return false;
        p_ += w.size();
        return true;
    }
    bool string() {
        if (!take('"')) return false;
        for (; p_ < end_ && *p_ != '"'; ++p_) {
            if ((unsigned char)*p_ < 0x20) return false;
            if (*p_ != '\\') continue;
            if (++p_ >= end_ || !std::strchr("\"\\/bfnrtu", *p_)) return false;
            if (*p_ != 'u') continue;
            for (int i = 0; i < 4; ++i) {
                if (++p_ >= end_ || !std::isxdigit((unsigned char)*p_)) return false;
            }
        }
        return take('"');
    }
    bool number() {
        const char* begin = p_;
        if (p_ < end_ && *p_ == '-') ++p_;
        while (p_ < end_ && (std::isdigit((unsigned char)*p_) || *p_ == '.')) ++p_;
        return p_ > begin && std::isdigit((unsigned char)p_[-1]);
    }
    bool list(char close, bool keys) {
        if (take(close)) return true;
        do {
            if (keys && !(string() && take(':'))) return false;
            if (!value()) return false;
        } while (take(','));
        return take(close);
    }
    bool value() {
        space();
        if (p_ >= end_) return false;
        if (*p_ == '{') return ++p_, list('}', true);
        if (*p_ == '[') return ++p_, list(']', false);
        if (*p_ == '"') return string();
        return word("true") || word("false") || word("null") || number();
    }
    const char *p_, *end_;
};

}  // namespace

TEST(off_unless_started) {
    CHECK(!ring_on());
    ring_push(event(RingKind::Mark, 1, 2, "nobody listens"));
    CHECK(ring_take(nullptr).empty());
    CHECK_THROWS(ErrorKind::Value, "capacity of 0", ring_start(0));
    CHECK(!ring_on());
}

TEST(keeps_the_newest_and_counts_the_rest) {
    ring_start(10);
    CHECK(ring_on());
    for (uint64_t i = 0; i < 25; ++i) ring_push(event(RingKind::Kernel, i, i + 1, "x"));
    ring_stop();
    CHECK(!ring_on());
    uint64_t dropped = 0;
    std::vector<RingEvent> events = ring_take(&dropped);
    CHECK_EQ(events.size(), 10u);
    CHECK_EQ(dropped, 15u);
    for (uint64_t i = 0; i < 10; ++i) CHECK_EQ(events[i].begin_ns, 15 + i);
    CHECK(ring_take(&dropped).empty());
    CHECK_EQ(dropped, 0u);
}

TEST(threads_are_told_apart) {
    ring_start(1000);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([] {
            for (uint64_t n = 0; n < 50; ++n) ring_push(event(RingKind::Kernel, ring_now(), ring_now(), "t"));
        });
    }
    for (auto& thread : threads) thread.join();
    ring_stop();
    std::vector<RingEvent> events = ring_take(nullptr);
    CHECK_EQ(events.size(), 400u);
    std::vector<int> per_thread(200);
    for (const RingEvent& e : events) ++per_thread.at(e.thread);
    CHECK_EQ(std::count(per_thread.begin(), per_thread.end(), 50), 8);
}

TEST(interned_text_is_one_pointer) {
    const char* a = ring_intern("layout of operand 1");
    CHECK(a == ring_intern(std::string("layout of ") + "operand 1"));
    CHECK(a != ring_intern("another"));
    CHECK_EQ(std::string(a), "layout of operand 1");
}

TEST(chrome_trace_is_json) {
    CHECK(!Json("{\"a\":1,}").valid() && !Json("[1 2]").valid() &&
          !Json("\"\n\"").valid());  // the reader can say no
    std::vector<RingEvent> events = {
        event(RingKind::Kernel, 5'000'123, 5'000'723, "plain"),
        event(RingKind::Copy, 5'000'000, 5'002'000, "quote \" backslash \\ newline \n bell \a"),
        event(RingKind::Wait, 6'000'000, 5'999'999, nullptr)};
    events[1].hidden = true;
    events[1].thread = 7;
    std::string text = chrome_trace(events);
    CHECK(Json(text).valid());
    CHECK(text.find("\"name\":\"plain\",\"cat\":\"kernel\",\"ph\":\"X\",\"ts\":0.123,\"dur\":0.600") !=
          std::string::npos);
    CHECK(text.find("\"tid\":7") != std::string::npos);
    CHECK(text.find("\"hidden\":true") != std::string::npos);
    CHECK(text.find("quote \\\" backslash \\\\ newline \\u000a bell \\u0007") != std::string::npos);
    CHECK(text.find("\"dur\":0.000") != std::string::npos);  // never negative
    CHECK(Json(chrome_trace({})).valid());
}

TEST(hidden_copies_raise_where_forbidden) {
    RingEvent hidden = event(RingKind::Layout, 1, 2, "operand 0 of matmul is not contiguous");
    hidden.hidden = true;
    ring_push(hidden);
    CHECK(!set_no_hidden_copies(true));
    CHECK(ring_on());
    CHECK_THROWS(ErrorKind::HiddenCopy,
                 "hidden layout (operand 0 of matmul is not contiguous): got one of 64 bytes",
                 ring_push(hidden));
    CHECK_THROWS(ErrorKind::HiddenCopy, "[engine] hidden wait",
                 ring_refuse_hidden(RingKind::Wait, kNoOp, 0, nullptr));
    ring_push(event(RingKind::Layout, 1, 2, "asked for"));  // not hidden
    bool other_thread_raised = false;
    std::thread([&] {
        try {
            ring_push(hidden);
        } catch (const Error&) {
            other_thread_raised = true;
        }
    }).join();
    CHECK(!other_thread_raised);
    CHECK(set_no_hidden_copies(false));
    CHECK(!ring_on());
    ring_push(hidden);
}

TEST(hidden_copies_are_recorded_before_they_raise) {
    ring_start(4);
    set_no_hidden_copies(true);
    RingEvent hidden = event(RingKind::Transfer, 1, 2, "to the host");
    hidden.hidden = true;
    CHECK_THROWS(ErrorKind::HiddenCopy, "transfer", ring_push(hidden));
    set_no_hidden_copies(false);
    ring_stop();
    CHECK_EQ(ring_take(nullptr).size(), 1u);
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
