// Programs from JSON. Nothing in a file is trusted: every element is checked
// where it is read, so that an error names its path ("body.for.body.value[1]"),
// and the whole is checked by `well_formed` at the end.

#include <cmath>
#include <nlohmann/json.hpp>

#include "ir/json_format.h"
#include "ir/numbers.h"
#include "ir/type_rules.h"
#include "ir/visitor.h"
#include "support/error_codes/files.h"
#include "support/json_depth.h"

namespace lathe {
namespace {

using Json = nlohmann::json;

class Reader {
 public:
  Program read(const Json& j) {
    need(j.is_object(), "an object");
    check_format(j);
    keys(j,
         {"format", "version", "name", "params", "temps", "vars", "buffers", "labels", "reducers", "body"});
    std::string name = string(j, "name");
    each(j, "vars", [&](const Json& v) { vars_.push_back(read_var(v)); });
    each(j, "labels", [&](const Json& l) {
      need(l.is_string(), "a string");
      labels_.push_back(make_label(l.get<std::string>()));
    });
    each(j, "buffers", [&](const Json& b) { buffers_.push_back(read_buffer(b)); });
    each(j, "reducers", [&](const Json& r) { reducers_.push_back(read_reducer(r)); });
    std::vector<Param> params;
    each(j, "params", [&](const Json& p) { params.push_back(read_param(p)); });
    std::vector<Buffer> temps;
    each(j, "temps", [&](const Json& b) { temps.push_back(at(b, buffers_, "buffers")); });
    return Program(std::move(name), std::move(params), std::move(temps), stmt(j, "body"));
  }

 private:
  // ---- where we are, and what is wrong there

  /// A step of the path while it lives.
  class Step {
   public:
    Step(Reader& r, std::string step) : path_(r.path_), length_(path_.size()) { path_ += step; }
    ~Step() { path_.resize(length_); }
    Step(const Step&) = delete;

   private:
    std::string& path_;
    std::size_t length_;
  };
  class Deeper {
   public:
    explicit Deeper(Reader& r) : depth_(r.depth_) {
      if (++depth_ > kMaxDepth) r.fail("nested more than " + std::to_string(kMaxDepth) + " levels deep");
    }
    ~Deeper() { --depth_; }

   private:
    int& depth_;
  };

  [[noreturn]] void fail(const std::string& problem) const {
    // The end of a deep path says more than its beginning.
    std::string path = path_.empty() ? "the document" : path_.substr(1);
    if (path.size() > 200) path = "…" + path.substr(path.size() - 200);
    throw UserError(code::F003, "program JSON, at " + path + ": " + problem);
  }
  void need(bool holds, const std::string& expected) const {
    if (!holds) fail("expected " + expected);
  }
  void keys(const Json& j, std::initializer_list<const char*> allowed) const {
    for (const auto& item : j.items()) {
      const bool known =
          std::any_of(allowed.begin(), allowed.end(), [&](const char* k) { return item.key() == k; });
      if (!known) fail("unknown field \"" + item.key() + "\"");
    }
  }

  void check_format(const Json& j) const {
    const auto format = j.find("format"), version = j.find("version");
    if (format == j.end() || *format != kProgramFormat) {
      throw UserError(code::F001, std::string("this is no program JSON: its field \"format\" is not \"") +
                                      kProgramFormat + "\"");
    }
    if (version == j.end() || !version->is_number_integer() || *version != kProgramVersion) {
      throw UserError(code::F002, "program JSON of version " +
                                      (version == j.end() ? "<missing>" : version->dump().substr(0, 40)) +
                                      "; this Lathe reads version " + std::to_string(kProgramVersion));
    }
  }

  // ---- fields

  const Json& field(const Json& j, const char* key) const {
    const auto at = j.find(key);
    if (at == j.end()) fail(std::string("the field \"") + key + "\" is missing");
    return *at;
  }
  template <class F>
  void each(const Json& j, const char* key, const F& f) {
    const Json& all = field(j, key);
    const Step step(*this, std::string(".") + key);
    elements(all, f);
  }
  template <class F>
  void elements(const Json& all, const F& f) {
    need(all.is_array(), "a list");
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Step step(*this, "[" + std::to_string(i) + "]");
      f(all[i]);
    }
  }
  std::string string(const Json& j, const char* key) {
    const Json& value = field(j, key);
    const Step step(*this, std::string(".") + key);
    need(value.is_string(), "a string");
    return value.get<std::string>();
  }
  bool flag(const Json& j, const char* key) {
    if (!j.contains(key)) return false;
    const Step step(*this, std::string(".") + key);
    need(j[key].is_boolean(), "true or false");
    return j[key].get<bool>();
  }
  std::int64_t integer(const Json& j) const {
    need(j.is_number_integer(), "an integer");
    if (j.is_number_unsigned() && j.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      fail("the integer " + j.dump() + " does not fit 64 bits");
    }
    return j.get<std::int64_t>();
  }
  int small(const Json& j, std::int64_t low, std::int64_t high) const {
    const std::int64_t value = integer(j);
    if (value < low || value > high) {
      fail(std::to_string(value) + " is not in " + std::to_string(low) + " .. " + std::to_string(high));
    }
    return static_cast<int>(value);
  }
  template <class T>
  const T& at(const Json& j, const std::vector<T>& table, const char* name) const {
    const std::int64_t i = integer(j);
    if (i < 0 || i >= static_cast<std::int64_t>(table.size())) {
      fail("there is no element " + std::to_string(i) + " in \"" + name + "\", which has " +
           std::to_string(table.size()));
    }
    return table[i];
  }
  template <class T>
  const T& reference(const Json& j, const char* key, const std::vector<T>& table, const char* name) {
    const Json& value = field(j, key);
    const Step step(*this, std::string(".") + key);
    return at(value, table, name);
  }
  DataType type(const Json& j) const {
    need(j.is_string(), "a type");
    const std::string text = j.get<std::string>();
    const auto t = DataType::parse(text);
    if (!t || !is_valid_type(*t)) fail("there is no type \"" + text.substr(0, 40) + "\"");
    return *t;
  }
  /// The enumerator, among `first` .. `last`, whose spelling is the field's
  /// text.
  template <class E>
  E one_of(const Json& j, const char* key, E first, E last) {
    const std::string text = string(j, key);
    const Step step(*this, std::string(".") + key);
    std::string known;
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) {
      const char* name = spelling(static_cast<E>(i));
      if (text == name) return static_cast<E>(i);
      known += (known.empty() ? "" : ", ") + std::string(name);
    }
    fail("\"" + text.substr(0, 40) + "\" is none of " + known);
  }

  // ---- what the rest refers to

  Var read_var(const Json& j) const {
    need(j.is_array() && j.size() == 2 && j[0].is_string(), "[name, type]");
    return Var(j[0].get<std::string>(), type(j[1]));
  }

  Buffer read_buffer(const Json& j) {
    need(j.is_object(), "an object");
    keys(j, {"name", "dtype", "shape", "scope", "strides", "alignment"});
    auto node = std::make_unique<BufferNode>();
    node->name = string(j, "name");
    const Json& dtype = field(j, "dtype");
    {
      const Step step(*this, ".dtype");
      node->dtype = type(dtype);
    }
    node->shape = list(j, "shape");
    if (j.contains("scope")) node->scope = one_of(j, "scope", Scope::Global, Scope::Fragment);
    if (j.contains("strides")) node->strides = list(j, "strides");
    if (j.contains("alignment")) {
      const Step step(*this, ".alignment");
      node->alignment = small(j["alignment"], 1, 1 << 30);
    }
    const Buffer b(node.release());
    if (const auto problem = type_problem(b)) fail(*problem);
    return b;
  }

  Reducer read_reducer(const Json& j) {
    need(j.is_object(), "an object");
    keys(j, {"name", "a", "b", "result", "identity", "associative", "commutative"});
    auto node = std::make_unique<ReducerNode>();
    node->name = string(j, "name");
    each(j, "a", [&](const Json& v) { node->a.push_back(at(v, vars_, "vars")); });
    each(j, "b", [&](const Json& v) { node->b.push_back(at(v, vars_, "vars")); });
    node->result = list(j, "result");
    node->identity = list(j, "identity");
    node->associative = flag(j, "associative");
    node->commutative = flag(j, "commutative");
    const Reducer r(node.release());
    if (const auto problem = type_problem(r)) fail(*problem);
    return r;
  }

  Param read_param(const Json& j) {
    need(j.is_object(), "an object");
    keys(j, {"role", "buffer", "size"});
    Param p;
    p.role = one_of(j, "role", ParamRole::Input, ParamRole::Size);
    if (p.role == ParamRole::Size) {
      p.size = reference(j, "size", vars_, "vars");
      if (j.contains("buffer")) fail("a size has no buffer");
    } else {
      p.buffer = reference(j, "buffer", buffers_, "buffers");
      if (j.contains("size")) fail("only a parameter of role size has a size");
    }
    return p;
  }

  // ---- expressions

  std::vector<Expr> list(const Json& j, const char* key) {
    std::vector<Expr> out;
    each(j, key, [&](const Json& e) { out.push_back(expr(e)); });
    return out;
  }
  std::vector<Expr> list(const Json& j) {
    std::vector<Expr> out;
    elements(j, [&](const Json& e) { out.push_back(expr(e)); });
    return out;
  }
  Expr expr(const Json& j, const char* key) {
    const Json& value = field(j, key);
    const Step step(*this, std::string(".") + key);
    return expr(value);
  }

  Expr expr(const Json& j) {
    const Deeper deeper(*this);
    if (j.is_boolean()) return make_int(boolean, j.get<bool>());
    if (j.is_number_integer()) return make_index(integer(j));
    need(j.is_array() && !j.empty() && j[0].is_string(), "an expression");
    Expr e = node(j, j[0].get<std::string>());
    if (const auto problem = type_problem(e)) fail(*problem);
    return e;
  }

  /// Element `i` of a node, as an expression.
  Expr operand(const Json& j, std::size_t i) {
    const Step step(*this, "[" + std::to_string(i) + "]");
    return expr(j[i]);
  }
  void size(const Json& j, std::size_t least, std::size_t most) const {
    if (j.size() < least || j.size() > most) {
      fail("\"" + j[0].get<std::string>().substr(0, 40) + "\" has " + std::to_string(j.size() - 1) +
           " operands, not " + std::to_string(least - 1) +
           (most > least ? " or " + std::to_string(most - 1) : std::string()));
    }
  }
  int lanes(const Json& j, std::size_t i) {
    const Step step(*this, "[" + std::to_string(i) + "]");
    return small(j[i], 2, UINT16_MAX);
  }
  Expr scalar(const Json& j, std::size_t i) {
    Expr e = operand(j, i);
    if (e.dtype().is_vector()) fail("operand " + std::to_string(i) + " is a vector");
    return e;
  }

  Expr node(const Json& j, const std::string& head) {
    if (head == "var") {
      size(j, 2, 2);
      return at(j[1], vars_, "vars");
    }
    if (head == "!") {
      size(j, 2, 2);
      return Expr(new Not(operand(j, 1)));
    }
    if (head == "cast") {
      size(j, 3, 3);
      return Expr(new Cast(type(j[1]), operand(j, 2)));
    }
    if (head == "select") {
      size(j, 4, 4);
      Expr condition = operand(j, 1), if_true = operand(j, 2);
      return Expr(new Select(std::move(condition), std::move(if_true), operand(j, 3)));
    }
    if (head == "load") return load_node(j);
    if (head == "call") return call_node(j);
    if (head == "ramp") {
      size(j, 4, 4);
      Expr base = scalar(j, 1);
      return Expr(new Ramp(std::move(base), operand(j, 2), lanes(j, 3)));
    }
    if (head == "broadcast") {
      size(j, 3, 3);
      return Expr(new Broadcast(scalar(j, 1), lanes(j, 2)));
    }
    for (int op = 0; op <= static_cast<int>(BinaryOp::Or); ++op) {
      if (head != spelling(static_cast<BinaryOp>(op))) continue;
      size(j, 3, 3);
      Expr a = operand(j, 1);
      return Expr(new Binary(static_cast<BinaryOp>(op), std::move(a), operand(j, 2)));
    }
    if (const auto t = DataType::parse(head)) return literal(j, *t);
    fail("unknown expression \"" + head.substr(0, 40) + "\"");
  }

  Expr literal(const Json& j, DataType t) {
    size(j, 2, 2);
    if (!is_valid_type(t) || t.is_vector()) fail("there are no literals of type " + t.str());
    if (t.is_float()) return float_literal(j[1], t);
    if (t == u64) {
      need(j[1].is_number_unsigned(), "an unsigned integer");
      return make_int(u64, static_cast<std::int64_t>(j[1].get<std::uint64_t>()));
    }
    const std::int64_t value = integer(j[1]);
    if (wrap_integer(t, value) != value)
      fail("the literal " + std::to_string(value) + " does not fit " + t.str());
    return make_int(t, value);
  }
  Expr float_literal(const Json& j, DataType t) const {
    if (j == "nan") return make_float(t, std::nan(""));
    if (j == "inf") return make_float(t, INFINITY);
    if (j == "-inf") return make_float(t, -INFINITY);
    need(j.is_number(), "a number, \"nan\", \"inf\" or \"-inf\"");
    const double value = j.get<double>();
    if (round_to(t, value) != value) fail("the literal " + j.dump() + " is not a value of " + t.str());
    return make_float(t, value);
  }

  Expr load_node(const Json& j) {
    size(j, 3, 4);
    const Buffer b = at(j[1], buffers_, "buffers");
    std::vector<Expr> indices;
    {
      const Step step(*this, "[2]");
      indices = list(j[2]);
    }
    Expr mask = j.size() > 3 ? operand(j, 3) : Expr();
    return Expr(new Load(b, std::move(indices), std::move(mask)));
  }

  Expr call_node(const Json& j) {
    size(j, 4, 5);
    need(j[1].is_string(), "the name of an intrinsic");
    const std::string name = j[1].get<std::string>();
    const auto op = intrinsic_named(name);
    if (!op) fail("there is no intrinsic \"" + name.substr(0, 40) + "\"");
    const DataType t = type(j[2]);
    std::vector<Expr> args;
    {
      const Step step(*this, "[3]");
      args = list(j[3]);
    }
    std::string symbol;
    if (j.size() > 4) {
      need(j[4].is_string(), "the symbol of an extern call");
      symbol = j[4].get<std::string>();
    }
    return Expr(new Call(t, *op, std::move(args), std::move(symbol)));
  }

  // ---- statements

  Stmt stmt(const Json& j, const char* key) {
    const Json& value = field(j, key);
    const Step step(*this, std::string(".") + key);
    return stmt(value);
  }

  Stmt stmt(const Json& j) {
    const Deeper deeper(*this);
    need(j.is_object(), "a statement");
    if (j.contains("for")) return for_node(j);
    if (j.contains("block")) return block_node(j);
    if (j.contains("store")) return store_node(j);
    if (j.contains("seq")) {
      keys(j, {"seq"});
      std::vector<Stmt> all;
      each(j, "seq", [&](const Json& s) { all.push_back(stmt(s)); });
      return make_stmt<Seq>(std::move(all));
    }
    if (j.contains("if")) {
      keys(j, {"if", "then", "else"});
      Expr condition = expr(j, "if");
      if (condition.dtype() != boolean)
        fail("the condition has type " + condition.dtype().str() + ", not bool");
      Stmt then_case = stmt(j, "then");
      return make_stmt<If>(std::move(condition), std::move(then_case),
                           j.contains("else") ? stmt(j, "else") : Stmt());
    }
    if (j.contains("let")) {
      keys(j, {"let", "value", "body"});
      const Var v = reference(j, "let", vars_, "vars");
      Expr value = expr(j, "value");
      if (value.dtype() != v.dtype()) {
        fail("a value of type " + value.dtype().str() + " is bound to a variable of type " + v.dtype().str());
      }
      return make_stmt<Let>(v, std::move(value), stmt(j, "body"));
    }
    if (j.contains("allocate")) {
      keys(j, {"allocate", "body"});
      const Buffer b = reference(j, "allocate", buffers_, "buffers");
      return make_stmt<Allocate>(b, stmt(j, "body"));
    }
    if (j.contains("evaluate")) {
      keys(j, {"evaluate"});
      return make_stmt<Evaluate>(expr(j, "evaluate"));
    }
    fail("a statement of unknown kind");
  }

  Annotations annotations(const Json& j) {
    Annotations out;
    if (!j.contains("annotations")) return out;
    const Step step(*this, ".annotations");
    need(j["annotations"].is_object(), "an object");
    for (const auto& item : j["annotations"].items()) {
      const Step inner(*this, "." + item.key().substr(0, 40));
      if (item.value().is_string()) {
        out[item.key()] = item.value().get<std::string>();
      } else {
        out[item.key()] = integer(item.value());
      }
    }
    return out;
  }

  Stmt for_node(const Json& j) {
    keys(j, {"for", "extent", "kind", "axis", "annotations", "body"});
    const Var v = reference(j, "for", vars_, "vars");
    Expr extent = expr(j, "extent");
    const ForKind kind =
        j.contains("kind") ? one_of(j, "kind", ForKind::Serial, ForKind::ThreadBound) : ForKind::Serial;
    const ThreadAxis axis =
        j.contains("axis") ? one_of(j, "axis", ThreadAxis::BlockX, ThreadAxis::VThread) : ThreadAxis::None;
    Annotations notes = annotations(j);
    return make_stmt<For>(v, std::move(extent), kind, stmt(j, "body"), axis, std::move(notes));
  }

  std::vector<BufferRegion> regions(const Json& j, const char* key) {
    std::vector<BufferRegion> out;
    each(j, key, [&](const Json& r) {
      need(r.is_object(), "an object");
      keys(r, {"buffer", "ranges"});
      BufferRegion region{reference(r, "buffer", buffers_, "buffers"), {}};
      each(r, "ranges", [&](const Json& range) {
        need(range.is_array() && range.size() == 2, "[min, extent]");
        Expr min = operand(range, 0);
        region.ranges.push_back({std::move(min), operand(range, 1)});
      });
      out.push_back(std::move(region));
    });
    return out;
  }

  Stmt block_node(const Json& j) {
    keys(j, {"block", "iters", "bindings", "where", "reads", "writes", "reducer", "partner", "annotations",
             "init", "body"});
    auto b = std::make_unique<Block>();
    b->label = reference(j, "block", labels_, "labels");
    each(j, "iters", [&](const Json& i) {
      need(i.is_object(), "an object");
      keys(i, {"var", "extent", "kind"});
      IterVar iter{reference(i, "var", vars_, "vars"), expr(i, "extent"), IterKind::Spatial};
      if (i.contains("kind")) {
        need(i["kind"] == "reduce", "the kind \"reduce\"");
        iter.kind = IterKind::Reduce;
      }
      b->iters.push_back(std::move(iter));
    });
    b->bindings = list(j, "bindings");
    b->predicate = j.contains("where") ? expr(j, "where") : true_expr();
    b->reads = regions(j, "reads");
    b->writes = regions(j, "writes");
    if (j.contains("reducer")) b->reducer = reference(j, "reducer", reducers_, "reducers");
    if (j.contains("partner")) b->partner = reference(j, "partner", labels_, "labels");
    b->annotations = annotations(j);
    if (j.contains("init")) b->init = stmt(j, "init");
    b->body = stmt(j, "body");
    return Stmt(b.release());
  }

  Stmt store_node(const Json& j) {
    keys(j, {"store", "indices", "value", "mask", "streaming"});
    const Buffer b = reference(j, "store", buffers_, "buffers");
    std::vector<Expr> indices = list(j, "indices");
    Expr value = expr(j, "value"), mask = j.contains("mask") ? expr(j, "mask") : Expr();
    Stmt s = make_stmt<Store>(b, std::move(value), std::move(indices), std::move(mask), flag(j, "streaming"));
    if (const auto problem = type_problem(*s.as<Store>())) fail(*problem);
    return s;
  }

  std::vector<Var> vars_;
  std::vector<Buffer> buffers_;
  std::vector<Label> labels_;
  std::vector<Reducer> reducers_;
  std::string path_;
  int depth_ = 0;
};

Json parse(const std::string& text) {
  if (too_deep(text)) {
    throw UserError(code::F003,
                    "program JSON: nested more than " + std::to_string(kMaxDepth) + " levels deep");
  }
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw UserError(code::F001,
                    "this is no JSON: it breaks off or is wrong at byte " + std::to_string(e.byte));
  } catch (const Json::exception&) {
    throw UserError(code::F001, "this is no JSON: a number in it is out of range");
  }
}

}  // namespace

Program read_program_json(const std::string& text) {
  const Program program = Reader().read(parse(text));
  const std::vector<std::string> problems = well_formed(program);
  if (!problems.empty()) throw UserError(code::F003, "program JSON: " + problems[0]);
  return program;
}

}  // namespace lathe
