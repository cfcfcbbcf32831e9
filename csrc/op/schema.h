// The signatures of the op's two overloads, without the name: backends register private ops of the
// same signature.
//  * Tensors stand before `*`: torch.library.register_autograd refuses keyword-only tensors.
//  * SymInt k: a plain int recompiles for every k under torch.compile.
//  * float? pad_value=None: a schema cannot spell -inf, and one that does not parse aborts the
//    interpreter.
#pragma once

namespace deepselect::op {

constexpr const char kTopkSignature[] =
    "(Tensor input, SymInt k, Tensor? begin=None, Tensor? end=None, "
    "Tensor? index_offset=None, Tensor? page_table=None, Tensor? page_table_row=None, "
    "Tensor? page_table_begin=None, Tensor? bias=None, *, int page_size=1, "
    "str order=\"any\", bool largest=True, str nan=\"largest\", str weights=\"none\", "
    "bool return_values=True, ScalarType? index_dtype=None, int pad_index=-1, "
    "float? pad_value=None) -> (Tensor values, Tensor indices)";

constexpr const char kTopkOutSignature[] =
    "(Tensor input, SymInt k, Tensor? begin=None, Tensor? end=None, "
    "Tensor? index_offset=None, Tensor? page_table=None, Tensor? page_table_row=None, "
    "Tensor? page_table_begin=None, Tensor? bias=None, *, int page_size=1, "
    "str order=\"any\", bool largest=True, str nan=\"largest\", str weights=\"none\", "
    "int pad_index=-1, float? pad_value=None, Tensor(a!) indices, Tensor(b!)? values=None, "
    "Tensor(c!)? raw_indices=None) -> ()";

}  // namespace deepselect::op
