/* The simulated device (-DSIM="its library") under another name, telling one lie about streams (-DLIE=...).
 *   - With no lie it is sound. It reports no missing wait as the simulated device does: like a real device it
 *     only computes with what it finds, so the suite has nothing but values to go by.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "tenora_backend.h"

#define SOUND 0
#define COPIES_AT_ONCE 1
#define RECORDS_TOO_EARLY 2
#define IGNORES_WAITS 3
#define ALWAYS_REACHED 4
#define EVENT_DOES_NOT_WAIT 5
#define KEEPS_FIRST_RECORD 6
#define ALWAYS_IDLE 7
#define DEVICE_DOES_NOT_WAIT 8
#define NO_TIME 9
#define REBINDS_OUTPUT 10

enum { MOST_KERNELS = 256, MOST_EVENTS = 4096 };

static void (*forget)(void);
static void* (*storage)(const void*);
static tnr_space real, space;
static tnr_backend backend;
static const tnr_space* const spaces[] = {&space};
static tnr_kernel changed[MOST_KERNELS];
static const tnr_kernel* kernels[MOST_KERNELS];

static int32_t copy_bytes(void* state, void* target, int32_t target_device, const void* source,
                          int32_t source_device, size_t bytes, int32_t kind, void* stream, char* error,
                          size_t size) {
    if (LIE != COPIES_AT_ONCE)
        return real.copy_bytes(state, target, target_device, source, source_device, bytes, kind, stream,
                               error, size);
    memmove(kind == 1 ? target : storage(target), kind == 0 ? source : storage(source), bytes);
    return TNR_OK;
}

static int32_t stream_synchronize(void* state, int32_t device, void* stream, char* error, size_t size) {
    forget();
    return real.stream_synchronize(state, device, stream, error, size);
}

static int32_t stream_query(void* state, int32_t device, void* stream) {
    return LIE == ALWAYS_IDLE ? 1 : real.stream_query(state, device, stream);
}

static int32_t stream_wait_event(void* state, int32_t device, void* stream, void* event) {
    return LIE == IGNORES_WAITS ? TNR_OK : real.stream_wait_event(state, device, stream, event);
}

/* Events that have been recorded, by address; the device's are not reused within a test's process. */
static void* recorded[MOST_EVENTS];

static int32_t event_record(void* state, int32_t device, void* event, void* stream) {
    if (LIE == RECORDS_TOO_EARLY) return TNR_OK;
    if (LIE == KEEPS_FIRST_RECORD)
        for (int i = 0; i < MOST_EVENTS; i++) {
            if (recorded[i] == event) return TNR_OK;
            if (recorded[i]) continue;
            recorded[i] = event;
            break;
        }
    return real.event_record(state, device, event, stream);
}

static int32_t event_destroy(void* state, int32_t device, void* event) {
    for (int i = 0; i < MOST_EVENTS; i++)
        if (recorded[i] == event) recorded[i] = &recorded; /* no event's address */
    return real.event_destroy(state, device, event);
}

static int32_t event_query(void* state, int32_t device, void* event) {
    return LIE == ALWAYS_REACHED ? 1 : real.event_query(state, device, event);
}

static int32_t event_synchronize(void* state, int32_t device, void* event, char* error, size_t size) {
    forget();
    return LIE == EVENT_DOES_NOT_WAIT ? TNR_OK : real.event_synchronize(state, device, event, error, size);
}

static double event_elapsed_ms(void* state, int32_t device, void* begin, void* end) {
    if (LIE == NO_TIME || LIE == RECORDS_TOO_EARLY) return 0;
    return real.event_elapsed_ms(state, device, begin, end);
}

static int32_t synchronize(void* state, int32_t device, char* error, size_t size) {
    forget();
    return LIE == DEVICE_DOES_NOT_WAIT ? TNR_OK : real.synchronize(state, device, error, size);
}

static int32_t (*copy_kernel)(const tnr_call*);

/* What is dense already need not be copied, it thinks. */
static int32_t rebind(const tnr_call* call) {
    if (!call->flat || memcmp(&call->in[0]->dtype, &call->out[0]->dtype, sizeof(DLDataType)) != 0) {
        tnr_call passed = *call;
        return copy_kernel(&passed);
    }
    ((DLTensor*)call->out[0])->data = call->in[0]->data;
    return TNR_OK;
}

TNR_EXPORT const tnr_backend* tenora_backend_init(const tnr_host* host) {
    void* library = dlopen(SIM, RTLD_NOW | RTLD_LOCAL);
    if (!library) return NULL;
    tenora_backend_init_fn init = (tenora_backend_init_fn)dlsym(library, "tenora_backend_init");
    forget = (void (*)(void))dlsym(library, "tenora_sim_forget");
    storage = (void* (*)(const void*))dlsym(library, "tenora_sim_storage");
    backend = *init(host);
    real = space = *backend.spaces[0];
    space.copy_bytes = copy_bytes;
    space.stream_synchronize = stream_synchronize;
    space.stream_query = stream_query;
    space.stream_wait_event = stream_wait_event;
    space.event_record = event_record;
    space.event_destroy = event_destroy;
    space.event_query = event_query;
    space.event_synchronize = event_synchronize;
    space.event_elapsed_ms = event_elapsed_ms;
    space.synchronize = synchronize;
    for (uint32_t i = 0; i < backend.n_kernels && i < MOST_KERNELS; i++) {
        changed[i] = *backend.kernels[i];
        kernels[i] = &changed[i];
        if (LIE == REBINDS_OUTPUT && strcmp(changed[i].op, "copy") == 0) {
            copy_kernel = changed[i].run;
            changed[i].run = rebind;
        }
    }
    backend.name = NAME;
    backend.spaces = spaces;
    backend.kernels = kernels;
    return &backend;
}
