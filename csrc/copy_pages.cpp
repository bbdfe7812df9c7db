#include "copy_pages.h"

#include <cstring>
#include <stdexcept>
#include <string>

#include "parallel.h"

namespace agentprim {

namespace {

void check_page(int64_t page, const View& cache, const char* which) {
  if (page < 0 || page >= cache.pages) {
    throw std::invalid_argument(std::string("pairs must have ") + which + " pages in 0.." +
                                std::to_string(cache.pages - 1) + ", got " + std::to_string(page));
  }
}

}  // namespace

PageCopy with_long_rows(PageCopy copy) {
  View &out = copy.out, &in = copy.in;
  const auto join = [&](int64_t View::* count, int64_t View::* stride) {
    if (out.*stride != out.row_bytes() || in.*stride != in.row_bytes()) return false;
    for (View* view : {&out, &in}) {
      view->dim *= view->*count;
      view->*count = 1;
    }
    return true;
  };
  if (join(&View::page_size, &View::slot_stride)) join(&View::heads, &View::head_stride);
  return copy;
}

void copy_pages(const PageCopy& copy, int64_t threads) {
  for (int64_t i = 0; i < copy.num_pairs; ++i) {
    check_page(copy.pairs[2 * i], copy.out, "target");
    check_page(copy.pairs[2 * i + 1], copy.in, "source");
  }
  const PageCopy rows = with_long_rows(copy);
  const int64_t bytes = rows.in.row_bytes();
  parallel_for(rows.rows(), threads, 2 * rows.rows() * bytes, [&](int64_t row) {
    const RowCopy at = locate(rows, row);
    std::memcpy(at.out, at.in, bytes);
  });
}

#ifndef AP_CUDA
void copy_pages_cuda(const PageCopy&, int, void*) {
  throw std::runtime_error("the compiled module was built without CUDA");
}
#endif

}  // namespace agentprim
