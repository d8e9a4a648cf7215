// Programs as JSON: {"format": "lathe-program", "version": 1, …}.
//
//   "vars", "buffers", "labels", "reducers"   what expressions and statements
//   refer to by position, numbered in
//     the order in which a walk of the program meets them, so that the text is
//     a function of the program.
//   expressions   an index literal is a number; everything else is a list whose
//   head says what it is:
//     ["var", 3]  ["i32", -1]  ["f32", 0.5]  ["f32", "nan"]  ["+", a, b]
//     ["load", 2, [i, j]]  …
//   statements    an object whose first key says what it is: {"for": 0,
//   "extent": 8, "body": …}
// Fields at their usual value (a serial loop, a block without predicate) are
// left out.

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/json_format.h"
#include "ir/visitor.h"
#include "support/error_codes/files.h"
#include "support/error_codes/te.h"

namespace lathe {
namespace {

using OrderedJson = nlohmann::ordered_json;

class Writer {
 public:
  OrderedJson write(const Program& program) {
    for (const Param& p : program->params) {
      if (p.size.defined()) var(p.size.node());
      if (p.buffer.defined()) buffer(p.buffer);
    }
    OrderedJson params = OrderedJson::array(), temps = OrderedJson::array();
    for (const Param& p : program->params) {
      OrderedJson param{{"role", spelling(p.role)}};
      if (p.size.defined()) param["size"] = var(p.size.node());
      if (p.buffer.defined()) param["buffer"] = buffer(p.buffer);
      params.push_back(std::move(param));
    }
    for (const Buffer& b : program->temps) temps.push_back(buffer(b));
    OrderedJson body = stmt(program->body);
    OrderedJson out;
    out["format"] = kProgramFormat;
    out["version"] = kProgramVersion;
    out["name"] = program->name;
    out["params"] = std::move(params);
    out["temps"] = std::move(temps);
    out["vars"] = std::move(vars_);
    out["buffers"] = std::move(buffers_);
    out["labels"] = std::move(labels_);
    out["reducers"] = std::move(reducers_);
    out["body"] = std::move(body);
    return out;
  }

 private:
  /// Counts how deep the walk is: what is too deep to be read back is not
  /// written.
  class Deeper {
   public:
    explicit Deeper(Writer& w) : depth_(w.depth_) {
      if (++depth_ > kMaxDepth) {
        throw UserError(code::F003, "the program is nested more than " + std::to_string(kMaxDepth) +
                                        " levels deep, which its JSON form does not allow");
      }
    }
    ~Deeper() { --depth_; }

   private:
    int& depth_;
  };

  int var(const VarNode* v) {
    const auto [at, is_new] = numbers_.try_emplace(v, vars_.size());
    if (is_new) vars_.push_back({v->name, v->dtype.str()});
    return at->second;
  }
  int label(const Label& l) {
    const auto [at, is_new] = numbers_.try_emplace(l.get(), labels_.size());
    if (is_new) labels_.push_back(l->name);
    return at->second;
  }
  int buffer(const Buffer& b) {
    const auto [at, is_new] = numbers_.try_emplace(b.get(), buffers_.size());
    const int number = at->second;
    if (!is_new) return number;
    buffers_.push_back(nullptr);  // its place; a shape refers to no buffer, but
                                  // let that not matter here
    OrderedJson out;
    out["name"] = b->name;
    out["dtype"] = b->dtype.str();
    out["shape"] = list(b->shape);
    if (b->scope != Scope::Global) out["scope"] = spelling(b->scope);
    if (!b->strides.empty()) out["strides"] = list(b->strides);
    if (b->alignment != BufferNode().alignment) out["alignment"] = b->alignment;
    buffers_[number] = std::move(out);
    return number;
  }
  int reducer(const Reducer& r) {
    const auto [at, is_new] = numbers_.try_emplace(r.get(), reducers_.size());
    const int number = at->second;
    if (!is_new) return number;
    reducers_.push_back(nullptr);
    OrderedJson out, a = OrderedJson::array(), b = OrderedJson::array();
    for (const Var& v : r->a) a.push_back(var(v.node()));
    for (const Var& v : r->b) b.push_back(var(v.node()));
    out["name"] = r->name;
    out["a"] = std::move(a);
    out["b"] = std::move(b);
    out["result"] = list(r->result);
    out["identity"] = list(r->identity);
    if (r->associative) out["associative"] = true;
    if (r->commutative) out["commutative"] = true;
    reducers_[number] = std::move(out);
    return number;
  }

  OrderedJson list(const std::vector<Expr>& exprs) {
    OrderedJson out = OrderedJson::array();
    for (const Expr& e : exprs) out.push_back(expr(e));
    return out;
  }
  static OrderedJson float_value(double x) {
    if (std::isnan(x)) return "nan";
    if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
    return x;
  }

  OrderedJson expr(const Expr& e) {
    const Deeper deeper(*this);
    switch (e.kind()) {
#define X(name) \
  case name::Kind: return node(*e.as<name>());
      LATHE_EXPR_NODES(X)
#undef X
    }
    return nullptr;
  }
  OrderedJson node(const IntImm& n) {
    if (n.dtype == index_type) return n.value;
    if (n.dtype.is_bool()) return n.value != 0;
    if (n.dtype == u64) return {"u64", static_cast<std::uint64_t>(n.value)};
    return {n.dtype.str(), n.value};
  }
  OrderedJson node(const FloatImm& n) { return {n.dtype.str(), float_value(n.value)}; }
  OrderedJson node(const VarNode& n) { return {"var", var(&n)}; }
  OrderedJson node(const Binary& n) {
    OrderedJson a = expr(n.a);
    return {spelling(n.op), std::move(a), expr(n.b)};
  }
  OrderedJson node(const Not& n) { return {"!", expr(n.a)}; }
  OrderedJson node(const Cast& n) { return {"cast", n.dtype.str(), expr(n.a)}; }
  OrderedJson node(const Select& n) {
    OrderedJson condition = expr(n.condition), if_true = expr(n.if_true);
    return {"select", std::move(condition), std::move(if_true), expr(n.if_false)};
  }
  OrderedJson node(const Load& n) {
    const int b = buffer(n.buffer);
    OrderedJson out{"load", b, list(n.indices)};
    if (n.mask.defined()) out.push_back(expr(n.mask));
    return out;
  }
  OrderedJson node(const Call& n) {
    OrderedJson out{"call", spelling(n.op), n.dtype.str(), list(n.args)};
    if (n.op == Intrinsic::Extern) out.push_back(n.symbol);
    return out;
  }
  OrderedJson node(const Ramp& n) {
    OrderedJson base = expr(n.base);
    return {"ramp", std::move(base), expr(n.stride), n.lanes()};
  }
  OrderedJson node(const Broadcast& n) { return {"broadcast", expr(n.value), n.lanes()}; }

  static void note(OrderedJson& out, const Annotations& annotations) {
    if (annotations.empty()) return;
    OrderedJson all = OrderedJson::object();
    for (const auto& [key, value] : annotations) {
      std::visit([&, &key = key](const auto& v) { all[key] = v; }, value);
    }
    out["annotations"] = std::move(all);
  }
  OrderedJson regions(const std::vector<BufferRegion>& all) {
    OrderedJson out = OrderedJson::array();
    for (const BufferRegion& r : all) {
      const int b = buffer(r.buffer);
      OrderedJson ranges = OrderedJson::array();
      for (const Range& range : r.ranges) {
        OrderedJson min = expr(range.min);
        ranges.push_back({std::move(min), expr(range.extent)});
      }
      out.push_back({{"buffer", b}, {"ranges", std::move(ranges)}});
    }
    return out;
  }

  OrderedJson stmt(const Stmt& s) {
    const Deeper deeper(*this);
    switch (s.kind()) {
#define X(name) \
  case StmtKind::name: return node(*s.as<name>());
      LATHE_STMT_KINDS(X)
#undef X
    }
    return nullptr;
  }
  OrderedJson node(const For& n) {
    OrderedJson out;
    out["for"] = var(n.var.node());
    out["extent"] = expr(n.extent);
    if (n.for_kind != ForKind::Serial) out["kind"] = spelling(n.for_kind);
    if (n.axis != ThreadAxis::None) out["axis"] = spelling(n.axis);
    note(out, n.annotations);
    out["body"] = stmt(n.body);
    return out;
  }
  OrderedJson node(const Block& n) {
    OrderedJson out;
    out["block"] = label(n.label);
    OrderedJson iters = OrderedJson::array();
    for (const IterVar& i : n.iters) {
      OrderedJson iter{{"var", var(i.var.node())}, {"extent", expr(i.extent)}};
      if (i.kind == IterKind::Reduce) iter["kind"] = "reduce";
      iters.push_back(std::move(iter));
    }
    out["iters"] = std::move(iters);
    out["bindings"] = list(n.bindings);
    if (!is_true(n.predicate)) out["where"] = expr(n.predicate);
    out["reads"] = regions(n.reads);
    out["writes"] = regions(n.writes);
    if (n.reducer.defined()) out["reducer"] = reducer(n.reducer);
    if (n.partner.defined()) out["partner"] = label(n.partner);
    note(out, n.annotations);
    if (n.init.defined()) out["init"] = stmt(n.init);
    out["body"] = stmt(n.body);
    return out;
  }
  OrderedJson node(const Store& n) {
    OrderedJson out;
    out["store"] = buffer(n.buffer);
    out["indices"] = list(n.indices);
    out["value"] = expr(n.value);
    if (n.mask.defined()) out["mask"] = expr(n.mask);
    if (n.streaming) out["streaming"] = true;
    return out;
  }
  OrderedJson node(const Seq& n) {
    OrderedJson all = OrderedJson::array();
    for (const Stmt& s : n.stmts) all.push_back(stmt(s));
    return {{"seq", std::move(all)}};
  }
  OrderedJson node(const If& n) {
    OrderedJson out;
    out["if"] = expr(n.condition);
    out["then"] = stmt(n.then_case);
    if (n.else_case.defined()) out["else"] = stmt(n.else_case);
    return out;
  }
  OrderedJson node(const Let& n) {
    OrderedJson out;
    out["let"] = var(n.var.node());
    out["value"] = expr(n.value);
    out["body"] = stmt(n.body);
    return out;
  }
  OrderedJson node(const Allocate& n) {
    OrderedJson out;
    out["allocate"] = buffer(n.buffer);
    out["body"] = stmt(n.body);
    return out;
  }
  OrderedJson node(const Evaluate& n) { return {{"evaluate", expr(n.value)}}; }

  std::unordered_map<const void*, int> numbers_;
  OrderedJson vars_ = OrderedJson::array(), buffers_ = OrderedJson::array(), labels_ = OrderedJson::array(),
              reducers_ = OrderedJson::array();
  int depth_ = 0;
};

}  // namespace

std::string to_json(const Program& program, int indent) {
  if (!program.defined() || !program->body.defined())
    throw UserError(code::D012, "to_json of an empty Program");
  try {
    return Writer().write(program).dump(indent);
  } catch (const nlohmann::json::type_error&) {
    throw UserError(code::F003, "a name, annotation or symbol of program \"" + program->name +
                                    "\" is not UTF-8 text, which JSON cannot hold");
  }
}

}  // namespace lathe
