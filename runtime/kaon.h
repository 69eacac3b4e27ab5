/* Kaon's C interface (C11): find a kernel, call it, ask how it was served.
 *
 * Every function that can fail returns a kaon_code; kaon_last_error() then has the message. Nothing aborts, exits,
 * throws or prints. All functions may be called from any thread; kernels live as long as the program. */
#ifndef KAON_KAON_H_
#define KAON_KAON_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/launch/tensor_abi.h"

/* Functions that the shared libraries export; in static ones they are as hidden as the rest. */
#ifdef KAON_BUILDS_SHARED
#define KAON_API __attribute__((visibility("default")))
#else
#define KAON_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Version of this header's structs and functions; equal to kaon_abi_version() of the library that matches it. */
#define KAON_ABI_VERSION 1
KAON_API int32_t kaon_abi_version(void);

/* ---- Errors --------------------------------------------------------------------------------------------------- */

typedef enum kaon_code {
  KAON_OK = 0,
  KAON_INVALID_ARGUMENT = 1,   /* rank, dtype, extents, strides, device, overlap: no device could accept the call */
  KAON_NOT_FOUND = 2,          /* a kernel, variant, file or symbol of that name does not exist */
  KAON_UNSUPPORTED = 3,        /* legal, but this build or device cannot do it */
  KAON_VALUE_NOT_COMPILED = 4, /* a specialised dimension has a value that the pack was not compiled for */
  KAON_NO_DEVICE = 5,          /* no driver, no GPU, or not that one */
  KAON_DRIVER = 6,             /* the CUDA driver refused; the message has its own name of the error */
  KAON_OUT_OF_MEMORY = 7,
  KAON_NOT_PRELOADED = 8,      /* first use inside a stream capture; call kaon_preload() before capturing */
  KAON_CORRUPT = 9,            /* a pack fails its checksum or bounds */
  KAON_STALE = 10,             /* a generated source and its pack do not belong together */
  KAON_IO = 11,                /* the operating system refused to read */
  KAON_COMPILE = 12,
  KAON_ILLEGAL_CONFIG = 13,
  KAON_WRONG_RESULT = 14,
  KAON_TIMEOUT = 15,
  KAON_INTERNAL = 16           /* a bug in Kaon; please report it with the message */
} kaon_code;

/* "invalid_argument"; "unknown" for other numbers. Never null. */
KAON_API const char* kaon_code_name(int32_t code);

/* Message of the calling thread's last failed call; empty before the first. Valid until that thread's next failure. */
KAON_API const char* kaon_last_error(void);

/* ---- Tables and packs ------------------------------------------------------------------------------------------ */

/* One kernel x dtypes x hardware, as generated code defines it in C++ (kaon::KernelTable, same layout). */
typedef struct kaon_kernel_table {
  uint32_t abi_version;
  const char* kernel;
  const char* dtype_key;
  const char* hardware;
  int (*select)(const int64_t* slots);
  const unsigned char* pack_begin;
  const unsigned char* pack_end;
  uint64_t pack_hash;
} kaon_kernel_table;

/* Registers `count` tables, which must live as long as the program. Packs are read when they are first needed.
 * KAON_INVALID_ARGUMENT; KAON_UNSUPPORTED for tables of another ABI version. */
KAON_API kaon_code kaon_register_tables(const kaon_kernel_table* tables, size_t count);

/* Reads a .kpack file and puts it before the linked tables of its kernel and hardware. May be called while kernels run.
 * KAON_NOT_FOUND, KAON_IO, KAON_CORRUPT. */
KAON_API kaon_code kaon_load_pack(const char* path);

/* Forces variants from now on, or ends it with "" or null. `spec` is what the environment variable KAON_FORCE_VARIANT
 * holds: `index`, `0xfingerprint`, `kernel=index` or `kernel=0xfingerprint`, several separated by commas.
 * KAON_INVALID_ARGUMENT with the malformed item. */
KAON_API kaon_code kaon_force_variant(const char* spec);

/* Releases packs that kaon_load_pack() has replaced, their code, and what was made ready for earlier choices. The program
 * promises that no call runs meanwhile, that work on the replaced variants is done, that no captured graph that holds
 * them will be launched again, and that it has forgotten their strings. KAON_DRIVER when code cannot be unloaded; the
 * rest is released all the same. */
KAON_API kaon_code kaon_reclaim(void);

/* Names everything that decides which variant a call of this process gets: kernels, packs and their order, forced
 * variants, whether PTX is allowed. Ranks that compare it before they start choose alike on equal devices. KAON_IO and
 * KAON_CORRUPT for $KAON_HEURISTIC_DIR. */
KAON_API kaon_code kaon_bundle_id(uint64_t* id);

/* ---- Calls ----------------------------------------------------------------------------------------------------- */

typedef struct kaon_kernel kaon_kernel;

/* Finds a kernel whose tables were registered, whose pack was loaded or lies in $KAON_HEURISTIC_DIR. KAON_NOT_FOUND. */
KAON_API kaon_code kaon_kernel_find(const char* name, const kaon_kernel** kernel);

/* A scalar argument; converted to the declared type of its parameter by the call. */
typedef struct kaon_scalar {
  int32_t is_float; /* which of the two values counts */
  int32_t reserved; /* 0 */
  int64_t i;
  double f;
} kaon_scalar;

/* How a call was served. */
typedef enum kaon_match {
  KAON_MATCH_TUNED = 0,        /* this very shape was measured on this hardware */
  KAON_MATCH_INTERPOLATED = 1, /* inside the range of the measured shapes */
  KAON_MATCH_OUT_OF_RANGE = 2, /* a dim lies outside the range of the measured shapes */
  KAON_MATCH_OLDER_TABLE = 3,  /* tuned for older hardware; there is no table for this one */
  KAON_MATCH_GENERIC = 4,      /* the variant that accepts everything */
  KAON_MATCH_FORCED = 5        /* KAON_FORCE_VARIANT, kaon_force_variant() or kaon_call_variant() */
} kaon_match;
#define KAON_NUM_MATCHES 6

/* "tuned", "interpolated", "out_of_range", "older_table", "generic", "forced"; "unknown" for other numbers. */
KAON_API const char* kaon_match_name(int32_t match);

/* What served a call. The strings live as long as the program, or until kaon_reclaim() releases their pack. */
typedef struct kaon_call_info {
  int32_t match;            /* enum kaon_match */
  int32_t variant;          /* index in its table */
  int32_t leaf;             /* of the table's decision tree; -1 when forced */
  int32_t reserved;         /* 0 */
  int64_t programs;         /* blocks in the grid; 0 when there was nothing to do */
  uint64_t fingerprint;     /* of the variant's config */
  const char* config;       /* "block.m=4 num_warps=8" */
  const char* symbol;       /* of the kernel in its image */
  const char* dtype_key;    /* "f16" */
  const char* hardware;     /* of the table: "sm90" */
  const char* image_target; /* of the image that runs: "sm_90" */
  const char* image_trust;  /* "measured here" or "cross-compiled, not run" */
} kaon_call_info;

/* Runs `kernel` on `stream` (a CUstream or cudaStream_t; null is the default stream; ignored for CPU tensors).
 *
 * `tensors` are those of the kernel's signature, inputs then outputs, all on one device; a DLTensor may be passed in
 * place of a kaon_tensor. `scalars` may be null when there are none; `info` may be null. Asynchronous on CUDA: KAON_OK
 * means that the work was queued, and the tensors' memory must live until it ran. CPU tensors are done on return. An output
 * must not overlap an input or another output unless it is declared an alias of it and is exactly that tensor.
 *
 * KAON_INVALID_ARGUMENT, KAON_NOT_FOUND (no tables), KAON_UNSUPPORTED (no image runs here, grid too large, no host
 * backend), KAON_NO_DEVICE, KAON_NOT_PRELOADED, KAON_CORRUPT, KAON_STALE, KAON_DRIVER. */
KAON_API kaon_code kaon_call(const kaon_kernel* kernel, void* stream, const kaon_tensor* const* tensors,
                             int32_t num_tensors, const kaon_scalar* scalars, int32_t num_scalars,
                             kaon_call_info* info);

/* The same with a variant that the program chose: the one whose config has this fingerprint, as kaon_call_info and
 * kaon_config_fingerprint() give it. Its calls are KAON_MATCH_FORCED. As kaon_call(); KAON_NOT_FOUND when the table that
 * serves these dtypes on this device has no such variant, KAON_UNSUPPORTED when the device cannot run it,
 * KAON_INVALID_ARGUMENT when its guards refuse the call. */
KAON_API kaon_code kaon_call_variant(const kaon_kernel* kernel, uint64_t fingerprint, void* stream,
                                     const kaon_tensor* const* tensors, int32_t num_tensors, const kaon_scalar* scalars,
                                     int32_t num_scalars, kaon_call_info* info);

/* The fingerprint of a config written as in kaon_call_info: "block.m=4 num_warps=8". KAON_INVALID_ARGUMENT. */
KAON_API kaon_code kaon_config_fingerprint(const char* config, uint64_t* fingerprint);

/* Checks a call and fills `info` with what would serve it; loads and launches nothing. Errors as kaon_call(). */
KAON_API kaon_code kaon_query(const kaon_kernel* kernel, const kaon_tensor* const* tensors, int32_t num_tensors,
                              const kaon_scalar* scalars, int32_t num_scalars, kaon_call_info* info);

/* Writes why a call gets its variant: the table, the path through its tree, the guards tried, the variant with its evidence,
 * the nearest measured shapes, and what other chips would do. `sm` (120 for sm_120) asks for a chip that need not be
 * here, without touching a driver; 0 for the tensors' own device. At most `bytes` are written, the last of them 0;
 * `*length` gets the length of the whole text without it, and may be null. `buffer` may be null when `bytes` is 0.
 * Errors as kaon_query(); KAON_NOT_FOUND for a chip that is not known. */
KAON_API kaon_code kaon_explain(const kaon_kernel* kernel, const kaon_tensor* const* tensors, int32_t num_tensors,
                                const kaon_scalar* scalars, int32_t num_scalars, int32_t sm, char* buffer, size_t bytes,
                                size_t* length);

/* Loads everything that calls on `device` can reach, in the calling thread's CUDA context; afterwards every call may be
 * captured into a graph. Blocks. Errors as kaon_call(). */
KAON_API kaon_code kaon_preload(const kaon_kernel* kernel, kaon_device device);

/* ---- Counters --------------------------------------------------------------------------------------------------- */

/* How many calls of a kernel were served in each way: by_match[KAON_MATCH_TUNED] and so on. */
typedef struct kaon_call_counts {
  uint64_t by_match[KAON_NUM_MATCHES];
} kaon_call_counts;

/* The calls of all threads since the last reset; empty grids are not counted. Calls that run meanwhile may be missing. */
KAON_API kaon_code kaon_read_counts(const kaon_kernel* kernel, kaon_call_counts* counts);

/* Counts the kernel's calls from zero again. */
KAON_API kaon_code kaon_reset_counts(const kaon_kernel* kernel);

/* The counters of all kernels as Prometheus reads them, whole lines, for a server's own page. At most `bytes` are
 * written, the last of them 0; `*length` gets the length of the whole text without it, and may be null. `buffer` may be
 * null when `bytes` is 0. */
KAON_API kaon_code kaon_metrics_text(char* buffer, size_t bytes, size_t* length);

/* ---- Recording -------------------------------------------------------------------------------------------------- */

/* Counts the shapes of calls from now on, for `aot_runner tune --shapes PATH`. The counts are appended to the file, one
 * JSON object a line, by kaon_record_flush(), kaon_record_stop() and at the end of the process; several processes may
 * share a file. The environment variable KAON_RECORD=path starts it as well. KAON_INVALID_ARGUMENT, KAON_IO. */
KAON_API kaon_code kaon_record_start(const char* path);

/* Appends what was counted since the last flush. KAON_IO: it is lost. */
KAON_API kaon_code kaon_record_flush(void);

/* Flushes, then counts no more. Errors as kaon_record_flush(). */
KAON_API kaon_code kaon_record_stop(void);

/* ---- Ranges ---------------------------------------------------------------------------------------------------- */

/* From now on every launch is a range in the timeline of the profiler that the process runs under (NVTX): domain `kaon`,
 * named after the kernel, the variant's index as its payload. A range spans the queueing of a launch, not its run. The
 * environment variable KAON_NVTX=1 starts it as well. KAON_NOT_FOUND without a profiler, KAON_UNSUPPORTED. */
KAON_API kaon_code kaon_ranges_start(void);

/* No more ranges; those that were begun are ended. */
KAON_API void kaon_ranges_stop(void);

/* ---- Log ------------------------------------------------------------------------------------------------------- */

/* Installs a receiver of the runtime's few log lines; null silences it, as at the start. There is one per kernel, dtypes
 * and device when they are first used, and one per kernel and reason when calls are served worse than a tuned table
 * would. $KAON_LOG_LEVEL bounds them (0 none, 1 errors, 2 and fallbacks, 3 all), $KAON_LOG_FILE names a file to which they
 * are appended as well. The receiver may be called from any thread. */
KAON_API void kaon_set_log_sink(void (*sink)(void* user, const char* line), void* user);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* KAON_KAON_H_ */
