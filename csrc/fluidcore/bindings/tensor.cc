#include "fluidcore/tensor/tensor.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "fluidcore/bindings/bindings.h"
#include "fluidcore/bindings/places.h"
#include "fluidcore/bindings/selected_rows.h"
#include "fluidcore/tensor/device_context.h"
#include "fluidcore/tensor/dlpack.h"
#include "fluidcore/tensor/selected_rows.h"

namespace py = pybind11;

namespace fluidcore::bindings {

namespace {

// NumPy's own dtypes by kind and size; bfloat16 is a dtype of the package ml_dtypes.
std::optional<DType> dtype_of_array(const py::dtype& dtype) {
  const char kind = dtype.kind();
  const auto size = dtype.itemsize();
  if (kind == 'f' && size == 4) return DType::kFloat32;
  if (kind == 'f' && size == 8) return DType::kFloat64;
  if (kind == 'i' && size == 8) return DType::kInt64;
  if (kind == 'i' && size == 4) return DType::kInt32;
  if (kind == 'i' && size == 2) return DType::kInt16;
  if (kind == 'b') return DType::kBool;
  if (kind == 'f' && size == 2) return DType::kFloat16;
  if (py::str(dtype.attr("name")).cast<std::string>() == "bfloat16") return DType::kBFloat16;
  return std::nullopt;
}

// Python may destroy the last copy of a tensor on any thread.
std::shared_ptr<void> keep_alive(py::object object) {
  auto* owned = new py::object(std::move(object));
  return {owned, [](void* pointer) {
            const py::gil_scoped_acquire gil;
            delete static_cast<py::object*>(pointer);
          }};
}

// Without a place it stays where it is.
Device device_for(const Tensor& tensor, const py::object& place) {
  return place.is_none() ? tensor.device() : device_of(place);
}

void set(TensorHandle& handle, const py::object& array, const py::object& place) {
  const Tensor source = tensor_from_array(array, "tensor");
  const Device device = device_for(handle.get(), place);
  Tensor copy = device.is_cpu() ? source.clone() : source.to(device);
  handle.change([&](Tensor& tensor) { std::swap(tensor, copy); });
}

py::object as_array(const Tensor& tensor, const py::object& dtype, const py::object& copy) {
  py::object array = tensor_to_array(tensor);
  const bool converts = !dtype.is_none() && !py::dtype::from_args(dtype).equal(array.attr("dtype"));
  const bool must_copy = !copy.is_none() && copy.cast<bool>();
  const bool may_copy = copy.is_none() || must_copy;
  if (converts && !may_copy)
    throw py::value_error("tensor: another dtype needs a copy, got copy=False");
  if (converts) return array.attr("astype")(dtype);
  return must_copy ? array.attr("copy")() : array;
}

py::capsule to_capsule(const TensorHandle& handle) {
  const Tensor tensor = handle.get();
  device_context(tensor.device()).wait();  // whatever stream the consumer works in
  return py::capsule(to_dlpack(to_dense(tensor)), "dltensor", [](PyObject* capsule) {
    // A consumer that took the tensor has renamed the capsule.
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    managed->deleter(managed);
  });
}

Tensor from_capsule(const py::object& object, bool copy) {
  py::object capsule = py::hasattr(object, "__dlpack__") ? object.attr("__dlpack__")() : object;
  auto* managed = PyCapsule_IsValid(capsule.ptr(), "dltensor")
                      ? PyCapsule_GetPointer(capsule.ptr(), "dltensor")
                      : nullptr;
  require(managed != nullptr, "dlpack: the argument must have __dlpack__ or be a capsule, got ",
          py::repr(object).cast<std::string>());
  Tensor tensor = from_dlpack(static_cast<DLManagedTensor*>(managed), copy);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  // The producer's deleter may touch Python objects.
  return Tensor(tensor.spec(), tensor.raw(), keep_alive(py::cast(tensor)), tensor.device());
}

void set_lod(TensorHandle& handle, Lod lod) {
  for (const std::vector<std::int64_t>& level : lod) {
    require(!level.empty() && level.front() == 0 && std::ranges::is_sorted(level),
            "set_lod: each level must start with 0 and not fall, got ",
            py::repr(py::cast(lod)).cast<std::string>());
  }
  handle.set_lod(std::move(lod));
}

TensorHandle with_lod(Lod lod) {
  TensorHandle handle;
  set_lod(handle, std::move(lod));
  return handle;
}

// Other extents. The first elements stay as they are; where there are not as many, there is no
// memory until somebody allocates or sets it.
void set_dims(TensorHandle& handle, const std::vector<std::int64_t>& dims) {
  for (const std::int64_t extent : dims) {
    require(extent >= 0, "set_dims: all extents must be known, got ", Shape(dims));
  }
  const Shape shape(dims);
  handle.change([&](Tensor& tensor) {
    require(!tensor.spec().rows, "set_dims: must be a tensor, got selected rows");
    TensorSpec spec{shape, tensor.dtype()};
    const bool fits = tensor.is_initialized() && byte_size(spec) <= tensor.bytes();
    void* const data = fits ? tensor.raw() : nullptr;
    const Device device = tensor.device();
    tensor =
        Tensor(std::move(spec), data, fits ? std::make_shared<Tensor>(tensor) : nullptr, device);
  });
}

// New memory of zeros for the extents that the tensor has.
void allocate_as(TensorHandle& handle, DType dtype, const py::object& place) {
  handle.change([&](Tensor& tensor) {
    const Device device = device_for(tensor, place);
    Tensor zeros({tensor.shape(), dtype}, device);
    device_context(device).zero(zeros.raw(), zeros.bytes());
    tensor = std::move(zeros);
  });
}

std::string representation(const TensorHandle& handle) {
  const Tensor tensor = handle.get();
  if (!tensor.is_initialized()) return "Tensor(not initialized)";
  const std::string where = tensor.device().is_cpu() ? "" : str_cat(", ", tensor.device());
  return str_cat("Tensor(", tensor.spec(), where, ")");
}

}  // namespace

Tensor tensor_from_array(py::handle source, const std::string& who) {
  if (py::isinstance<TensorHandle>(source)) return source.cast<Tensor>();  // on the host
  py::array array;
  if (py::isinstance<py::array>(source)) {
    array = py::reinterpret_borrow<py::array>(source);
  } else {
    array = py::array::ensure(source);
    if (!array) {
      PyErr_Clear();
      throw InvalidArgument(who, ": must be an array or a Tensor, got ",
                            py::repr(source).cast<std::string>());
    }
  }
  const std::optional<DType> dtype = dtype_of_array(array.dtype());
  if (!dtype || !array.dtype().attr("isnative").cast<bool>()) {
    throw InvalidArgument(who, ": the dtype must be one of bool, int16, int32, int64, float16, ",
                          "bfloat16, float32, float64 in native byte order, got ",
                          py::str(py::object(array.dtype())).cast<std::string>(),
                          "; write .astype(...)");
  }
  const auto usable = [](const py::array& candidate) {
    constexpr int kAligned = py::detail::npy_api::NPY_ARRAY_ALIGNED_;
    return (candidate.flags() & py::array::c_style) != 0 && (candidate.flags() & kAligned) != 0;
  };
  if (!usable(array)) {
    array = py::module_::import("numpy").attr("array")(array, py::arg("order") = "C",
                                                       py::arg("copy") = true);
  }
  Shape shape(std::vector<std::int64_t>(array.shape(), array.shape() + array.ndim()));
  void* data = const_cast<void*>(array.data());
  return Tensor({std::move(shape), *dtype}, data, keep_alive(std::move(array)));
}

py::dtype array_dtype(DType dtype) {
  if (dtype != DType::kBFloat16) return py::dtype(std::string(to_string(dtype)));
  return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
}

py::object tensor_to_array(const Tensor& held) {
  require(held.is_initialized(), "tensor: must be initialized before it is read; set() it");
  const Tensor tensor = to_dense(held.to_host());
  const py::object owner = py::cast(tensor);
  return py::array(array_dtype(tensor.dtype()), tensor.shape().extents(), tensor.raw(), owner);
}

void bind_tensor(py::module_& m) {
  py::class_<TensorHandle>(m, "Tensor",
                           "A dense, row-major block of memory with a shape and a dtype.")
      .def(py::init<>())
      .def(py::init(&with_lod), py::arg("lod"), "A tensor without memory whose rows have levels.")
      .def("set", &set, py::arg("array"), py::arg("place") = py::none(),
           "Copies the array into new memory.")
      .def("shape", [](const TensorHandle& handle) { return handle.get().shape().extents(); })
      .def("get_dims", [](const TensorHandle& handle) { return handle.get().shape().extents(); })
      .def("dtype",
           [](const TensorHandle& handle) { return std::string(to_string(handle.get().dtype())); })
      .def(
          "size", [](const TensorHandle& handle) { return handle.get().size(); },
          "The number of elements.")
      .def("is_initialized",
           [](const TensorHandle& handle) { return handle.get().is_initialized(); })
      .def(
          "get_float_element",
          [](const TensorHandle& handle, std::int64_t index) {
            return handle.get().get_float_element(index);
          },
          py::arg("index"), "Element `index` of the flattened tensor.")
      .def(
          "set_float_element",
          [](TensorHandle& handle, std::int64_t index, double value) {
            handle.change([&](Tensor& tensor) { tensor.set_float_element(index, value); });
          },
          py::arg("index"), py::arg("value"), "Sets element `index` of the flattened tensor.")
      .def(
          "get_double_element",
          [](const TensorHandle& handle, std::int64_t index) {
            return handle.get().get_float_element(index);
          },
          py::arg("index"), "`get_float_element`, which is a double anyway.")
      .def(
          "set_double_element",
          [](TensorHandle& handle, std::int64_t index, double value) {
            handle.change([&](Tensor& tensor) { tensor.set_float_element(index, value); });
          },
          py::arg("index"), py::arg("value"), "`set_float_element`.")
      .def("set_dims", &set_dims, py::arg("dims"),
           "Other extents: the first elements stay; where there are not as many, the tensor has no "
           "memory until it is allocated or set.")
      .def(
          "alloc_float",
          [](TensorHandle& handle, const py::object& place) {
            allocate_as(handle, DType::kFloat32, place);
          },
          py::arg("place") = py::none(), "New memory for the extents, float32 zeros.")
      .def(
          "alloc_int",
          [](TensorHandle& handle, const py::object& place) {
            allocate_as(handle, DType::kInt32, place);
          },
          py::arg("place") = py::none(), "New memory for the extents, int32 zeros.")
      .def("numpy", &tensor_to_array,
           "A view of the memory as a NumPy array; a copy where the memory is a GPU's.")
      .def("__array__", &as_array, py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack__", [](const TensorHandle& handle,
                            const py::kwargs& /*options*/) { return to_capsule(handle); })
      .def("__dlpack_device__",
           [](const TensorHandle& handle) {
             const Device device = handle.get().device();
             return py::make_tuple(device.is_cpu() ? kDlpackCpu : kDlpackCuda, device.index);
           })
      .def(
          "device", [](const TensorHandle& handle) { return to_string(handle.get().device()); },
          "Where the memory is: \"cpu\" or \"cuda:0\".")
      .def(
          "to",
          [](const TensorHandle& handle, const py::object& place) {
            return TensorHandle(handle.get().to(device_of(place)));
          },
          py::arg("place"),
          "A copy at the place; where it is there already, one that shares the memory.")
      .def_static("from_dlpack", &from_capsule, py::arg("source"), py::arg("copy") = false,
                  "A view of another library's tensor. One that is not dense and row-major needs a "
                  "copy: an error unless `copy`.")
      .def("lod", &TensorHandle::lod,
           "The offsets of nested sequences in the rows, level by level, as set_lod set them.")
      .def("set_lod", &set_lod, py::arg("lod"),
           "Says where nested sequences begin in the rows. This object keeps it; no operator looks "
           "at it, and what a run returns has none.")
      .def("__repr__", &representation)
      .def(py::pickle(
          [](const TensorHandle& handle) {
            const Tensor tensor = handle.get();
            py::object content = py::none();
            if (tensor.spec().rows) {
              content = py::cast(SelectedRows(tensor));
            } else if (tensor.is_initialized()) {
              content = tensor_to_array(tensor);
            }
            return py::make_tuple(content, handle.lod());
          },
          [](const py::tuple& state) {
            const py::object content = state[0];
            TensorHandle handle;
            if (py::isinstance<SelectedRows>(content)) {
              handle = TensorHandle(content.cast<const SelectedRows&>().tensor());
            } else if (!content.is_none()) {
              handle = TensorHandle(tensor_from_array(content, "tensor").clone());
            }
            if (state.size() > 1) handle.set_lod(state[1].cast<Lod>());
            return handle;
          }));
}

}  // namespace fluidcore::bindings
