// From a text in the tile language to a staged kernel and its simulated result, with the checks that every test wants.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "compiler/config/config_space.h"
#include "compiler/frontend/frontend.h"
#include "compiler/passes/pipeline.h"
#include "compiler/target/target.h"
#include "tests/support/staged_sim.h"

namespace kaon::compiler {

/// The first kernel of `text`; generic T bound to `dtype`. Fails the test on errors in the text.
inline Kernel logical_kernel(const std::string& text, DType dtype = DType::kF32) {
  const SourceFile file("test.tile", text);
  Diagnostics diagnostics(file);
  const auto program = Program::create(file, &diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  if (!program) return Kernel();
  DTypeBinding binding;
  if (text.find(" T in (") != std::string::npos) binding["T"] = dtype;
  Result<Kernel> kernel = program->instantiate(program->kernels()[0].name, binding);
  EXPECT_TRUE(kernel) << kernel.status().to_string();
  return kernel ? std::move(kernel).value() : Kernel();
}

inline Config config_of(const std::string& text) {
  Result<Config> config = Config::from_text(text);
  EXPECT_TRUE(config) << text;
  return config ? *config : Config();
}

inline Target target_of(const std::string& name = "sm_90") { return *find_target(name); }

inline Kernel staged_kernel(const Kernel& logical, const Config& config) {
  Result<Kernel> staged = run_pipeline(logical, config, target_of());
  EXPECT_TRUE(staged) << config.to_text() << ": " << staged.status().to_string();
  return staged ? std::move(staged).value() : Kernel();
}

/// Between the addresses of two tensors of a simulated call.
inline constexpr int64_t kFarApart = 1 << 24;

/// Small numbers that differ from neighbour to neighbour and repeat late; the same in every run.
inline double sample(int64_t i) { return static_cast<double>((i * 7919 + 13) % 257) / 64.0 - 2.0; }
inline void fill(SimTensor* tensor, int64_t seed = 0) {
  for (size_t i = 0; i < tensor->data.size(); ++i) tensor->data[i] = sample(static_cast<int64_t>(i) + seed);
}

}  // namespace kaon::compiler
