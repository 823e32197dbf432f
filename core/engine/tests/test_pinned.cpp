// Pinned memory of the host, from which copies run by themselves on a device that works behind the host's
// back.
#include <array>

#include "check.h"
#include "fake_device.h"
#include "tenora/dispatch.h"
#include "tenora/tensor.h"

using namespace tenora;
using tenora_test::FakeDevice;

namespace {

FakeDevice& fake() { return FakeDevice::get(); }
Device device() { return fake().device(); }

void fresh() {
    synchronize(device());
    fake().reset(1);
}

}  // namespace

TEST(only_copies_from_pinned_memory_are_left_to_the_stream) {
    fresh();
    TensorRef pinned = new_pinned(std::array<int64_t, 1>{64}, DType::F32, device());
    TensorRef plain = new_tensor(std::array<int64_t, 1>{64}, DType::F32, Device{});
    auto waits = [&](Tensor* t, Device to, bool non_blocking) {
        int64_t before = fake().counts().synchronizations;
        TensorRef there = to_device(t, to, non_blocking);
        return fake().counts().synchronizations - before;
    };
    CHECK_EQ(waits(pinned.get(), device(), true), 0);
    CHECK_EQ(waits(pinned.get(), device(), false), 1);
    CHECK_EQ(waits(plain.get(), device(), true), 1);
    TensorRef there = to_device(plain.get(), device(), false);
    CHECK_EQ(waits(there.get(), Device{}, true), 1);  // to the host: the caller reads next
}

TEST(pinned_memory_goes_back_when_no_stream_uses_it) {
    fresh();
    int64_t before = fake().counts().pinned;
    TensorRef t = new_pinned(std::array<int64_t, 2>{0, 3}, DType::F32, device());
    CHECK_EQ(fake().counts().pinned, before + 1);
    t = new_pinned(std::array<int64_t, 2>{4, 3}, DType::F64, device());
    CHECK_EQ(fake().counts().pinned, before + 1);
    StorageRef busy = allocate(4096, device());
    Stream* usual = default_stream(device());
    fake().launch_write(usual, busy->data, 4096, 3);
    mark_use(t->storage, usual);
    t = TensorRef();
    allocate(1, device());  // looks what streams have passed
    CHECK_EQ(fake().counts().pinned, before + 1);
    synchronize(device());
    allocate(1, device());  // looks what streams have passed
    CHECK_EQ(fake().counts().pinned, before);
    CHECK(!can_pin(Device{}));
    CHECK_THROWS(ErrorKind::NotSupported, "[pin_memory] not supported: got device cpu",
                 new_pinned(std::array<int64_t, 1>{1}, DType::F32, Device{}));
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
