/* The C interface from C: codes, messages, null arguments, and a call, without GoogleTest. */
#include "runtime/kaon.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect_code(const char* what, kaon_code got, kaon_code expected) {
  if (got == expected) return;
  printf("%s: got %s (%s), expected %s\n", what, kaon_code_name(got), kaon_last_error(), kaon_code_name(expected));
  ++failures;
}

static void expect_text(const char* got, const char* expected) {
  if (strcmp(got, expected) == 0) return;
  printf("got:      %s\nexpected: %s\n", got, expected);
  ++failures;
}

static void count_lines(void* user, const char* line) {
  if (line[0] != '\0') ++*(int*)user;
}

static void check_null_arguments(const kaon_kernel* kernel) {
  kaon_call_info info;
  const kaon_kernel* found = NULL;
  const kaon_tensor* none[1] = {NULL};
  expect_code("find null", kaon_kernel_find(NULL, &found), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "name is null");
  expect_code("find into null", kaon_kernel_find("x", NULL), KAON_INVALID_ARGUMENT);
  expect_code("null kernel", kaon_call(NULL, NULL, none, 1, NULL, 0, NULL), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "kernel is null");
  expect_code("null tensors", kaon_call(kernel, NULL, NULL, 1, NULL, 0, NULL), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "tensors is null");
  expect_code("null tensor", kaon_call(kernel, NULL, none, 1, NULL, 0, NULL), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "a tensor is null");
  expect_code("null scalars", kaon_call(kernel, NULL, NULL, 0, NULL, 1, NULL), KAON_INVALID_ARGUMENT);
  expect_code("many tensors", kaon_call(kernel, NULL, none, 17, NULL, 0, NULL), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "got 17 tensors and 0 scalars, at most 16 and 128");
  expect_code("null info", kaon_query(kernel, none, 1, NULL, 0, NULL), KAON_INVALID_ARGUMENT);
  expect_code("null path", kaon_load_pack(NULL), KAON_INVALID_ARGUMENT);
  expect_code("no file", kaon_load_pack("/nonexistent.kpack"), KAON_NOT_FOUND);
  expect_code("null tables", kaon_register_tables(NULL, 1), KAON_INVALID_ARGUMENT);
  expect_code("no tables", kaon_register_tables(NULL, 0), KAON_OK);
  expect_code("bad device", kaon_preload(kernel, (kaon_device){7, 0}), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "device type 7, expected KAON_CPU or KAON_CUDA");
  kaon_tensor bad = {NULL, {KAON_CUDA, 0}, 9, {KAON_FLOAT, 16, 1}, NULL, NULL, 0};
  none[0] = &bad;
  expect_code("bad rank", kaon_query(kernel, none, 1, NULL, 0, &info), KAON_INVALID_ARGUMENT);
  expect_text(kaon_last_error(), "argument 0: tensor has rank 9, at most 6");
}

static void check_call(const kaon_kernel* kernel) {
  int64_t shape[2] = {64, 256};
  kaon_dtype f16 = {KAON_FLOAT, 16, 1};
  kaon_tensor x = {(void*)0x100000000, {KAON_CUDA, 0}, 2, f16, shape, NULL, 0};
  kaon_tensor w = {(void*)0x200000000, {KAON_CUDA, 0}, 1, f16, shape + 1, NULL, 0};
  const kaon_tensor* tensors[3] = {&x, &w, &x};
  kaon_call_info info;
  expect_code("query", kaon_query(kernel, tensors, 3, NULL, 0, &info), KAON_OK);
  expect_text(kaon_match_name(info.match), "tuned");
  expect_code("call", kaon_call(kernel, (void*)0x5, tensors, 3, NULL, 0, &info), KAON_OK);
  expect_text(info.config, "block.m=4");
  expect_text(info.symbol, "scale_rows_f16_v0");
  expect_text(info.image_target, "sm_90");
  expect_code("force", kaon_force_variant("2"), KAON_OK);
  expect_code("forced call", kaon_call(kernel, NULL, tensors, 3, NULL, 0, &info), KAON_OK);
  expect_text(kaon_match_name(info.match), "forced");
  expect_code("force nothing", kaon_force_variant(NULL), KAON_OK);
  expect_code("bad force", kaon_force_variant("a=b"), KAON_INVALID_ARGUMENT);
}

int main(int argc, char** argv) {
  int lines = 0;
  const kaon_kernel* kernel = NULL;
  if (argc != 2) return 2;
  expect_text(kaon_last_error(), "");
  expect_text(kaon_code_name(KAON_NOT_PRELOADED), "not_preloaded");
  expect_text(kaon_code_name(99), "unknown");
  expect_text(kaon_match_name(99), "unknown");
  kaon_set_log_sink(count_lines, &lines);
  expect_code("find", kaon_kernel_find("scale_rows", &kernel), KAON_NOT_FOUND);
  expect_code("load", kaon_load_pack(argv[1]), KAON_OK);
  expect_code("find", kaon_kernel_find("scale_rows", &kernel), KAON_OK);
  check_null_arguments(kernel);
  check_call(kernel);
  kaon_set_log_sink(NULL, NULL);
  if (lines < 1) {
    printf("no log line for the first use\n");
    ++failures;
  }
  if (failures == 0) printf("c interface: ok\n");
  return failures == 0 ? 0 : 1;
}
