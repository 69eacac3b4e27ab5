#include "pretuned/pretuned.h"

#include "pretuned/softmax/softmax.h"
#include "pretuned/vector_add/vector_add.h"

void kaon_register_pretuned(void) {
  kaon::softmax_kernel();
  kaon::vector_add_kernel();
}
