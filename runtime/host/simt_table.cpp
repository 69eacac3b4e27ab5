// The functions behind the table of simt_abi.h.
#include <cmath>

#include "runtime/host/block.h"
#include "runtime/host/float_bits.h"
#include "runtime/host/print.h"

namespace kaon::host {

namespace {

void barrier(KaonSimtThread* self, uint32_t site) { BlockRunner::of(self).barrier(self, site); }

uint32_t shuffle_xor(KaonSimtThread* self, uint32_t value, uint32_t lane_xor, uint32_t site) {
  return BlockRunner::of(self).shuffle(self, value, self->thread ^ lane_xor, site);
}

uint32_t shuffle_idx(KaonSimtThread* self, uint32_t value, uint32_t source_lane, uint32_t site) {
  return BlockRunner::of(self).shuffle(self, value, source_lane, site);
}

void read_shared(KaonSimtThread* self, uint32_t offset, void* destination, uint32_t bytes, uint32_t site) {
  BlockRunner::of(self).read_shared(self, offset, destination, bytes, site);
}

void write_shared(KaonSimtThread* self, uint32_t offset, const void* source, uint32_t bytes, uint32_t site) {
  BlockRunner::of(self).write_shared(self, offset, source, bytes, site);
}

void trap(KaonSimtThread* self, uint32_t site) { BlockRunner::of(self).trap(self, site); }

void fail(KaonSimtThread* self, const char* message) { BlockRunner::of(self).fail_check(self, message); }

void print(KaonSimtThread*, const char* format, const int64_t* values) { print_line(format, values); }

KaonSimtTable make_table() {
  KaonSimtTable table = {};
  table.abi_version = KAON_SIMT_ABI_VERSION;
  table.barrier = barrier;
  table.shuffle_xor = shuffle_xor;
  table.shuffle_idx = shuffle_idx;
  table.read_shared = read_shared;
  table.write_shared = write_shared;
  table.f32_to_f16 = f32_to_f16;
  table.f16_to_f32 = f16_to_f32;
  table.f32_to_bf16 = f32_to_bf16;
  table.exp2f = ::exp2f;
  table.log2f = ::log2f;
  table.sinf = ::sinf;
  table.cosf = ::cosf;
  table.tanhf = ::tanhf;
  table.erff = ::erff;
  table.powf = ::powf;
  table.exp = ::exp;
  table.exp2 = ::exp2;
  table.log = ::log;
  table.log2 = ::log2;
  table.sin = ::sin;
  table.cos = ::cos;
  table.tanh = ::tanh;
  table.erf = ::erf;
  table.pow = ::pow;
  table.trap = trap;
  table.fail = fail;
  table.print = print;
  return table;
}

}  // namespace

const KaonSimtTable& simt_table() {
  static const KaonSimtTable table = make_table();
  return table;
}

}  // namespace kaon::host
