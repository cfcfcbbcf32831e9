// Windows and index maps, sentence by sentence of the contract's sections 3 and 4.
#include "deepselect/row_view.h"

#include <vector>

#include "expect.h"

namespace {

using deepselect::IndexType;
using deepselect::row_view;
using deepselect::RowVector;
using deepselect::RowView;
using deepselect::TopkParams;

RowVector vector_of(const std::vector<std::int32_t>& items, std::int64_t stride_items = 1) {
  return {items.data(), stride_items, IndexType::kInt32, {}};
}

RowVector vector_of(const std::vector<std::int64_t>& items) {
  return {items.data(), 1, IndexType::kInt64, {}};
}

bool has_window(const RowView& view, std::int64_t begin, std::int64_t end) {
  return view.begin == begin && view.end == end;
}

void check_windows() {
  TopkParams params{};
  params.num_cols = 100;
  EXPECT(has_window(row_view(params, 0), 0, 100));

  const std::vector<std::int32_t> begin{-5, 10, 60, 100, 2000};
  const std::vector<std::int64_t> end{-1, 200, 50, 100, INT64_MAX};
  params.begin = vector_of(begin);
  params.end = vector_of(end);
  EXPECT(has_window(row_view(params, 0), 0, 0));
  EXPECT(has_window(row_view(params, 1), 10, 100));
  EXPECT(has_window(row_view(params, 2), 60, 60));
  EXPECT(has_window(row_view(params, 3), 100, 100));
  EXPECT(has_window(row_view(params, 4), 100, 100));

  const std::vector<std::int32_t> strided{7, -1, 8, -1, 9};
  params.begin = vector_of(strided, 2);
  params.end = {};
  EXPECT(has_window(row_view(params, 2), 9, 100));
}

void check_offsets() {
  TopkParams params{};
  params.num_cols = 8;
  const std::vector<std::int64_t> offset{2147483647, INT64_MAX};
  params.index_offset = vector_of(offset);
  EXPECT(row_view(params, 0).index_of(1) == 2147483648);
  EXPECT(row_view(params, 1).index_of(1) == INT64_MIN);
}

void check_page_tables() {
  TopkParams params{};
  params.num_cols = 1000;
  // Two tables of three pages, stored column by column.
  const std::vector<std::int32_t> table{7, -1, 5, 2000000000, 3, 4};
  params.page_table = table.data();
  params.num_tables = 2;
  params.num_table_pages = 3;
  params.page_table_row_stride_items = 1;
  params.page_table_col_stride_items = 2;
  params.log2_page_size = 4;

  RowView view = row_view(params, 0);
  EXPECT(has_window(view, 0, 48));
  EXPECT(view.index_of(0) == 7 * 16);
  EXPECT(view.index_of(17) == 5 * 16 + 1);
  EXPECT(view.index_of(47) == 3 * 16 + 15);
  EXPECT(row_view(params, 1).index_of(3) == -16 + 3);
  EXPECT(row_view(params, 1).index_of(16) == std::int64_t{2000000000} * 16);

  const std::vector<std::int32_t> first_page{1, 3, 4, -1};
  const std::vector<std::int32_t> table_row{1, 0, 0, 0, 2, -1};
  params.page_table_row = vector_of(table_row);
  params.page_table_begin = vector_of(first_page);
  view = row_view(params, 0);
  EXPECT(has_window(view, 0, 32));
  EXPECT(view.index_of(31) == 4 * 16 + 15);
  EXPECT(has_window(row_view(params, 1), 0, 0));  // no page left
  EXPECT(row_view(params, 2).size() == 0);        // past the table
  EXPECT(row_view(params, 3).size() == 0);        // before the table
  params.page_table_begin = {};
  EXPECT(row_view(params, 4).size() == 0);
  EXPECT(row_view(params, 5).size() == 0);

  // The window's begin moves what the table covers, not what it maps to.
  const std::vector<std::int32_t> begin{990};
  const std::vector<std::int32_t> zero{0};
  params.page_table_row = vector_of(zero);
  params.begin = vector_of(begin);
  view = row_view(params, 0);
  EXPECT(has_window(view, 990, 1000));
  EXPECT(view.index_of(9) == 7 * 16 + 9);
}

}  // namespace

int main() {
  check_windows();
  check_offsets();
  check_page_tables();
  return expect::verdict();
}
