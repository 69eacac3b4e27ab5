/* Makes every kernel of this library known to kaon_kernel_find(). C callers need it once; the typed C++ functions
   register their own tables. */
#pragma once

#include "runtime/kaon.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Idempotent and thread-safe. */
KAON_API void kaon_register_pretuned(void);

#ifdef __cplusplus
}
#endif
