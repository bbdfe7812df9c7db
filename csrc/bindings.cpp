// the only file that knows Python; arguments were checked there, exceptions become ValueError
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "attend.h"
#include "copy_pages.h"
#include "materialize.h"
#include "pack_pages.h"
#include "pool.h"
#include "rotate.h"
#include "select.h"
#include "staging_ring.h"
#include "store.h"

namespace py = pybind11;
namespace ap = agentprim;

namespace {

// address, shape, strides in elements
template <size_t N>
using Memory = std::tuple<uintptr_t, std::array<int64_t, N>, std::array<int64_t, N>>;
using SpanTable = std::tuple<uintptr_t, int64_t, uintptr_t, int64_t>;  // spans, page table
using Rows = std::tuple<uintptr_t, int64_t, int64_t, int64_t>;  // as in Rotation
using NoGil = py::call_guard<py::gil_scoped_release>;

template <typename T>
T* pointer(uintptr_t address) {
  return reinterpret_cast<T*>(address);
}

ap::View view_of(const Memory<5>& memory, int64_t item) {
  const auto& [address, n, stride] = memory;
  return {pointer<char>(address), n[0], n[1], n[2], n[3], n[4], stride[0] * item,
          stride[1] * item, stride[2] * item, stride[3] * item, item};
}

ap::View view(const Memory<5>& memory, int dtype) { return view_of(memory, dtype == 0 ? 4 : 2); }

ap::View view(const Memory<4>& memory, int dtype) {
  const auto& [address, n, stride] = memory;
  return view(Memory<5>{address, {1, n[0], n[1], n[2], n[3]},
                        {0, stride[0], stride[1], stride[2], stride[3]}}, dtype);
}

ap::Ends ends(const std::array<Memory<5>, 4>& memory, int dtype) {
  return {view(memory[0], dtype), view(memory[1], dtype), view(memory[2], dtype),
          view(memory[3], dtype), static_cast<ap::Dtype>(dtype)};
}

ap::Spans spans(const SpanTable& table) {
  const auto& [rows, count, page_table, entries] = table;
  return {pointer<ap::Span>(rows), count, pointer<int32_t>(page_table), entries};
}

ap::Rotation rotation(const Rows& rows) {
  const auto& [address, layer_stride, count, half] = rows;
  return {pointer<float>(address), layer_stride, count, half};
}

void rotate(const Memory<5>& k_cache, int dtype, const SpanTable& table, const Rows& rows,
            bool interleaved, int64_t threads, const std::string& isa) {
  ap::rotate(view(k_cache, dtype), static_cast<ap::Dtype>(dtype), spans(table), rotation(rows),
             interleaved, threads, ap::lanes(isa.c_str()));
}

void store(const std::array<Memory<5>, 4>& memory, int dtype, uintptr_t slot_mapping,
           int64_t threads, const std::string& isa) {
  ap::store(ends(memory, dtype), pointer<int64_t>(slot_mapping), threads, ap::lanes(isa.c_str()));
}

void select(const std::array<Memory<5>, 4>& memory, int dtype, uintptr_t slot_mapping,
            uintptr_t source_slots, uintptr_t rows, int64_t num_tokens, const Rows& table,
            bool interleaved, int64_t threads, const std::string& isa) {
  ap::select(ends(memory, dtype), pointer<int64_t>(slot_mapping), pointer<int64_t>(source_slots),
             pointer<int32_t>(rows), num_tokens, rotation(table), interleaved, threads,
             ap::lanes(isa.c_str()));
}

void materialize(const std::array<Memory<5>, 4>& memory, int dtype, uintptr_t slot_mapping,
                 int64_t num_tokens, const SpanTable& table, const Rows& rows, bool interleaved,
                 int64_t threads, const std::string& isa) {
  ap::materialize(ends(memory, dtype), pointer<int64_t>(slot_mapping), num_tokens, spans(table),
                  rotation(rows), interleaved, threads, ap::lanes(isa.c_str()));
}

void attend(uintptr_t out, uintptr_t lse, const Memory<4>& query, const Memory<4>& k_cache,
            const Memory<4>& v_cache, int dtype, const SpanTable& table, const Rows& rows,
            uintptr_t span_starts, uintptr_t positions, uintptr_t key_positions,
            int64_t num_gapped, float scale, int64_t window, float softcap, uintptr_t sinks,
            bool interleaved, int64_t threads, const std::string& isa) {
  const ap::Attend call{view(query, dtype), view(k_cache, dtype), view(v_cache, dtype),
                        static_cast<ap::Dtype>(dtype), spans(table), rotation(rows),
                        pointer<int32_t>(span_starts), pointer<int32_t>(positions),
                        pointer<int32_t>(key_positions), num_gapped, scale, window, softcap,
                        pointer<float>(sinks), interleaved, pointer<char>(out),
                        pointer<float>(lse)};
  ap::attend(call, threads, ap::lanes(isa.c_str()));
}

void copy_pages(const Memory<5>& out, const Memory<5>& in, int64_t item, uintptr_t pairs,
                int64_t num_pairs, int64_t threads) {
  ap::copy_pages({view_of(out, item), view_of(in, item), pointer<int64_t>(pairs), num_pairs},
                 threads);
}

void copy_pages_cuda(const Memory<5>& out, const Memory<5>& in, int64_t item, uintptr_t pairs,
                     int64_t num_pairs, int device, uintptr_t stream) {
  ap::copy_pages_cuda({view_of(out, item), view_of(in, item), pointer<int64_t>(pairs), num_pairs},
                      device, pointer<void>(stream));
}

template <bool unpacks>
void pack_pages(uintptr_t packed, uintptr_t pages, int64_t num_pages, const Memory<5>& cache,
                int64_t item, int64_t threads) {
  ap::pack_pages({view_of(cache, item), pointer<char>(packed), unpacks}, pointer<int32_t>(pages),
                 num_pages, threads);
}

template <bool unpacks>
void pack_through(ap::StagingRing& ring, uintptr_t packed, uintptr_t pages, int64_t num_pages,
                  const Memory<5>& cache, int64_t item, int64_t threads, bool pinned,
                  uintptr_t stream) {
  ring.run({view_of(cache, item), pointer<char>(packed), unpacks}, pointer<int32_t>(pages),
           num_pages, pinned, pointer<void>(stream), threads);
}

// the conversions by themselves, so that every bit pattern can be tested
void cast(uintptr_t out, uintptr_t in, int64_t count, int dtype, bool widens,
          const std::string& isa) {
  const ap::Lanes& lanes = ap::lanes(isa.c_str());
  if (widens) {
    lanes.widen[dtype](pointer<float>(out), pointer<char>(in), count);
  } else {
    lanes.narrow[dtype](pointer<char>(out), pointer<float>(in), count);
  }
}

void bind_pool(py::module_& m) {
  py::class_<ap::PagePool>(m, "PagePool")
      .def(py::init<int64_t, int64_t>(), py::arg("num_pages"), py::arg("page_size"))
      .def_property_readonly("num_pages", &ap::PagePool::num_pages)
      .def_property_readonly("page_size", &ap::PagePool::page_size)
      .def_property_readonly("num_free", &ap::PagePool::num_free)
      .def("refcount", &ap::PagePool::refcount)
      .def("fill", &ap::PagePool::fill)
      .def("allocate", &ap::PagePool::allocate)
      .def("retain", &ap::PagePool::retain)
      .def("release", &ap::PagePool::release)
      .def("claim", &ap::PagePool::claim);
  py::register_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) std::rethrow_exception(raised);
    } catch (const ap::PoolExhausted& error) {
      const py::object type = py::module_::import("agentprim_kernels.pool").attr("PoolExhausted");
      py::set_error(type, type(error.requested, error.free));
    }
  });
}

void bind_ring(py::module_& m) {
  const auto make = [](int device, int64_t stages, int64_t bytes, int64_t blocks) {
    return std::make_unique<ap::StagingRing>(
        device < 0 ? ap::host_stages(stages, bytes)
                   : ap::cuda_stages(device, stages, bytes, blocks), bytes);
  };
  py::class_<ap::StagingRing>(m, "StagingRing")
      .def(py::init(make), py::arg("device"), py::arg("stages"), py::arg("stage_bytes"),
           py::arg("blocks"))
      .def("pack_pages_", pack_through<false>, NoGil())
      .def("unpack_pages_", pack_through<true>, NoGil());
}

// the last argument names the kind of processor that loops are compiled for; empty takes the best
template <typename... Args, size_t... I>
void bind_op(py::module_& m, const char* name, void (*op)(Args...), std::index_sequence<I...>) {
  m.def(name, op, (static_cast<void>(I), py::arg())..., py::arg("isa") = "", NoGil());
}

template <typename... Args>
void bind_op(py::module_& m, const char* name, void (*op)(Args...)) {
  bind_op(m, name, op, std::make_index_sequence<sizeof...(Args) - 1>());
}

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.doc() = "Compiled half of agentprim_kernels; takes raw pointers that Python has checked.";
#ifdef AP_CUDA
  m.attr("cuda_built") = true;
#else
  m.attr("cuda_built") = false;
#endif
  m.def("isa", [](const std::string& name) { return ap::lanes(name.c_str()).name; },
        py::arg("name") = "");
  bind_op(m, "rotate_", rotate);
  bind_op(m, "store_", store);
  bind_op(m, "select_", select);
  bind_op(m, "materialize_", materialize);
  bind_op(m, "attend", attend);
  bind_op(m, "cast_", cast);
  m.def("copy_pages_", copy_pages, NoGil());
  m.def("copy_pages_cuda_", copy_pages_cuda, NoGil());
  m.def("pack_pages_", pack_pages<false>, NoGil());
  m.def("unpack_pages_", pack_pages<true>, NoGil());
  bind_pool(m);
  bind_ring(m);
}
