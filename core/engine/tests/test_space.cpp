// Registration of memory spaces: what a backend may not get wrong.
#include <cstddef>
#include <cstring>

#include "check.h"
#include "fake_device.h"
#include "tenora/allocator.h"
#include "tenora/tensor.h"

using namespace tenora;
using tenora_test::FakeDevice;

namespace {

// The functions of a well-behaved device under another name.
tnr_space good(const char* name) {
    tnr_space s = FakeDevice::get().functions();
    s.device_type = name;
    return s;
}

}  // namespace

TEST(host_is_space_zero) {
    CHECK_EQ(find_space("cpu"), 0);
    CHECK(space(0).host_order() && space(0).host_accessible());
    CHECK_EQ(to_string(Device{0, 0}), "cpu");
    CHECK_EQ(find_space("nothing"), -1);
    CHECK_THROWS(ErrorKind::Runtime, "unknown memory space", space(15));
    CHECK_THROWS(ErrorKind::Runtime, "got cpu:1, expected an index below 1", space(0).allocator(1));
    CHECK_THROWS(ErrorKind::Runtime, "no such device", allocate(8, Device{0, 3}));
}

TEST(same_type_shares_the_space) {
    FakeDevice& fake = FakeDevice::get();
    Space& again = add_space(fake.functions(), "another_backend");
    CHECK_EQ(again.id, fake.device().space);
    CHECK_EQ(again.provider, "fake_backend");
    CHECK_EQ(to_string(fake.device(1)), "fake:1");
    tnr_space other = fake.functions();
    other.dlpack_type = 13;
    CHECK_THROWS(ErrorKind::Runtime, "dlpack_type is wrong: got 13, expected 12, as backend 'fake_backend'",
                 add_space(other, "another_backend"));
}

TEST(short_struct_is_named) {
    tnr_space s = good("shorty");
    s.struct_size = offsetof(tnr_space, event_query);
    CHECK_THROWS(ErrorKind::Runtime, "backend 'careless': tnr_space.struct_size", add_space(s, "careless"));
    s.struct_size = 0;
    CHECK_THROWS(ErrorKind::Runtime, "struct_size", add_space(s, "careless"));
    s.struct_size = 1u << 30;
    CHECK_THROWS(ErrorKind::Runtime, "struct_size", add_space(s, "careless"));
    try {
        add_space(s, "careless");
    } catch (const Error& error) {
        CHECK_EQ(error.backend, "careless");
        CHECK_EQ(error.code, "backend");
    }
}

TEST(struct_of_an_older_header_is_zero_filled) {
    tnr_space s = good("older");
    s.struct_size = offsetof(tnr_space, own_pool);  // own_pool and trim came later
    s.own_pool = 1;
    Space& made = add_space(s, "veteran");
    CHECK_EQ(made.functions.own_pool, 0);
    CHECK(made.functions.trim == nullptr);
    CHECK_EQ(find_space("older"), made.id);
}

TEST(missing_functions_are_named) {
    auto refused = [](const char* field, auto spoil) {
        tnr_space s = good("spoiled");
        spoil(s);
        std::string part = std::string("tnr_space.") + field + " is wrong";
        CHECK_THROWS(ErrorKind::Runtime, part.c_str(), add_space(s, "careless"));
        CHECK_EQ(find_space("spoiled"), -1);
    };
    refused("device_count", [](tnr_space& s) { s.device_count = nullptr; });
    refused("alloc", [](tnr_space& s) { s.alloc = nullptr; });
    refused("release", [](tnr_space& s) { s.release = nullptr; });
    refused("copy_bytes", [](tnr_space& s) { s.copy_bytes = nullptr; });
    refused("stream_create", [](tnr_space& s) { s.stream_create = nullptr; });
    refused("stream_destroy", [](tnr_space& s) { s.stream_destroy = nullptr; });
    refused("stream_synchronize", [](tnr_space& s) { s.stream_synchronize = nullptr; });
    refused("stream_query", [](tnr_space& s) { s.stream_query = nullptr; });
    refused("stream_wait_event", [](tnr_space& s) { s.stream_wait_event = nullptr; });
    refused("event_create", [](tnr_space& s) { s.event_create = nullptr; });
    refused("event_destroy", [](tnr_space& s) { s.event_destroy = nullptr; });
    refused("event_record", [](tnr_space& s) { s.event_record = nullptr; });
    refused("event_query", [](tnr_space& s) { s.event_query = nullptr; });
    refused("event_synchronize", [](tnr_space& s) { s.event_synchronize = nullptr; });
    refused("synchronize", [](tnr_space& s) { s.synchronize = nullptr; });
    refused("host_alloc", [](tnr_space& s) { s.host_alloc = nullptr; });
    refused("host_release", [](tnr_space& s) { s.host_release = nullptr; });
    refused("granule", [](tnr_space& s) { s.granule = 100; });
    refused("alignment", [](tnr_space& s) { s.alignment = 3; });
    refused("host_order", [](tnr_space& s) { s.host_order = 7; });
    refused("dlpack_type", [](tnr_space& s) { s.dlpack_type = 0; });
    refused("device_type", [](tnr_space& s) { s.device_type = nullptr; });
    refused("device_type", [](tnr_space& s) { s.device_type = "Not A Name"; });
    refused("device_type", [](tnr_space& s) { s.device_type = ""; });
}

TEST(host_order_space_needs_no_streams) {
    tnr_space s = good("plain");
    s.host_order = s.host_accessible = 1;
    s.copy_bytes = nullptr;
    s.stream_create = nullptr;
    s.stream_destroy = nullptr;
    s.stream_synchronize = nullptr;
    s.stream_query = nullptr;
    s.stream_wait_event = nullptr;
    s.event_create = nullptr;
    s.event_destroy = nullptr;
    s.event_record = nullptr;
    s.event_query = nullptr;
    s.event_synchronize = nullptr;
    s.synchronize = nullptr;
    s.trim = nullptr;
    Space& made = add_space(s, "simple");
    Device device{made.id, 0};
    {
        StorageRef a = allocate(1000, device);
        std::memset(a->data, 1, 1000);
        CHECK_EQ(a->stream_slot, kNoSlot);
        CHECK(default_stream(device) == nullptr && current_stream(device) == nullptr);
        CHECK_THROWS(ErrorKind::Runtime, "works in host order", new_stream(device, 0));
        CHECK_THROWS(ErrorKind::Runtime, "works in host order", new_event(device, false));
    }
    made.allocator(0).trim();
    CHECK_EQ(made.allocator(0).stats().reserved_bytes, 0);
    synchronize(device);
}

TEST(lying_allocation_is_an_error) {
    FakeDevice& liar = FakeDevice::get("liar");
    liar.set_misaligned(true);
    CHECK_THROWS(ErrorKind::Runtime, "backend 'fake_backend' broke the contract of tnr_space.alloc",
                 allocate(1000, liar.device()));
    liar.set_misaligned(false);
    StorageRef fine = allocate(1000, liar.device());
    CHECK_EQ(reinterpret_cast<uintptr_t>(fine->data) % FakeDevice::kGranule, 0);
}

TEST(lost_device_is_sticky) {
    FakeDevice& doomed = FakeDevice::get("doomed");
    Device device = doomed.device();
    StorageRef held = allocate(1000, device);
    StreamRef stream = new_stream(device, 0);
    mark_use(held.get(), stream.get());
    doomed.lose();
    CHECK_THROWS(ErrorKind::DeviceLost, "stream_synchronize failed on doomed:0", synchronize(stream.get()));
    CHECK_THROWS(ErrorKind::DeviceLost, "was lost in an earlier call", synchronize(device));
    CHECK_THROWS(ErrorKind::DeviceLost, "doomed:0", new_stream(device, 0));
    held = StorageRef();  // must neither throw nor hang
}

TEST(table_of_spaces_is_bounded) {
    static char names[kMaxSpaces][8];
    bool refused = false;
    for (int i = 0; i < kMaxSpaces && !refused; ++i) {
        std::snprintf(names[i], sizeof names[i], "many%d", i);
        try {
            add_space(good(names[i]), "greedy");
        } catch (const Error& error) {
            refused = error.message.find("at most 16 device types") != std::string::npos;
        }
    }
    CHECK(refused);
    CHECK_EQ(space_count(), kMaxSpaces);
}

int main(int argc, char** argv) { return tenora_test::run(argc, argv); }
