#include "compiler/codegen/device_functions.h"

#include <llvm/IR/DerivedTypes.h>

namespace kaon::compiler::codegen {
namespace {

constexpr DeviceFunctionInfo kInfos[] = {
#define KAON_DEVICE(enumerator, name, signature) {DeviceFunction::enumerator, name, signature},
#include "compiler/codegen/device_functions.inc"
#undef KAON_DEVICE
};

constexpr const char* kKindAttribute = "kaon-device-function";
constexpr const char* kModifierAttribute = "kaon-modifiers";

llvm::Type* scalar_type(llvm::LLVMContext& context, char letter) {
  switch (letter) {
    case 'b': return llvm::Type::getInt1Ty(context);
    case 'c': return llvm::Type::getInt8Ty(context);
    case 'h': return llvm::Type::getInt16Ty(context);
    case 'i': return llvm::Type::getInt32Ty(context);
    case 'l': return llvm::Type::getInt64Ty(context);
    case 'f': return llvm::Type::getFloatTy(context);
    case 'd': return llvm::Type::getDoubleTy(context);
    default: return llvm::Type::getVoidTy(context);
  }
}

llvm::FunctionType* function_type(llvm::LLVMContext& context, llvm::StringRef signature) {
  llvm::Type* word = llvm::Type::getInt32Ty(context);
  llvm::SmallVector<llvm::Type*, 8> parameters = {llvm::PointerType::get(context, 0)};
  for (char letter : signature.drop_front(2).drop_back(1)) {
    const bool is_group = letter == '2' || letter == '4';
    parameters.append(is_group ? static_cast<size_t>(letter - '0') : 1, is_group ? word : scalar_type(context, letter));
  }
  const char result = signature.front();
  llvm::Type* result_type = scalar_type(context, result);
  if (result == '2') result_type = llvm::StructType::get(context, {word, word});
  if (result == '4') result_type = llvm::StructType::get(context, {word, word, word, word});
  return llvm::FunctionType::get(result_type, parameters, /*isVarArg=*/false);
}

}  // namespace

const DeviceFunctionInfo& device_function_info(DeviceFunction function) {
  return kInfos[static_cast<size_t>(function)];
}

llvm::Function* declare_device_function(llvm::Module& module, DeviceFunction function, llvm::StringRef modifiers) {
  const DeviceFunctionInfo& info = device_function_info(function);
  const std::string name = "kaon." + std::string(info.name) + modifiers.str();
  if (llvm::Function* known = module.getFunction(name)) return known;
  llvm::Function* declared = llvm::Function::Create(function_type(module.getContext(), info.signature),
                                                    llvm::GlobalValue::ExternalLinkage, name, module);
  declared->addFnAttr(kKindAttribute, std::to_string(static_cast<int>(function)));
  declared->addFnAttr(kModifierAttribute, modifiers);
  declared->addFnAttr(llvm::Attribute::NoUnwind);
  if (function == DeviceFunction::kBarrier || function == DeviceFunction::kShuffleXor) {
    declared->addFnAttr(llvm::Attribute::Convergent);
  }
  return declared;
}

void bind_device_functions(
    llvm::Module& module,
    llvm::function_ref<void(llvm::Function&, const DeviceFunctionInfo&, llvm::StringRef modifiers)> bind) {
  llvm::SmallVector<llvm::Function*, 32> declared;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && function.hasFnAttribute(kKindAttribute)) declared.push_back(&function);
  }
  for (llvm::Function* function : declared) {
    int number = 0;
    if (function->getFnAttribute(kKindAttribute).getValueAsString().getAsInteger(10, number)) continue;
    bind(*function, kInfos[number], function->getFnAttribute(kModifierAttribute).getValueAsString());
  }
}

AccessWidth access_width(DeviceFunction function) {
  const llvm::StringRef name = device_function_info(function).name;
  if (name.ends_with("v4.b32")) return {32, 4};
  if (name.ends_with("v2.b32")) return {32, 2};
  if (name.ends_with("b16")) return {16, 1};
  if (name.ends_with("b8")) return {8, 1};
  return {32, 1};
}

}  // namespace kaon::compiler::codegen
