#include "blas.h"

#include <dlfcn.h>

#include <cmath>

#include "../harness/bench.h"

namespace lathe::bench {

namespace {

template <class Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

void* open_private(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND); }

bool common(void* library, Blas& blas) {
  look_up(library, "cblas_sgemm", blas.sgemm);
  look_up(library, "cblas_sgemv", blas.sgemv);
  look_up(library, "cblas_snrm2", blas.snrm2);
  return blas.sgemm && blas.sgemv && blas.snrm2 && blas.set_threads;
}

std::vector<Blas> open_all() {
  std::vector<Blas> all;
  if (void* library = open_private("libopenblas.so.0")) {
    Blas blas;
    blas.name = "openblas";
    char* (*config)() = nullptr;
    look_up(library, "openblas_get_config", config);
    blas.version = config ? config() : "OpenBLAS";
    static void (*set)(int) = nullptr;
    look_up(library, "openblas_set_num_threads", set);
    if (set) blas.set_threads = [](long count) { set(static_cast<int>(count)); };
    look_up(library, "cblas_somatcopy", blas.somatcopy);
    if (common(library, blas)) all.push_back(blas);
  }
  if (void* library = open_private("libblis.so.4")) {
    Blas blas;
    blas.name = "blis";
    const char* (*version)() = nullptr;
    look_up(library, "bli_info_get_version_str", version);
    blas.version = std::string("BLIS ") + (version ? version() : "");
    look_up(library, "bli_thread_set_num_threads", blas.set_threads);
    if (common(library, blas)) all.push_back(blas);
  }
  return all;
}

// Products of B pairs of row-major matrices a[N,K] b[K,M], or b[M,K] transposed, with the strides given in
// elements.
struct Products {
  std::int64_t count, n, m, k, a_step, b_step, c_step, lda, ldb;
  bool transpose_b = false;
};

void multiply(const Blas& blas, const Products& p, const float* a, const float* b, float* c) {
  for (std::int64_t i = 0; i < p.count; ++i) {
    blas.sgemm(RowMajor, NoTranspose, p.transpose_b ? Transpose : NoTranspose, p.n, p.m, p.k, 1.0f,
               a + i * p.a_step, p.lda, b + i * p.b_step, p.ldb, 0.0f, c + i * p.c_step, p.m);
  }
}

std::vector<Callable> products(const Problem& problem) {
  const Shape& v = problem.what.params;
  std::vector<Callable> all;
  for (const Blas& blas : blas_libraries()) {
    const int threads = problem.threads;
    Buffer c(element_count(problem.output));
    if (problem.what.key == "GMM") {
      const Products p{v[0], v[1], v[2], v[3], v[1] * v[3], v[3] * v[2], v[1] * v[2], v[3], v[2]};
      all.push_back(make_callable(
          blas.name,
          [=, &blas] {
            blas.set(threads);
            multiply(blas, p, problem.data("a"), problem.data("b"), c.data());
          },
          c));
    } else if (problem.what.key == "QKV") {
      const Products p{3, v[0], v[2], v[1], 0, v[1] * v[2], v[0] * v[2], v[1], v[2]};
      all.push_back(make_callable(
          blas.name,
          [=, &blas] {
            blas.set(threads);
            multiply(blas, p, problem.data("x"), problem.data("w"), c.data());
          },
          c));
    } else if (v[0] == 1) {  // TBG: a head is a strided matrix of q and k; no transposition is needed
      const std::int64_t seq = v[1], heads = v[2], dim = v[3], step = heads * dim;
      const Products p{heads, seq, seq, dim, dim, dim, seq * seq, step, step, true};
      all.push_back(make_callable(
          blas.name,
          [=, &blas] {
            blas.set(threads);
            multiply(blas, p, problem.data("q"), problem.data("k"), c.data());
          },
          c));
    }
  }
  return all;
}

std::vector<Callable> matrix_vector(const Problem& problem) {
  const Shape& v = problem.what.params;
  std::vector<Callable> all;
  for (const Blas& blas : blas_libraries()) {
    Buffer y(v[0]);
    all.push_back(make_callable(
        blas.name,
        [=, &blas] {
          blas.set(problem.threads);
          blas.sgemv(RowMajor, NoTranspose, v[0], v[1], 1.0f, problem.data("a"), v[1], problem.data("x"), 1,
                     0.0f, y.data(), 1);
        },
        y));
  }
  return all;
}

std::vector<Callable> norms(const Problem& problem) {
  std::vector<Callable> all;
  if (problem.what.params[0] != 1) return all;
  for (const Blas& blas : blas_libraries()) {
    Buffer y(1);
    const std::int64_t n = problem.operand("x").buffer.size();
    all.push_back(make_callable(
        blas.name,
        [=, &blas] {
          blas.set(problem.threads);
          y.data()[0] = blas.snrm2(n, problem.data("x"), 1);
        },
        y));
  }
  return all;
}

std::vector<Callable> transposes(const Problem& problem) {
  const Shape& v = problem.what.params;
  std::vector<Callable> all;
  for (const Blas& blas : blas_libraries()) {
    if (!blas.somatcopy) continue;
    Buffer y(v[0] * v[1]);
    all.push_back(make_callable(
        blas.name,
        [=, &blas] {
          blas.set(problem.threads);
          blas.somatcopy(RowMajor, Transpose, v[0], v[1], 1.0f, problem.data("x"), v[1], y.data(), v[0]);
        },
        y));
  }
  return all;
}

const bool joined = register_peer({"GMM", "QKV", "TBG"}, products) && register_peer({"GMV"}, matrix_vector) &&
                    register_peer({"NRM"}, norms) && register_peer({"TRN"}, transposes) &&
                    register_version([] {
                      std::string text;
                      for (const Blas& blas : blas_libraries())
                        text += (text.empty() ? "" : "; ") + blas.version;
                      return text;
                    });

}  // namespace

const std::vector<Blas>& blas_libraries() {
  static const std::vector<Blas> libraries = open_all();
  return libraries;
}

}  // namespace lathe::bench
