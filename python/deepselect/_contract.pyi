from typing import TypedDict

class _Limits(TypedDict):
    value_dtypes: tuple[str, ...]
    max_rows: int
    max_cols: int
    max_k: int
    row_alignment_bytes: int
    has_weights: bool

BACKENDS: dict[str, _Limits]
MAX_PAGE_SIZE: int
