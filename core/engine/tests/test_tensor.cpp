// Element types, storages, tensors, windows, ownership, live counters.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "tenora/allocator.h"
#include "tenora/hooks.h"
#include "tenora/tensor.h"

using namespace tenora;

namespace {

using Dims = std::vector<int64_t>;
constexpr Device kHost{};

TensorRef window(Tensor* t, const Dims& shape, const Dims& strides, int64_t offset) {
    return new_window(t->storage, shape, strides, offset, t->dtype, t->device);
}

bool same(const Live& a, const Live& b) {
    return a.tensors == b.tensors && a.storages == b.storages && a.nodes == b.nodes && a.bytes == b.bytes;
}

}  // namespace

TEST(dtype_table) {
    CHECK_EQ(info(DType::F32).name, "float32");
    CHECK_EQ(size_of(DType::C128), 16);
    CHECK_EQ(size_of(DType::BF16), 2);
    CHECK(is_complex(DType::C64) && is_floating(DType::F16) && is_integral(DType::U8) &&
          !is_integral(DType::Bool));
    for (int i = 0; i < TNR_DTYPE_COUNT; ++i) {
        CHECK(from_dlpack(info(DType(i)).dl) == DType(i));
        CHECK_EQ(info(DType(i)).dl.bits, size_of(DType(i)) * 8);
    }
    CHECK_THROWS(ErrorKind::Type, "code 2 with 8 bits", from_dlpack(DLDataType{2, 8, 1}));
    CHECK_THROWS(ErrorKind::Type, "4 lanes", from_dlpack(DLDataType{2, 32, 4}));
}

TEST(promotion) {
    auto p = [](DType a, DType b) { return promote(a, b); };
    CHECK(p(DType::U8, DType::I8) == DType::I16);
    CHECK(p(DType::I64, DType::U8) == DType::I64);
    CHECK(p(DType::Bool, DType::I32) == DType::I32);
    CHECK(p(DType::I64, DType::F16) == DType::F16);
    CHECK(p(DType::F16, DType::BF16) == DType::F32);
    CHECK(p(DType::F16, DType::F64) == DType::F64);
    CHECK(p(DType::F64, DType::C64) == DType::C128);
    CHECK(p(DType::F32, DType::C64) == DType::C64);
    CHECK(p(DType::I64, DType::C64) == DType::C64);
    CHECK(p(DType::C64, DType::C128) == DType::C128);
    CHECK(p(DType::U32, DType::F16) == DType::F16);
    CHECK(p(DType::U32, DType::U32) == DType::U32);
    CHECK_THROWS(ErrorKind::Runtime, "uint16 and int32", promote(DType::U16, DType::I32));
    for (int a = 0; a < TNR_DTYPE_COUNT; ++a) {
        for (int b = 0; b < TNR_DTYPE_COUNT; ++b) {
            DType ab = DType::None, ba = DType::None;
            try {
                ab = promote(DType(a), DType(b));
            } catch (const Error&) {
            }
            try {
                ba = promote(DType(b), DType(a));
            } catch (const Error&) {
            }
            CHECK(ab == ba);
        }
    }
    CHECK(to_complex(DType::F16) == DType::C64 && to_real(DType::C128) == DType::F64);
    CHECK_THROWS(ErrorKind::Type, "int32", set_default_dtype(DType::I32));
    CHECK(default_dtype() == DType::F32);
}

TEST(dense_tensor) {
    Live before = live();
    {
        TensorRef t = new_tensor(Dims{2, 3, 4}, DType::F32, kHost);
        CHECK_EQ(t->numel, 24);
        CHECK_EQ(t->rank(), 3);
        CHECK((Dims(t->strides().begin(), t->strides().end()) == Dims{12, 4, 1}));
        CHECK(t->contiguous);
        CHECK_EQ(reinterpret_cast<uintptr_t>(t->dl.data) % 64, 0);
        CHECK_EQ(t->storage->bytes, 96);
        CHECK_EQ(describe(t.get()), "float32[2, 3, 4]");
        CHECK_EQ(describe(nullptr), "None");
        std::memset(t->dl.data, 1, 96);
        CHECK_EQ(live().bytes - before.bytes, 96);
        CHECK_EQ(live().tensors - before.tensors, 1);
        CHECK_EQ(live().storages - before.storages, 1);
    }
    CHECK(same(live(), before));
}

TEST(every_rank_and_odd_sizes) {
    Live before = live();
    for (int rank = 0; rank <= kMaxRank; ++rank) {
        Dims shape(size_t(rank), 1);
        if (rank > 0) shape[0] = 7;
        if (rank > 8) shape[8] = 3;
        TensorRef t = new_tensor(shape, DType::F64, kHost);
        CHECK(Dims(t->shape().begin(), t->shape().end()) == shape);
        CHECK_EQ(t->numel, (rank > 0 ? 7 : 1) * (rank > 8 ? 3 : 1));
        std::memset(t->dl.data, 0xff, size_t(t->numel) * 8);
        TensorRef other = alias(t.get());
        CHECK(other->contiguous && other->dl.data == t->dl.data && other->storage == t->storage);
        CHECK(Dims(other->shape().begin(), other->shape().end()) == shape);
    }
    for (int64_t n : {1, 15, 16, 17, 255, 959, 960, 961, 1024, 4095, 65536, 65537, 100000, 300000, 3000000}) {
        TensorRef t = new_tensor(Dims{n}, DType::U8, kHost);
        CHECK_EQ(reinterpret_cast<uintptr_t>(t->dl.data) % 64, 0);
        std::memset(t->dl.data, 0x5a, size_t(n));
        CHECK_EQ(live().bytes - before.bytes, n);
    }
    CHECK(same(live(), before));
}

TEST(bad_shapes) {
    CHECK_THROWS(ErrorKind::Runtime, "negative dimension: got shape [2, -1]",
                 new_tensor(Dims{2, -1}, DType::F32, kHost));
    CHECK_THROWS(ErrorKind::Runtime, "overflows",
                 new_tensor(Dims{int64_t{1} << 40, int64_t{1} << 40}, DType::F32, kHost));
    CHECK_THROWS(ErrorKind::Runtime, "got 65, expected at most 64",
                 new_tensor(Dims(65, 1), DType::F32, kHost));
    CHECK_THROWS(ErrorKind::OutOfMemory, "out of memory on cpu",
                 new_tensor(Dims{int64_t{1} << 62}, DType::F64, kHost));
    CHECK_EQ(checked_numel(Dims{int64_t{1} << 40, 0, int64_t{1} << 40}, "x"), 0);
    TensorRef empty = new_tensor(Dims{0, 3}, DType::F32, kHost);
    CHECK(empty->numel == 0 && empty->contiguous && empty->storage->bytes == 0);
    CHECK_THROWS(ErrorKind::Runtime, "[reshape] negative", checked_numel(Dims{-3}, "reshape"));
}

TEST(absurd_request_is_an_error_and_life_goes_on) {
    Live before = live();
    for (int i = 0; i < 3; ++i) {
        CHECK_THROWS(ErrorKind::OutOfMemory, "1.00 EiB", allocate(size_t{1} << 60, kHost));
        CHECK_THROWS(ErrorKind::OutOfMemory, "Free tensors", allocate(size_t{1} << 46, kHost));
        CHECK_THROWS(ErrorKind::OutOfMemory, "[allocate]", allocate(SIZE_MAX, kHost));
    }
    TensorRef t = new_tensor(Dims{1000}, DType::F32, kHost);
    std::memset(t->dl.data, 0, 4000);
    t = TensorRef();
    CHECK(same(live(), before));
}

TEST(windows_are_checked) {
    TensorRef t = new_tensor(Dims{4, 6}, DType::F32, kHost);
    auto* data = static_cast<float*>(t->dl.data);
    for (int i = 0; i < 24; ++i) data[i] = float(i);
    TensorRef column = window(t.get(), {4}, {6}, 2);
    CHECK(!column->contiguous);
    CHECK_EQ(static_cast<float*>(column->dl.data)[6], 8.0f);
    TensorRef reversed = window(t.get(), {24}, {-1}, 23);
    CHECK_EQ(static_cast<float*>(reversed->dl.data)[-23], 0.0f);
    CHECK(window(t.get(), {1, 6, 1}, {99, 1, -5}, 6)
              ->contiguous);  // strides of size-1 dimensions do not matter
    CHECK(window(t.get(), {3, 4}, {0, 1}, 20)->numel == 12);
    CHECK(window(t.get(), {0, 9}, {1000, 1000}, 5)->contiguous);
    CHECK_THROWS(ErrorKind::Runtime, "outside its storage", window(t.get(), {4}, {6}, 6));
    CHECK_THROWS(ErrorKind::Runtime, "outside its storage", window(t.get(), {4}, {-6}, 17));
    CHECK_THROWS(ErrorKind::Runtime, "outside its storage", window(t.get(), {2}, {INT64_MAX}, 0));
    CHECK_THROWS(ErrorKind::Runtime, "outside its storage", window(t.get(), {2}, {INT64_MIN}, 0));
    CHECK_THROWS(ErrorKind::Runtime, "outside its storage", window(t.get(), {1}, {1}, -1));
    CHECK_THROWS(ErrorKind::Runtime, "outside its storage", window(t.get(), {1}, {1}, INT64_MAX));
    CHECK_THROWS(ErrorKind::Runtime, "2 sizes and 1 strides", window(t.get(), {2, 2}, {1}, 0));
    CHECK_EQ(t->storage->count.load(), 3u);
}

TEST(dense_check) {
    CHECK(is_dense(Dims{2, 1, 3}, Dims{3, 77, 1}));
    CHECK(!is_dense(Dims{2, 3}, Dims{1, 2}));
    CHECK(is_dense(Dims{}, Dims{}));
    CHECK(is_dense(Dims{5, 0}, Dims{3, 3}));
    CHECK(!is_dense(Dims{4}, Dims{-1}));
}

TEST(window_in_place) {
    Live before = live();
    {
        TensorRef t = new_tensor(Dims{8}, DType::F32, kHost);
        set_window(t.get(), t->storage, Dims{2, 2, 2, 1, 1, 1, 1}, Dims{4, 2, 1, 1, 1, 1, 1}, 0,
                   DType::F32);  // outgrows its block
        CHECK_EQ(t->rank(), 7);
        CHECK(t->contiguous);
        set_window(t.get(), t->storage, t->shape().subspan(1, 3), t->strides().subspan(1, 3), 4, DType::F32);
        CHECK((Dims(t->shape().begin(), t->shape().end()) == Dims{2, 2, 1}));
        CHECK_EQ(t->numel, 4);
        StorageRef bigger = allocate(1024, kHost);
        set_window(t.get(), bigger.get(), Dims{128}, Dims{1}, 0, DType::F64);
        CHECK(t->storage == bigger.get() && t->dl.data == bigger->data && t->dtype == DType::F64);
        CHECK_THROWS(ErrorKind::Runtime, "outside",
                     set_window(t.get(), bigger.get(), Dims{129}, Dims{1}, 0, DType::F64));
        CHECK_EQ(t->numel, 128);
    }
    CHECK(same(live(), before));
}

TEST(storage_lives_as_long_as_its_last_window) {
    Live before = live();
    TensorRef view;
    {
        TensorRef t = new_tensor(Dims{100}, DType::F32, kHost);
        static_cast<float*>(t->dl.data)[99] = 5;
        view = window(t.get(), {1}, {1}, 99);
        t->storage->version.fetch_add(1);
    }
    CHECK_EQ(*static_cast<float*>(view->dl.data), 5.0f);
    CHECK_EQ(view->version(), 1u);
    CHECK_EQ(live().bytes - before.bytes, 400);
    view = TensorRef();
    CHECK(same(live(), before));
}

TEST(foreign_memory_is_released_once) {
    static int released;
    released = 0;
    static float memory[4] = {1, 2, 3, 4};
    Live before = live();
    {
        StorageRef s = adopt(memory, sizeof memory, kHost, true, &released,
                             [](void* owner) { ++*static_cast<int*>(owner); });
        TensorRef a = new_window(s.get(), Dims{2}, Dims{1}, 2, DType::F32, kHost);
        s = StorageRef();
        CHECK_EQ(static_cast<float*>(a->dl.data)[1], 4.0f);
        CHECK(a->storage->read_only);
        CHECK_EQ(live().bytes, before.bytes);
        CHECK_EQ(released, 0);
    }
    CHECK_EQ(released, 1);
    CHECK(same(live(), before));
}

namespace {
int kept = 0, dropped = 0;
}

TEST(keep_bit_reports_the_two_transitions) {
    auto saved = hooks();
    hooks().keep_retain = [](Tensor*) { ++kept; };
    hooks().keep_release = [](Tensor*) { ++dropped; };
    TensorRef t = new_tensor(Dims{2}, DType::F32, kHost);
    {
        TensorRef second = t;  // no KEEP: nobody asks
    }
    CHECK_EQ(kept + dropped, 0);
    t->word.fetch_or(Tensor::KEEP);
    {
        TensorRef second = t, third = t;
        CHECK_EQ(t->use_count(), 3u);
        CHECK_EQ(kept, 1);
        third = TensorRef();
        CHECK_EQ(dropped, 0);
    }
    CHECK_EQ(dropped, 1);
    t = TensorRef();  // the last count: no report
    CHECK_EQ(kept, 1);
    CHECK_EQ(dropped, 1);
    hooks() = saved;
}

TEST(references_from_many_threads) {
    Live before = live();
    TensorRef t = new_tensor(Dims{16}, DType::F32, kHost);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([t] {
            for (int n = 0; n < 5000; ++n) {
                TensorRef mine = t, other = alias(mine.get());
                TensorRef fresh = new_tensor(Dims{n % 40}, DType::F32, kHost);
                mine = fresh;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    threads.clear();
    CHECK_EQ(t->use_count(), 1u);
    CHECK_EQ(t->storage->count.load(), 1u);
    t = TensorRef();
    CHECK(same(live(), before));
}

TEST(counters_survive_other_threads) {
    Live before = live();
    std::vector<TensorRef> made;
    std::thread([&] {
        for (int i = 1; i <= 300; ++i) made.push_back(new_tensor(Dims{i}, DType::F32, kHost));
    }).join();
    CHECK_EQ(live().tensors - before.tensors, 300);
    CHECK_EQ(live().bytes - before.bytes, 4 * 300 * 301 / 2);
    std::thread([&] { made.clear(); }).join();
    CHECK(same(live(), before));
}

TEST(child_of_a_fork_allocates) {
    std::atomic<bool> stop{false};
    std::vector<std::thread> busy;  // so that some lock is likely to be held when the fork comes
    int others =
        pool_enabled() ? 3 : 0;  // AddressSanitizer's malloc is not safe in the child of a busy process
    for (int i = 0; i < others; ++i) {
        busy.emplace_back([&] {
            while (!stop) {
                std::vector<TensorRef> many;
                for (int n = 0; n < 600; ++n)
                    many.push_back(new_tensor(Dims{n % 3 ? 16 : 40000}, DType::F32, kHost));
            }
        });
    }
    int failures = 0;
    for (int round = 0; round < 20; ++round) {
        pid_t child = fork();
        if (child == 0) {
            alarm(20);  // a lock that is never free must not hang the test
            for (int64_t n : {16, 300, 5000, 40000, 800000}) {
                for (int i = 0; i < 50; ++i)
                    std::memset(new_tensor(Dims{n}, DType::F32, kHost)->dl.data, 0, size_t(n) * 4);
            }
            space(0).allocator(0).trim();
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        failures += !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    stop = true;
    for (auto& thread : busy) thread.join();
    CHECK_EQ(failures, 0);
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
