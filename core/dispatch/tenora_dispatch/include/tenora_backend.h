/* tenora_backend.h: the C ABI between tenora and a backend. Apache-2.0.
 *
 * A backend that is not written in Python is a shared library that exports one function,
 *
 *     const tnr_backend *tenora_backend_init(const tnr_host *host);
 *
 * and returns a table of plain function pointers over DLPack's DLTensor. This header is the twin of
 * `tenora_dispatch/contract.py`, which explains every duty in words.
 *
 * Rules of the ABI
 *   - Every struct that crosses the border begins with `struct_size`; fields are only ever appended. A reader
 *     looks at a field only if `struct_size` covers it. A golden file of field offsets guards this.
 *   - [required] and [optional] mark each pointer; an optional one may be NULL.
 *   - Nothing is thrown across the border: functions return a status; a text goes into the error buffer.
 *   - Descriptors handed to a kernel are validated: shapes, dtypes, devices and attributes are right,
 *     outputs are allocated. They live only for the duration of the call.
 *   - A kernel never keeps, frees or returns an operand, and writes only into its outputs.
 */
#ifndef TENORA_BACKEND_H
#define TENORA_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TNR_ABI_VERSION 1     /* of this header */
#define TNR_ABI_VERSION_MIN 1 /* oldest table that tenora still loads */
#define TNR_MAX_RANK 64       /* no operand has more dimensions, as long as TNR_ABI_VERSION is 1 */

#if defined(_WIN32)
#define TNR_EXPORT __declspec(dllexport)
#else
#define TNR_EXPORT __attribute__((visibility("default")))
#endif

/* ---- DLPack (v1.0 layout, https://dmlc.github.io/dlpack/latest/c_api.html) ---- */
#ifndef DLPACK_DLPACK_H_
typedef struct {
    int32_t device_type; /* 1 = cpu, 2 = cuda, 12 = ext_dev; others see the DLPack specification */
    int32_t device_id;
} DLDevice;

typedef struct {
    uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool */
    uint8_t bits;
    uint16_t lanes;
} DLDataType;

typedef struct {
    void* data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t* shape;
    int64_t* strides;     /* in elements; never NULL in this ABI */
    uint64_t byte_offset; /* 0 in this ABI: `data` points at the first element */
} DLTensor;
#endif

/* ---- dtypes, as bits of a mask ---- */
typedef enum {
    TNR_BOOL = 0,
    TNR_U8,
    TNR_U16,
    TNR_U32,
    TNR_U64,
    TNR_I8,
    TNR_I16,
    TNR_I32,
    TNR_I64,
    TNR_F16,
    TNR_BF16,
    TNR_F32,
    TNR_F64,
    TNR_C64,
    TNR_C128,
    TNR_DTYPE_COUNT
} tnr_dtype;

#define TNR_MASK(dtype) (1u << (dtype))
#define TNR_MASK_INTS 0x1feu     /* u8..u64, i8..i64 */
#define TNR_MASK_HALF 0x600u     /* f16, bf16 */
#define TNR_MASK_REALS 0x1800u   /* f32, f64 */
#define TNR_MASK_COMPLEX 0x6000u /* c64, c128 */
#define TNR_MASK_ALL 0x7fffu

/* ---- attributes: tagged 16-byte values ---- */
typedef enum {
    TNR_ATTR_NONE = 0,
    TNR_ATTR_I64,
    TNR_ATTR_F64,
    TNR_ATTR_BOOL,   /* in `i64` */
    TNR_ATTR_DTYPE,  /* a tnr_dtype, in `i64` */
    TNR_ATTR_SPAN,   /* `count` values at `span` */
    TNR_ATTR_STRING, /* `count` bytes at `string`, no terminator promised */
    TNR_ATTR_SCALAR /* a number: `dtype` is TNR_I64, TNR_BOOL (in `i64`) or TNR_F64 (in `f64`), or TNR_U64 for
                       2**63 and more (its bits in `i64`); `weak` = a Python number */
} tnr_attr_kind;

typedef struct {
    uint8_t kind;
    uint8_t weak;
    uint8_t dtype;
    uint8_t reserved;
    uint32_t count;
    union {
        int64_t i64;
        double f64;
        const int64_t* span;
        const char* string;
    } value;
} tnr_attr;

/* ---- status codes ---- */
typedef enum {
    TNR_OK = 0,
    TNR_ERROR = 1,         /* RuntimeError with the text of the error buffer */
    TNR_OUT_OF_MEMORY = 2, /* OutOfMemoryError, after synchronise, trim, retry */
    TNR_NOT_SUPPORTED = 3, /* the kernel declines after all: NotSupportedError */
    TNR_BAD_VALUE = 4,     /* ValueError: data the kernel had to look at is wrong */
    TNR_INDEX_ERROR = 5,   /* IndexError: an index in a tensor is out of range */
    TNR_DEVICE_LOST = 6,   /* sticky: later calls on the device raise DeviceLostError */
    TNR_PYTHON_ERROR = 7,  /* a Python exception is set (Python kernels only) */
    TNR_ZERO_DIVISION = 8  /* RuntimeError: an integer was divided by zero */
} tnr_status;

/* ---- a call ---- */
typedef struct {
    uint32_t struct_size;
    uint16_t n_in;
    uint16_t n_out;
    uint16_t n_attr;
    uint8_t flat;       /* all tensor operands and outputs dense, row-major, of the same size and shape;
                           host scalars (below) do not count */
    uint8_t accumulate; /* add into the output instead of overwriting it (only if the kernel declares it) */
    uint32_t reserved;
    uint64_t host_scalar_mask; /* bit i: input i is a 0-d descriptor whose data lies on the host, whatever the
                                  device */
    void* state;               /* the kernel's own, as registered */
    const DLTensor* const* in; /* an absent optional tensor is NULL */
    const DLTensor* const* out;
    const tnr_attr* attr; /* in the order of the op's signature, defaults filled in; iota: start, step;
                             random_bits: seed, offset; matmul, copy, index: none */
    void* stream;         /* NULL for a host-order backend */
    void* workspace;
    size_t workspace_size;
    char* error; /* at most error_size bytes with the terminator */
    size_t error_size;
} tnr_call;

typedef int32_t (*tnr_kernel_fn)(const tnr_call* call);

/* Kernel flags: what the engine need not do for the kernel, and what it may ask of it.
 *   STRIDED           reads operands of any non-negative stride, 0 included (else gets dense copies)
 *   NEGATIVE_STRIDES  reads negative strides too
 *   STRIDED_OUT       writes outputs of any stride (else fills a dense buffer that is copied)
 *   BROADCAST         accepts inputs that broadcast (else pointwise inputs are expanded, with stride 0)
 *   ACCUMULATE        understands `accumulate`
 *   INPLACE           an output may be exactly the same memory as one input
 *   BLOCKS            may wait (for a device, a file, a lock): called without the GIL
 */
#define TNR_KERNEL_STRIDED 0x1u
#define TNR_KERNEL_NEGATIVE_STRIDES 0x2u
#define TNR_KERNEL_STRIDED_OUT 0x4u
#define TNR_KERNEL_BROADCAST 0x8u
#define TNR_KERNEL_ACCUMULATE 0x10u
#define TNR_KERNEL_INPLACE 0x20u
#define TNR_KERNEL_BLOCKS 0x40u

typedef struct {
    uint32_t struct_size;
    uint32_t flags;
    const char* op;    /* [required] op name, as in `tenora ops` */
    tnr_kernel_fn run; /* [required] */
    uint32_t dtypes; /* [required] mask of the first tensor input's dtype (first output's if there is none) */
    uint32_t reserved;
    void* state; /* [optional] handed back in the call */
    /* [optional] finer capability. Data pointers are NULL and must not be read. Returns 1 for yes, 0 for no
       with the reason written into call->error. The answer is cached per signature (dtypes, ranks,
       attributes). */
    int32_t (*supports)(const tnr_call* call);
    /* [optional] bytes of workspace that `run` wants for this call. */
    size_t (*workspace)(const tnr_call* call);
} tnr_kernel;

/* ---- memory, streams, events of one device type ---- */
typedef struct {
    uint32_t struct_size;
    uint32_t reserved;
    const char* device_type; /* [required] "cpu", "cuda", a name of your own */
    int32_t dlpack_type;     /* [required] DLPack device type number */
    int32_t host_accessible; /* 1: the host may read and write this memory with plain pointers */
    int32_t host_order; /* 1: work is finished when a call returns; no stream or event function is needed */
    int32_t reserved2;
    size_t granule;   /* block sizes are multiples of this (64 on the host, 512 for CUDA); 0 = 64 */
    size_t alignment; /* 0 = 64 */
    void* state;      /* handed to every function below */

    /* [required] */
    int32_t (*device_count)(void* state);
    int32_t (*alloc)(void* state, int32_t device, size_t bytes, void** out, char* error, size_t error_size);
    int32_t (*release)(void* state, int32_t device, void* data, size_t bytes);

    /* [optional] */
    int32_t (*memory_info)(void* state, int32_t device, size_t* free_bytes, size_t* total_bytes);

    /* [required unless host_accessible] Byte copies; `kind`: 0 host to device, 1 device to host, 2 device to
       device (same type). Asynchronous on `stream`. */
    int32_t (*copy_bytes)(void* state, void* dst, int32_t dst_device, const void* src, int32_t src_device,
                          size_t bytes, int32_t kind, void* stream, char* error, size_t error_size);

    /* [required unless host_order] stream_query: 1 = idle; event_query: 1 = reached. */
    int32_t (*stream_create)(void* state, int32_t device, int32_t priority, void** out);
    int32_t (*stream_destroy)(void* state, int32_t device, void* stream);
    int32_t (*stream_synchronize)(void* state, int32_t device, void* stream, char* error, size_t error_size);
    int32_t (*stream_query)(void* state, int32_t device, void* stream);
    int32_t (*stream_wait_event)(void* state, int32_t device, void* stream, void* event);
    int32_t (*event_create)(void* state, int32_t device, int32_t timing, void** out);
    int32_t (*event_destroy)(void* state, int32_t device, void* event);
    int32_t (*event_record)(void* state, int32_t device, void* event, void* stream);
    int32_t (*event_query)(void* state, int32_t device, void* event);
    int32_t (*event_synchronize)(void* state, int32_t device, void* event, char* error, size_t error_size);

    /* [optional] */
    double (*event_elapsed_ms)(void* state, int32_t device, void* begin, void* end);

    /* [required unless host_order] */
    int32_t (*synchronize)(void* state, int32_t device, char* error, size_t error_size);

    /* [optional] own_pool = 1: alloc/release are already a caching pool (CuPy, RMM); the engine's pool stays
       out of the way. trim: give cached memory back. */
    int32_t own_pool;
    int32_t reserved3;
    int32_t (*trim)(void* state, int32_t device);

    /* [optional] Pinned memory: host memory that the devices of this type read and write by themselves. A
       copy_bytes between it and a device may run after the call returned; tenora keeps both sides until the
       stream is past it. From or to other host memory tenora waits for the stream. Both functions or none;
       host_release is called when no stream uses the memory any more. */
    int32_t (*host_alloc)(void* state, size_t bytes, void** out, char* error, size_t error_size);
    int32_t (*host_release)(void* state, void* data, size_t bytes);
} tnr_space;

/* ---- what tenora offers to a backend ---- */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_version; /* TNR_ABI_VERSION of the running tenora */
    uint32_t abi_version_min;
    uint32_t reserved;
    const char* tenora_version;
    const char* opset_version; /* "MAJOR.MINOR" */
    /* Logs one line at level 0 debug, 1 info, 2 warning. Any thread. */
    void (*log)(int32_t level, const char* backend, const char* message);
    /* Value, as text, of an option of the manifest at the time of loading; NULL for one that it does not
       declare. For what has to be known before the table is filled; during tenora_backend_init only. */
    const char* (*option)(const char* name);
} tnr_host;

/* ---- the table ---- */
typedef struct {
    uint32_t struct_size;
    uint32_t abi_version;           /* [required] TNR_ABI_VERSION the library was compiled with */
    const char* name;               /* [required] short name, equal to the manifest's */
    const char* version;            /* [required] */
    const char* opset_version;      /* [required] "MAJOR.MINOR" it was written for */
    const tnr_space* const* spaces; /* [required] one per device type, first = where kernels run by default */
    uint32_t n_spaces;
    uint32_t n_kernels;
    const tnr_kernel* const* kernels; /* [required] */
    /* [optional] options of the manifest, as text; returns a status. */
    int32_t (*set_option)(const char* option, const char* value, char* error, size_t error_size);
    void (*shutdown)(void); /* [optional] called once at interpreter exit */
} tnr_backend;

typedef const tnr_backend* (*tenora_backend_init_fn)(const tnr_host* host);

#ifdef __cplusplus
}
#endif
#endif /* TENORA_BACKEND_H */
