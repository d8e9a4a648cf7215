#include "tuner/features/program_view.h"

#include <algorithm>
#include <cmath>

namespace lathe::tuner {
namespace {

constexpr std::int64_t LineBytes = 64;
constexpr std::int64_t RuntimeExtent = 128;  // what a size that is known at run time only is taken for

std::int64_t extent_of(const Expr& e) { return std::max<std::int64_t>(as_int(e).value_or(RuntimeExtent), 0); }

bool is_multiplication(const Expr& e) { return as_binary(e, BinaryOp::Mul) != nullptr; }

class Viewer {
 public:
  ProgramView run(const Program& program) {
    visit(program->body);
    for (const Buffer& buffer : program->temps) {
      double bytes = buffer->dtype.bits / 8.0;
      for (const Expr& e : buffer->shape) bytes *= static_cast<double>(extent_of(e));
      // Local ones shrink to what a body touches, later in the lowering.
      if (buffer->scope != Scope::Local) result_.temporary_bytes += bytes;
    }
    return std::move(result_);
  }

 private:
  struct Pending {  // of the expressions read since the last store
    OperationCounts operations;
    std::vector<const Load*> loads;
  };

  void visit(const Stmt& s) {
    switch (s.kind()) {
      case StmtKind::For: {
        const For& loop = *s.as<For>();
        const std::size_t mark = bindings_.size();
        const bool counted = loops_.size() < MaxLoops;
        if (counted) {
          bindings_.bind_loop(loop.var.node(), loops_.size());
          loops_.push_back({loop.var.node(), extent_of(loop.extent), loop.for_kind});
          extents_.push_back(loops_.back().extent);
        }
        visit(loop.body);
        if (counted) {
          loops_.pop_back();
          extents_.pop_back();
        }
        bindings_.shrink(mark);
        return;
      }
      case StmtKind::Block: return block(*s.as<Block>());
      case StmtKind::Seq:
        for (const Stmt& part : s.as<Seq>()->stmts) visit(part);
        return;
      case StmtKind::If:
        scan(s.as<If>()->condition);
        visit(s.as<If>()->then_case);
        if (s.as<If>()->else_case.defined()) visit(s.as<If>()->else_case);
        return;
      case StmtKind::Let: {
        const Let& let = *s.as<Let>();
        scan(let.value);
        const std::size_t mark = bindings_.size();
        bindings_.bind(let.var.node(), let.value);
        visit(let.body);
        bindings_.shrink(mark);
        return;
      }
      case StmtKind::Allocate: return visit(s.as<Allocate>()->body);
      case StmtKind::Store: return store(*s.as<Store>());
      case StmtKind::Evaluate: return;
    }
  }

  void block(const Block& b) {
    const std::size_t mark = bindings_.size();
    const Block* outer = block_;
    double domain = 1;
    for (std::size_t i = 0; i < b.iters.size(); ++i) {
      bindings_.bind(b.iters[i].var.node(), b.bindings[i]);
      domain *= static_cast<double>(extent_of(b.iters[i].extent));
    }
    block_ = &b;
    domain_ = domain;
    visit(b.body);
    block_ = outer;
    bindings_.shrink(mark);
  }

  void store(const Store& s) {
    scan(s.value);
    StatementView view;
    view.loops = loops_;
    view.extents = extents_;
    view.operations = pending_.operations;
    view.bits = s.buffer->dtype.bits;
    view.accesses.push_back(access(s.buffer.get(), s.indices));
    view.accesses[0].written = true;
    for (const Load* load : pending_.loads) add_read(view, *load);
    pending_ = {};
    if (block_) {
      view.block = block_->name();
      view.reduction = block_->is_reduction();
      view.guarded = !is_true(block_->predicate);
      const double iterations = view.iterations();
      if (view.guarded && iterations > 0) view.useful = std::clamp(domain_ / iterations, 1e-3, 1.0);
    }
    view.body = view.loops.size();
    while (view.body > 0) {
      const LoopView& l = view.loops[view.body - 1];
      if (l.kind == ForKind::Serial && l.extent > 1) break;
      if (l.kind != ForKind::Serial && l.kind != ForKind::Vectorized && l.kind != ForKind::Unrolled) break;
      --view.body;
    }
    for (const AccessView& a : view.accesses) {
      if (!a.local()) continue;
      const double bytes = a.elements[view.body] * static_cast<double>(a.element_bytes);
      result_.largest_local_bytes = std::max(result_.largest_local_bytes, bytes);
    }
    for (std::size_t l = 0; l < view.loops.size(); ++l) {
      if (view.loops[l].kind == ForKind::Vectorized) view.vector_loop = static_cast<int>(l);
    }
    result_.statements.push_back(std::move(view));
  }

  void add_read(StatementView& view, const Load& load) {
    AccessView read = access(load.buffer.get(), load.indices);
    for (AccessView& known : view.accesses) {
      if (known.buffer == read.buffer && known.stride == read.stride && known.elements == read.elements) {
        known.read = true;  // the same elements, or neighbours in the same lines
        return;
      }
    }
    read.read = true;
    view.accesses.push_back(std::move(read));
  }

  AccessView access(const BufferNode* buffer, const std::vector<Expr>& indices) {
    AccessView out;
    out.buffer = buffer;
    out.element_bytes = std::max(1, buffer->dtype.bits / 8);
    const std::size_t rank = indices.size(), depth = loops_.size();
    std::vector<std::int64_t> shape(rank), step(rank, 1);
    std::vector<IndexForm> form;
    for (std::size_t d = 0; d < rank; ++d) {
      shape[d] = d < buffer->shape.size() ? std::max<std::int64_t>(extent_of(buffer->shape[d]), 1) : 1;
      form.push_back(index_form(indices[d], bindings_, extents_, shape[d]));
    }
    for (std::size_t d = rank; d-- > 1;) step[d - 1] = step[d] * shape[d];
    out.stride.assign(depth, 0);
    for (std::size_t l = 0; l < depth; ++l) {
      for (std::size_t d = 0; d < rank; ++d) out.stride[l] += form[d].stride(l) * step[d];
    }
    out.elements.assign(depth + 1, 1);
    out.lines.assign(depth + 1, 1);
    for (std::size_t l = 0; l < depth; ++l) {
      // Dimensions from the innermost out: a run goes on as long as the inner ones are covered whole.
      double elements = 1, run = 1;
      bool dense = true;
      for (std::size_t d = rank; d-- > 0;) {
        const double values = std::min(form[d].values(l, extents_), static_cast<double>(shape[d]));
        elements *= values;
        if (!dense) continue;
        const double reach = static_cast<double>(form[d].reach(l, extents_)) + 1;
        if (values * 2 > std::min(reach, static_cast<double>(shape[d])) || values <= 1) run *= values;
        dense = values >= static_cast<double>(shape[d]);
      }
      out.elements[l] = elements;
      const double run_bytes = run * static_cast<double>(out.element_bytes);
      out.lines[l] = elements / run * std::ceil(run_bytes / static_cast<double>(LineBytes));
    }
    return out;
  }

  void scan(const Expr& e) {
    OperationCounts& n = pending_.operations;
    switch (e.kind()) {
      case ExprKind::Binary: {
        const Binary& b = *e.as<Binary>();
        if (e.dtype().is_float() && (b.op == BinaryOp::Add || b.op == BinaryOp::Sub) &&
            (is_multiplication(b.a) || is_multiplication(b.b))) {
          // a*b + c is one operation, whichever side the product is on.
          const Binary& product = *(is_multiplication(b.b) ? b.b : b.a).as<Binary>();
          ++n.float_multiply_add;
          scan(product.a);
          scan(product.b);
          scan(is_multiplication(b.b) ? b.a : b.b);
          return;
        }
        count(b);
        scan(b.a);
        scan(b.b);
        return;
      }
      case ExprKind::Not: ++n.logic; return scan(e.as<Not>()->a);
      case ExprKind::Cast: ++n.convert; return scan(e.as<Cast>()->a);
      case ExprKind::Select:
        ++n.select;
        scan(e.as<Select>()->condition);
        scan(e.as<Select>()->if_true);
        return scan(e.as<Select>()->if_false);
      case ExprKind::Load: pending_.loads.push_back(e.as<Load>()); return;
      case ExprKind::Call: {
        const Call& c = *e.as<Call>();
        if (c.op == Intrinsic::Fma) {
          ++n.float_multiply_add;
        } else if (c.op <= Intrinsic::Pow) {
          ++n.float_math;
        } else {
          ++n.other;
        }
        for (const Expr& a : c.args) scan(a);
        return;
      }
      case ExprKind::Ramp:
      case ExprKind::Broadcast:
      case ExprKind::IntImm:
      case ExprKind::FloatImm:
      case ExprKind::Var: return;
    }
  }

  void count(const Binary& b) {
    OperationCounts& n = pending_.operations;
    const bool floating = b.a.dtype().is_float();
    switch (b.op) {
      case BinaryOp::Add:
      case BinaryOp::Sub: ++(floating ? n.float_add : n.int_add); return;
      case BinaryOp::Mul: ++(floating ? n.float_multiply : n.int_multiply); return;
      case BinaryOp::Div:
      case BinaryOp::Mod:
      case BinaryOp::FloorDiv:
      case BinaryOp::FloorMod: ++(floating ? n.float_divide : n.int_divide); return;
      case BinaryOp::And:
      case BinaryOp::Or: ++n.logic; return;
      default:  // minima, maxima and comparisons
        ++(floating ? n.float_compare : n.int_compare);
        return;
    }
  }

  ProgramView result_;
  Bindings bindings_;
  std::vector<LoopView> loops_;
  std::vector<std::int64_t> extents_;
  const Block* block_ = nullptr;
  double domain_ = 1;
  Pending pending_;
};

}  // namespace

double StatementView::iterations(std::size_t from, std::size_t to) const {
  double product = 1;
  for (std::size_t l = from; l < to; ++l) product *= static_cast<double>(extents[l]);
  return product;
}

ProgramView view(const Program& program) { return Viewer().run(program); }

}  // namespace lathe::tuner
