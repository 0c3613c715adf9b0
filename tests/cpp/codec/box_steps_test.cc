#include "codec/box_steps.h"

#include "codec/orientation.h"
#include "support.h"

namespace headrace {
namespace {

/// The pixels of a box are marked, turned as the codec turns them, and found again.
TEST(BoxSteps, GoWhereTurnedPixelsGo) {
  const Size size{7, 11};
  const Box box{2, 1, 3, 6};
  std::vector<uint8_t> pixels(77, 0);
  for (int y = box.top; y < box.top + box.height; ++y)
    for (int x = box.left; x < box.left + box.width; ++x)
      pixels[static_cast<size_t>(y * size.width + x)] = 1;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    ReusedBuffer memory;
    const Picture turned = turn_upright({pixels.data(), 11, 7, 1, 11}, orientation, memory);
    Geometry geometry;
    geometry.count = 1;
    geometry.steps[0].kind = PictureStep::Kind::turn;
    geometry.steps[0].orientation = orientation;
    geometry.steps[0].out = geometry.size = {turned.height, turned.width};
    const Corners corners{1, 2, 7, 5};
    const MovedBox moved = move_box(corners, size, geometry);
    EXPECT_EQ(moved.visible, 1);
    for (int y = 0; y < turned.height; ++y)
      for (int x = 0; x < turned.width; ++x) {
        const bool inside = x >= moved.corners.left && x < moved.corners.right &&
                            y >= moved.corners.top && y < moved.corners.bottom;
        EXPECT_EQ(turned.line(y)[x], inside ? 1 : 0) << y << " " << x;
      }
  }
}

TEST(BoxSteps, TellWhichShareIsLeft) {
  const auto plan =
      plan_geometry({CenterCrop{20, 20}, Resize{Resize::By::exact, 10, 40}}, {40, 40}, RowKey());
  ASSERT_TRUE(plan.ok());
  const MovedBox moved = move_box({0, 0, 20, 20}, {40, 40}, *plan);
  EXPECT_DOUBLE_EQ(moved.visible, 0.25);
  EXPECT_DOUBLE_EQ(moved.corners.right, 20);
  EXPECT_DOUBLE_EQ(moved.corners.bottom, 5);
  EXPECT_EQ(move_box({0, 0, 5, 5}, {40, 40}, *plan).visible, 0);
  EXPECT_EQ(move_box({15, 15, 15, 20}, {40, 40}, *plan).visible, 0);  // without area
}

}  // namespace
}  // namespace headrace
