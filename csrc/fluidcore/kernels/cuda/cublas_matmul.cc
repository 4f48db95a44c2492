#include <cublasLt.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "fluidcore/base/error.h"
#include "fluidcore/base/float16.h"
#include "fluidcore/kernels/cuda/library.h"
#include "fluidcore/kernels/cuda/matmul.h"

namespace fluidcore::cuda {

namespace {

constexpr std::size_t kWorkspace = std::size_t{32} << 20;  // as cuBLAS itself takes on Hopper
constexpr std::size_t kWorkspaceAlignment = 256;           // what cuBLASLt wants
constexpr std::uint32_t kAlignment = 16;

template <class T>
struct Types;
template <>
struct Types<float> {
  static constexpr cudaDataType_t kData = CUDA_R_32F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
};
template <>
struct Types<double> {
  static constexpr cudaDataType_t kData = CUDA_R_64F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_64F;
};
template <>
struct Types<Float16> {
  static constexpr cudaDataType_t kData = CUDA_R_16F;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
};
template <>
struct Types<BFloat16> {
  static constexpr cudaDataType_t kData = CUDA_R_16BF;
  static constexpr cublasComputeType_t kCompute = CUBLAS_COMPUTE_32F;
};

void* aligned(std::byte* memory) {
  const auto at = reinterpret_cast<std::uintptr_t>(memory);
  return memory + (kWorkspaceAlignment - at % kWorkspaceAlignment) % kWorkspaceAlignment;
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error("cuda: ", what, " must succeed, got status ", static_cast<int>(status),
              " of cuBLASLt");
}

// The functions that are used, and a handle for all devices and threads.
class CublasLt {
 public:
  static const CublasLt& get() {
    static const CublasLt library;
    return library;
  }

  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescCreate) create_product;
  decltype(&cublasLtMatmulDescDestroy) destroy_product;
  decltype(&cublasLtMatmulDescSetAttribute) set_product;
  decltype(&cublasLtMatrixLayoutCreate) create_layout;
  decltype(&cublasLtMatrixLayoutDestroy) destroy_layout;
  decltype(&cublasLtMatrixLayoutSetAttribute) set_layout;
  decltype(&cublasLtMatmulPreferenceCreate) create_preference;
  decltype(&cublasLtMatmulPreferenceDestroy) destroy_preference;
  decltype(&cublasLtMatmulPreferenceSetAttribute) set_preference;
  cublasLtHandle_t handle = nullptr;

 private:
  CublasLt() : library_("libcublasLt.so.13", "nvidia-cublas") {
    load(matmul, "cublasLtMatmul");
    load(heuristic, "cublasLtMatmulAlgoGetHeuristic");
    load(create_product, "cublasLtMatmulDescCreate");
    load(destroy_product, "cublasLtMatmulDescDestroy");
    load(set_product, "cublasLtMatmulDescSetAttribute");
    load(create_layout, "cublasLtMatrixLayoutCreate");
    load(destroy_layout, "cublasLtMatrixLayoutDestroy");
    load(set_layout, "cublasLtMatrixLayoutSetAttribute");
    load(create_preference, "cublasLtMatmulPreferenceCreate");
    load(destroy_preference, "cublasLtMatmulPreferenceDestroy");
    load(set_preference, "cublasLtMatmulPreferenceSetAttribute");
    check(library_.symbol<decltype(cublasLtCreate)>("cublasLtCreate")(&handle), "a handle");
  }

  template <class Function>
  void load(Function*& function, const char* name) {
    function = library_.symbol<Function>(name);
  }

  Library library_;
};

// A matrix as cuBLAS sees it: in columns `leading` apart; of one with its rows so, the transpose.
struct Matrix {
  std::int64_t leading = 0;
  bool is_transposed = false;
};

// None where neither the rows nor the columns are dense.
bool as_columns(const MatmulOperand& of, std::int64_t rows, std::int64_t cols, Matrix& matrix) {
  if (of.row == 1 || rows == 1) {
    matrix = {cols == 1 ? rows : of.col, false};
  } else if (of.col == 1 || cols == 1) {
    matrix = {of.row, true};
    if (cols == 1 && of.row < 1) return false;
  } else {
    return false;
  }
  return matrix.leading >= std::max<std::int64_t>(matrix.is_transposed ? cols : rows, 1);
}

class Layout {
 public:
  Layout(cudaDataType_t type,
         std::int64_t rows,
         std::int64_t cols,
         const Matrix& matrix,
         std::int64_t count,
         std::int64_t stride) {
    const CublasLt& lt = CublasLt::get();
    if (matrix.is_transposed) std::swap(rows, cols);
    check(lt.create_layout(&layout_, type, static_cast<std::uint64_t>(rows),
                           static_cast<std::uint64_t>(cols), matrix.leading),
          "describing a matrix");
    const auto batch = static_cast<std::int32_t>(count);
    lt.set_layout(layout_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch);
    lt.set_layout(layout_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride);
  }
  ~Layout() { CublasLt::get().destroy_layout(layout_); }
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

// Products of `count` matrices, at fixed distances.
template <class T>
class Products {
 public:
  Products(const MatmulProblem& p,
           const Matrix& a,
           const Matrix& b,
           const Matrix& c,
           std::int64_t count,
           std::int64_t a_step,
           std::int64_t b_step,
           std::int64_t c_step)
      : a_(Types<T>::kData, p.m, p.k, a, count, a_step),
        b_(Types<T>::kData, p.k, p.n, b, count, b_step),
        c_(Types<T>::kData, p.m, p.n, c, count, c_step) {
    const CublasLt& lt = CublasLt::get();
    const cudaDataType_t scale = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
    check(lt.create_product(&product_, Types<T>::kCompute, scale), "describing a product");
    const auto set = [&](cublasLtMatmulDescAttributes_t name, bool is_transposed) {
      const cublasOperation_t operation = is_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
      lt.set_product(product_, name, &operation, sizeof operation);
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, a.is_transposed);
    set(CUBLASLT_MATMUL_DESC_TRANSB, b.is_transposed);
    aligned_ = choose(kAlignment);
    any_ = choose(sizeof(T));
  }
  ~Products() { CublasLt::get().destroy_product(product_); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  void run(DeviceContext& device, const T* a, const T* b, T* c, bool adds, void* workspace) const {
    using Scale = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const Scale one = 1;
    const Scale before = adds ? 1 : 0;
    const bool is_aligned =
        (reinterpret_cast<std::uintptr_t>(a) | reinterpret_cast<std::uintptr_t>(b) |
         reinterpret_cast<std::uintptr_t>(c)) %
            kAlignment ==
        0;
    const CublasLt& lt = CublasLt::get();
    check(lt.matmul(lt.handle, product_, &one, a, a_.get(), b, b_.get(), &before, c, c_.get(), c,
                    c_.get(), is_aligned ? &aligned_ : &any_, workspace, kWorkspace,
                    static_cast<cudaStream_t>(device.stream())),
          "a product of matrices");
  }

 private:
  cublasLtMatmulAlgo_t choose(std::uint32_t alignment) const {
    const CublasLt& lt = CublasLt::get();
    cublasLtMatmulPreference_t preference = nullptr;
    check(lt.create_preference(&preference), "describing a product");
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t name, const auto& value) {
      lt.set_preference(preference, name, &value, sizeof value);
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspace);
    for (const auto name :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      set(name, alignment);
    }
    cublasLtMatmulHeuristicResult_t found = {};
    int count = 0;
    const cublasStatus_t status = lt.heuristic(lt.handle, product_, a_.get(), b_.get(), c_.get(),
                                               c_.get(), preference, 1, &found, &count);
    lt.destroy_preference(preference);
    check(count == 0 && status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED : status,
          "choosing how to multiply");
    return found.algo;
  }

  Layout a_;
  Layout b_;
  Layout c_;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatmulAlgo_t aligned_ = {};
  cublasLtMatmulAlgo_t any_ = {};
};

}  // namespace

template <class T>
Prepared2<T> prepare_matmul(DeviceContext& device,
                            const MatmulProblem& given,
                            const ScratchPtr& scratch) {
  const MatmulProblem simple = simplified(given);
  // Where C has dense rows, they are the columns of C^T = B^T A^T.
  const bool is_turned = simple.c.row != 1 && simple.m != 1;
  const MatmulProblem p = is_turned ? transposed(simple) : simple;
  if (p.m == 0 || p.n == 0 || p.batches() == 0) return [](const T*, const T*, T*) {};
  if (p.k == 0) {
    const auto bytes =
        static_cast<std::size_t>(p.m * p.n * (p.adds_products() ? 1 : p.batches())) * sizeof(T);
    return [&device, bytes](const T*, const T*, T* c) { device.zero(c, bytes); };
  }
  Matrix a;
  Matrix b;
  Matrix c;
  require(as_columns(p.a, p.m, p.k, a) && as_columns(p.b, p.k, p.n, b) &&
              as_columns(p.c, p.m, p.n, c) && !c.is_transposed,
          "matmul: on a CUDA device a matrix must have dense rows or columns, got strides ",
          p.a.row, ", ", p.a.col, " and ", p.b.row, ", ", p.b.col);
  // The last batch dimension at once, unless its products are added up.
  const std::size_t dims = p.batch.size();
  const bool at_once = dims > 0 && p.c.batch.back() != 0;
  const std::int64_t count = at_once ? p.batch.back() : 1;
  const auto step = [&](const MatmulOperand& of) { return at_once ? of.batch.back() : 0; };
  const auto products =
      std::make_shared<const Products<T>>(p, a, b, c, count, step(p.a), step(p.b), step(p.c));
  scratch->reserve(kWorkspace + kWorkspaceAlignment);
  return [=, &device](const T* x, const T* y, T* out) {
    if (is_turned) std::swap(x, y);
    void* const workspace = aligned(scratch->data());
    const std::int64_t calls = p.batches() / count;
    for (std::int64_t i = 0; i < calls; ++i) {
      std::int64_t left = i;
      std::int64_t at[3] = {};
      bool adds = false;
      for (std::size_t d = at_once ? dims - 1 : dims; d-- > 0;) {
        const std::int64_t index = left % p.batch[d];
        left /= p.batch[d];
        at[0] += index * p.a.batch[d];
        at[1] += index * p.b.batch[d];
        at[2] += index * p.c.batch[d];
        adds = adds || (p.c.batch[d] == 0 && index > 0);
      }
      products->run(device, x + at[0], y + at[1], out + at[2], adds, workspace);
    }
  };
}

template Prepared2<float> prepare_matmul(DeviceContext&, const MatmulProblem&, const ScratchPtr&);
template Prepared2<double> prepare_matmul(DeviceContext&, const MatmulProblem&, const ScratchPtr&);
template Prepared2<Float16> prepare_matmul(DeviceContext&, const MatmulProblem&, const ScratchPtr&);
template Prepared2<BFloat16> prepare_matmul(DeviceContext&,
                                            const MatmulProblem&,
                                            const ScratchPtr&);

}  // namespace fluidcore::cuda
