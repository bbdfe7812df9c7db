// the only file that knows Python
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "pool.h"

namespace py = pybind11;
namespace ap = agentprim;

namespace {

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

}  // namespace

PYBIND11_MODULE(_C, m) {
  m.doc() = "Compiled half of agentprim_kernels; takes raw pointers that Python has checked.";
#ifdef AP_CUDA
  m.attr("cuda_built") = true;
#else
  m.attr("cuda_built") = false;
#endif
  bind_pool(m);
}
