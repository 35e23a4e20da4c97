/* SPDX-License-Identifier: MIT */
/*
 * Shows what a file with V8 MAJOR has for debuggers, as in node's builds: compiled by
 * tests/fuzz/make-v8-seeds.
 */

#define VERSION(part, value) int _ZN2v88internal7Version6##part##_E = value;
VERSION(major, MAJOR)
VERSION(minor, MAJOR == 10 ? 2 : 6)

#ifndef SMI_SHIFT
#define SMI_SHIFT 31
#endif
#ifndef FUNCTION_AT
#define FUNCTION_AT (-16)
#endif

/* From 12 and 13 on. */
#define IS_12 (MAJOR >= 12)
#define IS_13 (MAJOR >= 13)

#define CONSTANT(name, value) int v8dbg_##name = value;
#ifndef NO_CONSTANTS
CONSTANT(off_fp_function, FUNCTION_AT)
CONSTANT(off_fp_context_or_frame_type, -8)
CONSTANT(off_fp_bytecode_array, -32)
CONSTANT(off_fp_bytecode_offset, -40)
CONSTANT(SmiTag, 0)
CONSTANT(SmiShiftSize, SMI_SHIFT)
CONSTANT(HeapObjectTag, 1)
CONSTANT(class_String__length__int32_t, 12)
CONSTANT(class_SeqOneByteString__chars__char, 16)
CONSTANT(class_ConsString__first__String, 16)
CONSTANT(class_ConsString__second__String, 24)
CONSTANT(class_ThinString__actual__String, 16)
CONSTANT(class_SlicedString__parent__String, 16)
CONSTANT(class_SlicedString__offset__SMI, 24)
CONSTANT(StringRepresentationMask, 7)
CONSTANT(OneByteStringTag, 8)
CONSTANT(class_Map__instance_type__uint16_t, 12)
CONSTANT(FirstNonstringType, 128)
CONSTANT(type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE, IS_13 ? 282 : IS_12 ? 274 : 257)
CONSTANT(type_Script__SCRIPT_TYPE, IS_12 ? 167 : 170)
CONSTANT(type_ScopeInfo__SCOPE_INFO_TYPE, IS_13 ? 280 : IS_12 ? 272 : 256)
CONSTANT(type_BytecodeArray__BYTECODE_ARRAY_TYPE, IS_13 ? 186 : IS_12 ? 205 : 195)
CONSTANT(type_ByteArray__BYTE_ARRAY_TYPE, IS_13 ? 217 : IS_12 ? 186 : 194)
CONSTANT(class_SharedFunctionInfo__length__uint16_t, IS_13 ? 48 : 40)
CONSTANT(class_SharedFunctionInfo__flags__int, IS_13 ? 56 : 48)
CONSTANT(class_Script__source__Object, 8)
CONSTANT(class_Script__name__Object, 16)
CONSTANT(class_Script__line_ends__Object, 56)
CONSTANT(scopeinfo_idx_ncontextlocals, 2)
#ifndef NO_VARIABLES
CONSTANT(scopeinfo_idx_first_vars, IS_13 ? 5 : 3)
#endif
CONSTANT(class_BytecodeArray__data__uintptr_t, IS_12 ? 64 : 56)
CONSTANT(class_FixedArrayBase__length__SMI, 8)
CONSTANT(class_FixedArray__data__uintptr_t, 16)
CONSTANT(CodeKindBaseline, IS_12 ? 10 : 11)
CONSTANT(CodeKindFieldMask, 15)
#if IS_12
CONSTANT(type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE, IS_13 ? 196 : 212)
CONSTANT(type_InstructionStream__INSTRUCTION_STREAM_TYPE, IS_13 ? 192 : 210)
CONSTANT(type_Code__CODE_TYPE, IS_13 ? 187 : 206)
CONSTANT(class_JSFunction__shared__Tagged_SharedFunctionInfo_, 32)
CONSTANT(class_SharedFunctionInfo__script__Tagged_HeapObject_, IS_13 ? 40 : 32)
CONSTANT(class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_, 16)
#else
CONSTANT(type_Code__CODE_TYPE, 240)
CONSTANT(class_JSFunction__shared__SharedFunctionInfo, 24)
CONSTANT(class_SharedFunctionInfo__script_or_debug_info__HeapObject, 32)
CONSTANT(class_SharedFunctionInfo__function_data__Object, 8)
CONSTANT(class_SharedFunctionInfo__name_or_scope_info__Object, 16)
#endif
#if MAJOR == 12
CONSTANT(class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_, 16)
#elif IS_13
CONSTANT(class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_, 24)
#endif
#endif

#ifdef BUILTINS
void Builtins_InterpreterEntryTrampoline(void)
{
}
#endif
