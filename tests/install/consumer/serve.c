/* Serves vector_add on CPU tensors through the C interface, and checks the results. */
#include <kaon/kaon.h>
#include <pretuned/pretuned.h>
#include <runtime/host/host.h>
#include <stdio.h>

int main(void) {
  static float x[3001], y[3001], out[3001];
  const int64_t lengths[] = {1, 64, 1000, 3001};
  const kaon_kernel* kernel = NULL;
  kaon_host_install();
  kaon_register_pretuned();
  if (kaon_kernel_find("vector_add", &kernel) != KAON_OK) return printf("%s\n", kaon_last_error()), 1;
  for (int i = 0; i < 3001; ++i) x[i] = (float)i, y[i] = 0.5f * (float)i;
  for (int i = 0; i < 4; ++i) {
    kaon_dtype f32 = {KAON_FLOAT, 32, 1};
    kaon_device cpu = {KAON_CPU, 0};
    kaon_tensor a = {x, cpu, 1, f32, lengths + i, NULL, 0}, b = a, c = a;
    const kaon_tensor* tensors[3] = {&a, &b, &c};
    kaon_call_info info;
    b.data = y;
    c.data = out;
    if (kaon_call(kernel, NULL, tensors, 3, NULL, 0, &info) != KAON_OK) return printf("%s\n", kaon_last_error()), 1;
    for (int64_t j = 0; j < lengths[i]; ++j) {
      if (out[j] != x[j] + y[j]) return printf("element %d is wrong\n", (int)j), 1;
    }
    printf("vector_add right %s %s\n", kaon_match_name(info.match), info.config);
  }
  return 0;
}
