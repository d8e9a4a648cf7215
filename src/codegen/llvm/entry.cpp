#include "codegen/llvm/entry.h"

#include <dlpack/dlpack.h>

#include "lathe/runtime/c_api.h"
#include "lathe/runtime/element_type.h"

namespace lathe::codegen::cpu {
namespace {

using Value = ::llvm::Value*;

/// The layouts of dlpack.h and lathe/runtime/c_api.h, field by field.
static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, shape) == 24 &&
              offsetof(DLTensor, byte_offset) == 40);
static_assert(sizeof(lathe_tensor_spec) == 48 && offsetof(lathe_tensor_spec, ndim) == 12 &&
              offsetof(lathe_tensor_spec, shape) == 16 && offsetof(lathe_tensor_spec, alignment) == 32 &&
              offsetof(lathe_tensor_spec, is_output) == 40);
enum TensorField { kData, kDevice, kNdim, kDtype, kShape, kStrides, kByteOffset };
enum SpecField { kSpecName, kSpecDtype, kSpecNdim, kSpecShape, kSpecDevice, kSpecAlignment, kSpecIsOutput };

class EntryWriter {
 public:
  EntryWriter(ModuleContext& module, const Program& source, ::llvm::Function* kernel, const std::string& name,
              const std::string& label)
      : module_(module),
        context_(module.context),
        source_(source),
        kernel_(kernel),
        name_(name),
        label_(label),
        pointer_(::llvm::PointerType::getUnqual(context_)),
        i32_(::llvm::Type::getInt32Ty(context_)),
        i64_(::llvm::Type::getInt64Ty(context_)) {
    auto* i8 = ::llvm::Type::getInt8Ty(context_);
    auto* dtype = ::llvm::StructType::get(context_, {i8, i8, ::llvm::Type::getInt16Ty(context_)});
    auto* device = ::llvm::StructType::get(context_, {i32_, i32_});
    dtype_ = dtype;
    tensor_ = ::llvm::StructType::get(context_, {pointer_, device, i32_, dtype, pointer_, pointer_, i64_});
    spec_ = ::llvm::StructType::get(context_, {pointer_, dtype, i32_, pointer_, i32_, i64_, i32_});
    for (const Param& param : source->params) (param.buffer ? buffers_ : sizes_).push_back(&param);
  }

  void write() {
    ::llvm::Function* checked = write_checked();
    write_plain(checked);
    write_dlpack(checked);
  }

 private:
  Value at(Emitter& e, ::llvm::Type* type, Value array, std::size_t i) {
    return e.builder().CreateConstInBoundsGEP1_64(type, array, i);
  }
  /// Room for `count` elements, at least one, in the function's frame.
  Value room(Emitter& e, ::llvm::Type* type, std::size_t count) {
    return e.builder().CreateAlloca(::llvm::ArrayType::get(type, std::max<std::size_t>(count, 1)));
  }

  void define_sizes(Emitter& e, const std::function<Value(std::size_t)>& value) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) e.define(sizes_[i]->size.node(), value(i));
  }

  /// The extents of a buffer: constant data where they are constants, else computed into the frame.
  Value shape_of(Emitter& e, const Buffer& buffer) {
    Builder& b = e.builder();
    std::vector<std::uint64_t> constants;
    for (const Expr& extent : buffer->shape)
      if (const auto value = as_int(extent)) constants.push_back(static_cast<std::uint64_t>(*value));
    if (constants.size() == buffer->shape.size()) {
      ::llvm::Constant* data = ::llvm::ConstantDataArray::get(context_, constants);
      auto* global = new ::llvm::GlobalVariable(module_.module, data->getType(), true,
                                                ::llvm::GlobalValue::PrivateLinkage, data, "shape");
      return global;
    }
    Value extents = room(e, i64_, buffer->shape.size());
    for (std::size_t d = 0; d < buffer->shape.size(); ++d)
      b.CreateStore(b.CreateSExtOrTrunc(e.emit(buffer->shape[d]), i64_), at(e, i64_, extents, d));
    return extents;
  }

  ::llvm::Constant* dtype_constant(DataType type) {
    const DLDataType stored = runtime::stored_as(type);
    auto* i8 = ::llvm::Type::getInt8Ty(context_);
    return ::llvm::ConstantStruct::get(
        ::llvm::cast<::llvm::StructType>(dtype_),
        {::llvm::ConstantInt::get(i8, stored.code), ::llvm::ConstantInt::get(i8, stored.bits),
         ::llvm::ConstantInt::get(::llvm::Type::getInt16Ty(context_), stored.lanes)});
  }

  void set(Emitter& e, ::llvm::StructType* type, Value record, unsigned field, Value value) {
    e.builder().CreateStore(value, e.builder().CreateStructGEP(type, record, field));
  }

  /// Returns the code from the function when it is not 0.
  void return_if_failed(Emitter& e, Value code) {
    Builder& b = e.builder();
    ::llvm::Function* function = b.GetInsertBlock()->getParent();
    auto* failed = ::llvm::BasicBlock::Create(context_, "failed", function);
    auto* good = ::llvm::BasicBlock::Create(context_, "good", function);
    b.CreateCondBr(b.CreateIsNotNull(code), failed, good);
    b.SetInsertPoint(failed);
    b.CreateRet(code);
    b.SetInsertPoint(good);
  }

  /// int32_t NAME.checked(DLTensor* const* tensors, const int64_t* scalars)
  ::llvm::Function* write_checked() {
    ::llvm::Function* function = module_.new_function(
        name_ + ".checked", ::llvm::FunctionType::get(i32_, {pointer_, pointer_}, false), /*internal=*/true);
    function->addFnAttr(::llvm::Attribute::NoInline);
    Emitter e(module_, function, name_);
    Builder& b = e.builder();
    Value tensors = function->getArg(0), scalars = function->getArg(1);
    ::llvm::Constant* kernel_name = module_.text(label_);
    auto hook = [&](const char* hook_name, std::vector<::llvm::Type*> types) {
      return module_.hook(hook_name, ::llvm::FunctionType::get(i32_, types, false));
    };
    define_sizes(e, [&](std::size_t i) { return b.CreateLoad(i64_, at(e, i64_, scalars, i)); });
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      Value value = b.CreateLoad(i64_, at(e, i64_, scalars, i));
      return_if_failed(e, b.CreateCall(hook("lathe_check_scalar", {i64_, i64_, i64_, pointer_, pointer_}),
                                       {value, b.getInt64(0), b.getInt64(INT64_MAX),
                                        module_.text(sizes_[i]->name()), kernel_name}));
    }
    Value specs = room(e, spec_, buffers_.size());
    Value addresses = room(e, pointer_, buffers_.size());
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Param& param = *buffers_[i];
      Value spec = at(e, spec_, specs, i);
      const bool writes = param.role == ParamRole::Output || param.role == ParamRole::InOut;
      set(e, spec_, spec, kSpecName, module_.text(param.name()));
      set(e, spec_, spec, kSpecDtype, dtype_constant(param.buffer->dtype));
      set(e, spec_, spec, kSpecNdim, b.getInt32(static_cast<std::uint32_t>(param.buffer->rank())));
      set(e, spec_, spec, kSpecShape, shape_of(e, param.buffer));
      set(e, spec_, spec, kSpecDevice, b.getInt32(kDLCPU));
      set(e, spec_, spec, kSpecAlignment, b.getInt64(static_cast<std::uint64_t>(param.buffer->alignment)));
      set(e, spec_, spec, kSpecIsOutput, b.getInt32(writes));
      Value tensor = b.CreateLoad(pointer_, at(e, pointer_, tensors, i));
      return_if_failed(e,
                       b.CreateCall(hook("lathe_check_tensor", {pointer_, pointer_, pointer_, i32_}),
                                    {tensor, spec, kernel_name, b.getInt32(static_cast<std::uint32_t>(i))}));
      Value data = b.CreateLoad(pointer_, b.CreateStructGEP(tensor_, tensor, kData));
      Value offset = b.CreateLoad(i64_, b.CreateStructGEP(tensor_, tensor, kByteOffset));
      b.CreateStore(b.CreateGEP(b.getInt8Ty(), data, {offset}), at(e, pointer_, addresses, i));
    }
    return_if_failed(e, b.CreateCall(hook("lathe_check_overlap", {pointer_, pointer_, i32_, pointer_}),
                                     {tensors, specs, b.getInt32(static_cast<std::uint32_t>(buffers_.size())),
                                      kernel_name}));
    b.CreateRet(b.CreateCall(kernel_, {addresses, scalars}));
    return function;
  }

  /// A function with one argument a parameter, in order; `tensor` makes a DLTensor* of a buffer's argument.
  void write_entry(const std::string& name, ::llvm::Function* checked,
                   const std::function<Value(Emitter&, const Param&, Value)>& tensor) {
    std::vector<::llvm::Type*> types;
    for (const Param& param : source_->params)
      types.push_back(param.buffer ? static_cast<::llvm::Type*>(pointer_) : i64_);
    ::llvm::Function* function =
        module_.new_function(name, ::llvm::FunctionType::get(i32_, types, false), /*internal=*/false);
    Emitter e(module_, function, name);
    Builder& b = e.builder();
    Value tensors = room(e, pointer_, buffers_.size()), scalars = room(e, i64_, sizes_.size());
    std::size_t buffer = 0, size = 0;
    for (unsigned i = 0; i < source_->params.size(); ++i)
      if (!source_->params[i].buffer) {
        b.CreateStore(function->getArg(i), at(e, i64_, scalars, size++));
        e.define(source_->params[i].size.node(), function->getArg(i));
      }
    for (unsigned i = 0; i < source_->params.size(); ++i)
      if (source_->params[i].buffer)
        b.CreateStore(tensor(e, source_->params[i], function->getArg(i)), at(e, pointer_, tensors, buffer++));
    b.CreateRet(b.CreateCall(checked, {tensors, scalars}));
  }

  void write_plain(::llvm::Function* checked) {
    write_entry(name_, checked, [&](Emitter& e, const Param& param, Value data) {
      Builder& b = e.builder();
      Value tensor = room(e, tensor_, 1);
      b.CreateMemSet(tensor, b.getInt8(0), sizeof(DLTensor), ::llvm::MaybeAlign(8));
      set(e, tensor_, tensor, kData, data);
      Value device = b.CreateStructGEP(tensor_, tensor, kDevice);
      b.CreateStore(b.getInt32(kDLCPU), device);
      set(e, tensor_, tensor, kNdim, b.getInt32(static_cast<std::uint32_t>(param.buffer->rank())));
      set(e, tensor_, tensor, kDtype, dtype_constant(param.buffer->dtype));
      set(e, tensor_, tensor, kShape, shape_of(e, param.buffer));
      return tensor;
    });
  }

  void write_dlpack(::llvm::Function* checked) {
    write_entry(name_ + "_dlpack", checked, [](Emitter&, const Param&, Value tensor) { return tensor; });
  }

  ModuleContext& module_;
  ::llvm::LLVMContext& context_;
  const Program& source_;
  ::llvm::Function* kernel_;
  std::string name_, label_;
  ::llvm::PointerType* pointer_;
  ::llvm::Type *i32_, *i64_, *dtype_;
  ::llvm::StructType *tensor_, *spec_;
  std::vector<const Param*> buffers_, sizes_;
};

}  // namespace

void emit_entries(ModuleContext& module, const Program& source, ::llvm::Function* kernel,
                  const std::string& name, const std::string& label) {
  EntryWriter(module, source, kernel, name, label).write();
}

}  // namespace lathe::codegen::cpu
