// Packs: the writer's and the reader's agreement, and that no damage goes unnoticed or is believed.
#include "runtime/launch/pack.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#include "runtime/launch/pack_records.h"
#include "runtime/launch/pack_writer.h"
#include "tests/unit/runtime/sample_pack.h"

namespace kaon {
namespace {

using testing::sample_pack;

std::string sample_bytes() {
  PackContents contents = sample_pack("scale_rows", "sm90", {"sm_90", "sm_100"});
  contents.records.tables[0].variants[0].evidence = {7, 0.98, 0.9};
  contents.records.tables[1].signature.scalars = {{"eps", DType::kF32}};
  contents.records.tables[1].signature.requires_ = {{Expr::slot(testing::kN) - 1, "N != 1"}};
  contents.records.tables[1].variants[1].info.plan.steps = {{StepKind::kZero, 2}, {StepKind::kKernel, 0}};
  Result<std::string> bytes = write_pack(contents);
  EXPECT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  return *bytes;
}

// The reader on an aligned copy.
Status read_status(const std::string& bytes) { return read_pack_contents(bytes).status(); }

TEST(Pack, WritingIsDeterministicAndReadingInvertsIt) {
  std::string bytes = sample_bytes();
  EXPECT_EQ(bytes, sample_bytes());
  Result<PackContents> contents = read_pack_contents(bytes);
  ASSERT_TRUE(contents.is_ok()) << contents.status().to_string();
  EXPECT_EQ(*write_pack(*contents), bytes);
  EXPECT_EQ(contents->json, "{\"made\": \"by a test\"}");
  EXPECT_EQ(contents->records.hardware, "sm90");
  const PackTable& f16 = contents->records.tables[0];
  EXPECT_EQ(f16.dtype_key, "f16");
  EXPECT_EQ(f16.variants[0].evidence.shapes_served, 7u);
  EXPECT_EQ(f16.variants[0].evidence.geomean_of_oracle, 0.98);
  EXPECT_EQ(f16.variants[0].info.guards[1].value, 4096);
  EXPECT_EQ(f16.variants[1].images[1].trust, ImageTrust::kCrossCompiled);
  EXPECT_EQ(contents->images[1].target, "sm_100");
  EXPECT_EQ(contents->records.tables[1].signature.requires_[0].text, "N != 1");
  EXPECT_EQ(contents->records.tables[1].variants[1].info.plan.steps[0].tensor, 2);
}

TEST(Pack, ImagesLieOnTheirBoundary) {
  std::string path = ::testing::TempDir() + "kaon_pack_test.kpack";
  std::ofstream(path, std::ios::binary) << sample_bytes();
  Result<std::shared_ptr<const Pack>> pack = Pack::map_file(path);
  ASSERT_TRUE(pack.is_ok()) << pack.status().to_string();
  ASSERT_EQ((*pack)->images().size(), 2u);
  for (const PackImageView& image : (*pack)->images()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(image.data) % kPackAlignment, 0u);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(image.data)).substr(0, 10), "image for ");
  }
  EXPECT_EQ((*pack)->hash(), pack_hash(sample_bytes().data(), sample_bytes().size()));
  EXPECT_NE((*pack)->find_table("f32"), nullptr);
  EXPECT_EQ((*pack)->find_table("bf16"), nullptr);
  remove(path.c_str());
}

TEST(Pack, FileErrorsSayWhatTheSystemSaid) {
  EXPECT_EQ(Pack::map_file("/nonexistent/x.kpack").status().to_string(),
            "not_found: /nonexistent/x.kpack: cannot open: No such file or directory");
  std::string path = ::testing::TempDir() + "kaon_empty.kpack";
  std::ofstream(path, std::ios::binary).flush();
  EXPECT_EQ(Pack::map_file(path).status().to_string(), "corrupt: " + path + ": the file is empty");
  remove(path.c_str());
  EXPECT_EQ(Pack::map_file("/tmp").status().code(), Code::kIo);
}

TEST(Pack, MisalignedBytesAreRefused) {
  alignas(64) static unsigned char bytes[256] = {};
  EXPECT_EQ(Pack::borrow(bytes + 8, 128, "p").status().to_string(),
            "invalid_argument: p: a pack must lie on a 64-byte boundary");
}

TEST(Pack, TruncationAtEverySeventhByteIsCorrupt) {
  std::string bytes = sample_bytes();
  for (size_t length = 0; length < bytes.size(); length += 7) {
    EXPECT_EQ(read_status(bytes.substr(0, length)).code(), Code::kCorrupt) << length;
  }
  EXPECT_EQ(read_status(bytes + '\0').code(), Code::kCorrupt);
}

TEST(Pack, EveryFlippedByteIsCorrupt) {
  std::string bytes = sample_bytes();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    EXPECT_EQ(read_status(damaged).code(), Code::kCorrupt) << "byte " << i;
  }
}

// Damage with right checksums: what a broken writer or an attacker makes. The reader may accept it only if it is valid.
TEST(Pack, DamagedRecordsWithRightChecksumsNeverCrash) {
  std::string bytes = sample_bytes();
  std::mt19937_64 random(11);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = bytes;
    PackHeader header;
    memcpy(&header, damaged.data(), sizeof header);
    SectionEntry& records = header.sections[0];
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0; --edits) {
      size_t place = records.offset + random() % records.bytes;
      damaged[place] = static_cast<char>(random() % 2 == 0 ? random() : damaged[place] ^ (1 << (random() % 8)));
    }
    records.checksum = pack_checksum(damaged.data() + records.offset, records.bytes);
    header.header_checksum = pack_checksum(&header, offsetof(PackHeader, header_checksum));
    memcpy(damaged.data(), &header, sizeof header);
    Result<PackContents> contents = read_pack_contents(damaged);
    if (contents.is_ok()) {
      EXPECT_TRUE(write_pack(*contents).is_ok());
    } else {
      EXPECT_EQ(contents.status().code(), Code::kCorrupt);
      ++refused;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(Pack, ErrorsSayWhatAndWhere) {
  std::string bytes = sample_bytes();
  EXPECT_EQ(read_status("").message(), "pack: has 0 bytes, the header alone takes 128");
  std::string damaged = bytes;
  damaged[0] = 'X';
  EXPECT_EQ(read_status(damaged).message(), "pack: does not begin with KAONPACK");
  damaged = bytes;
  damaged[8] = 9;
  EXPECT_EQ(read_status(damaged).message(),
            "pack: has format version 9, this build reads 1; make it again with the matching aot_runner");
  damaged = bytes;
  damaged[130] ^= 1;
  EXPECT_EQ(read_status(damaged).message(), "pack: section records: checksum does not match");
  damaged = bytes;
  damaged.back() ^= 1;
  EXPECT_EQ(read_status(damaged).message(), "pack: section images: checksum does not match");
  EXPECT_EQ(
      read_status(bytes.substr(0, bytes.size() - 1)).message(),
      "pack: has " + std::to_string(bytes.size() - 1) + " bytes, its header says " + std::to_string(bytes.size()));
}

std::string write_error(void (*damage)(PackContents*)) {
  PackContents contents = sample_pack("scale_rows", "sm90", {"sm_90"});
  damage(&contents);
  Status status = write_pack(contents).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  return status.message();
}

TEST(Pack, WriterRefusesWhatTheReaderWould) {
  std::string table = "pack of scale_rows: table 'f16': ";
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].variants[3].info.guards = {{}}; }),
            table + "variant 3: guard divides by 0");
  EXPECT_EQ(write_error([](PackContents* c) {
              c->records.tables[0].variants[3].info.guards = {{GuardKind::kAtMost, 0, 0, 1}};
            }),
            table + "the generic variant 3 has guards: x <= 1");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].variants[0].info.guards[0].slot = 99; }),
            table + "variant 0: guard reads slot 99, expected one below 10");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].tree.leaves[1].pop_back(); }),
            table + "leaf 1 ends in variant 2, the generic one is 3");
  EXPECT_EQ(write_error([](PackContents* c) {
              c->records.tables[0].variants[3].info.guards = {{GuardKind::kEqual, testing::kN, 0, 64}};
              c->records.tables[0].tree.leaves[1] = {3, 2};
            }),
            table + "the generic variant 2 has guards: N <= 65536");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].variants[1].info.plan.threads = 100; }),
            table + "variant 1: launch plan: has 100 threads, expected a multiple of 32 up to 1024");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].variants[1].info.plan.steps.clear(); }),
            table + "variant 1: launch plan: launches 0 kernels, expected 1");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].variants[1].images[0].image = 4; }),
            table + "variant 1: names image 4 of 1");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].variants[1].images.clear(); }),
            table + "variant 1: has no image");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].signature.dims.push_back("K"); }),
            table + "signature: dim K is not by itself the extent of any axis");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].signature.tensors[0].extents[0] = Expr::slot(2); }),
            table + "signature: tensor x: extent: reads slot 2, which is neither a dim nor a scalar");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].ranges.pop_back(); }),
            table + "has 1 dim ranges for 2 dims");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[0].shapes.push_back({1}); }),
            table + "has a measured shape of 1 dims, expected 2");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables[1] = c->records.tables[0]; }),
            "pack of scale_rows: has two tables 'f16'");
  EXPECT_EQ(write_error([](PackContents* c) { c->records.tables.clear(); }), "pack of scale_rows: has no tables");
  EXPECT_EQ(write_error([](PackContents* c) { c->images[0].bytes.clear(); }),
            "pack of scale_rows: image 0 has no bytes or no target");
  EXPECT_EQ(write_error([](PackContents* c) {
              for (TensorParam& tensor : c->records.tables[0].signature.tensors) {
                for (Expr& extent : tensor.extents) extent = extent + 1;
              }
            }),
            table + "signature: dim M is not by itself the extent of any axis");
}

TEST(Pack, ChecksumSeesEveryWordAndTheLength) {
  std::string bytes(64, 'a');
  uint64_t base = pack_checksum(bytes.data(), bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 4;
    EXPECT_NE(pack_checksum(bytes.data(), bytes.size()), base);
    bytes[i] ^= 4;
  }
  EXPECT_NE(pack_checksum("\0\0", 1), pack_checksum("\0\0", 2));
}

}  // namespace
}  // namespace kaon
