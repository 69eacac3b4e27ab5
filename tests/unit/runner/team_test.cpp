// Configs as members of a team: few that serve many shapes, rather than the fastest of each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aot_runner/search/team.h"
#include "tests/unit/runner/softmax_model.h"

namespace kaon::runner {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

Config named(int64_t id) {
  Config config;
  config.set("id", id);
  return config;
}

std::vector<WeightedShape> row_of_shapes(int count) {
  std::vector<WeightedShape> shapes;
  for (int s = 0; s < count; ++s) shapes.push_back({{1, int64_t{64} << s}, 1});
  return shapes;
}

/// times[config][shape] in microseconds, 0 for not asked; config 0 is the generic one.
Observations seen_of(const std::vector<std::vector<double>>& times) {
  Observations seen(row_of_shapes(static_cast<int>(times[0].size())));
  for (size_t c = 0; c < times.size(); ++c) {
    for (size_t s = 0; s < times[c].size(); ++s) {
      if (times[c][s] == 0) continue;
      seen.add(named(static_cast<int64_t>(c)), static_cast<int>(s), {Outcome::Kind::kTimed, times[c][s], 0.01});
    }
  }
  return seen;
}

// Each of 1 to 4 is the fastest somewhere; 5 and 6 are near the fastest on half of the shapes each.
Observations specialists_and_generalists() {
  return seen_of({{90, 90, 90, 90},
                  {10, 40, 40, 40},
                  {40, 10, 40, 40},
                  {40, 40, 10, 40},
                  {40, 40, 40, 10},
                  {10.5, 10.5, 40, 40},
                  {40, 40, 10.5, 10.5}});
}

TEST(Team, OfTwoIsMadeOfGeneralists) {
  const Observations seen = specialists_and_generalists();
  EXPECT_THAT(best_team(seen, {named(0)}, 2, std::vector<double>(4, 1.0)), ElementsAre(named(5), named(6)));
  EXPECT_THAT(best_team(seen, {named(0)}, 4, std::vector<double>(4, 1.0)),
              ElementsAre(named(1), named(2), named(3), named(4)));
}

TEST(Team, WeighsShapes) {
  const Observations seen = specialists_and_generalists();
  EXPECT_THAT(best_team(seen, {named(0)}, 1, {3, 3, 1, 1}), ElementsAre(named(5)));
  EXPECT_THAT(best_team(seen, {named(0)}, 1, {1, 1, 3, 3}), ElementsAre(named(6)));
}

TEST(FinalField, HoldsTheTeamAndThenTheFastestOfEachShape) {
  const Observations seen = specialists_and_generalists();
  const std::vector<Config> all = final_field(seen, {named(0)}, 7, 2, 1);
  EXPECT_EQ(all.size(), 7u);
  const std::vector<Config> few = final_field(seen, {named(0)}, 3, 2, 1);
  EXPECT_THAT(few, ElementsAre(named(0), named(5), named(6))) << "the fastest of each shape would leave two unserved";
  EXPECT_EQ(final_field(seen, {named(0)}, 5, 2, 1), final_field(seen, {named(0)}, 5, 2, 1));
}

TEST(Rising, KeepsUpWithTheTeamAndWasNotAskedEverywhere) {
  Observations seen =
      seen_of({{90, 90, 90, 90}, {10, 10, 12, 12}, {10.1, 10.1, 0, 0}, {14, 10.1, 0, 0}, {30, 30, 0, 0}});
  SearchSpace space;
  space.default_config = space.generic_config = named(0);
  space.normalize = [](const Config& config) { return config; };
  const std::vector<Config> found = rising(space, seen, {named(1)}, 8);
  EXPECT_THAT(found, ElementsAre(named(2)));
  EXPECT_THAT(rising(space, seen, {named(1)}, 0), ElementsAre());
}

TEST(TeamMoves, VaryMembersWhereTheyServeAndSpreadWhatIsFastWhereTheTeamIsNot) {
  const SearchSpace space = softmax_space();
  std::vector<WeightedShape> shapes;
  for (int64_t n : {1024, 2048, 4096, 8192}) shapes.push_back({{4096, n}, 1});
  Observations seen(shapes);
  Config member = space.default_config, rival = space.default_config;
  member.set("num_warps", int64_t{8});
  member.set("reduce.N", std::string("resident(4)"));
  member = space.normalize(member);
  rival.set("reduce.N", std::string("resident(2)"));
  rival = space.normalize(rival);
  for (int s = 0; s < 4; ++s) seen.add(member, s, {Outcome::Kind::kTimed, 20.0 + 5 * s, 0.01});
  seen.add(rival, 0, {Outcome::Kind::kTimed, 10, 0.01});  // twice as fast on the shortest rows
  heuristics::Random random(1);
  bool varied = false, spread = false;
  for (const Ask& ask : team_moves(space, seen, {member}, 12, /*fine=*/false, &random)) {
    EXPECT_THAT(ask.shapes, Not(::testing::IsEmpty()));
    for (int s : ask.shapes) {
      EXPECT_EQ(seen.at(ask.config, s).kind, Outcome::Kind::kUnknown) << "asked before";
      EXPECT_LE(space.fill(ask.config, shapes[static_cast<size_t>(s)].shape), 1) << ask.config.to_text();
    }
    varied |= !(ask.config == rival) && ask.config.get_int("num_warps", 0) != 8;
    if (ask.config == rival) {
      spread = true;
      EXPECT_THAT(ask.shapes, Contains(1));
    }
  }
  EXPECT_TRUE(varied && spread);
}

}  // namespace
}  // namespace kaon::runner
